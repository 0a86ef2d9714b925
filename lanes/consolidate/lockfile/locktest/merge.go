package locktest

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Merge merges, in turn, what heads made of a fork into a file, as the engine
// does. It gives the text, or the first conflict as "KEY: OURS, THEIRS".
func Merge(t T, f *lockfile.Format, path, base string, fork string, heads ...string) string {
	t.Helper()
	parse := func(text string, like *lockfile.Doc) *lockfile.Doc {
		d, err := f.Parse([]byte(text), like)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		d.Format, d.Path = f, path
		return d
	}
	ours := parse(base, nil)
	forked := parse(fork, ours)
	tree := NewTree(t, []*lockfile.Format{f}, nil)
	for _, h := range heads {
		d, conflicts := lockfile.Apply(ours, lockfile.Diff(forked, parse(h, forked)), tree, tree, len(heads) > 1)
		if len(conflicts) > 0 {
			c := conflicts[0]
			if c.Key[0] == '#' {
				return c.Key
			}
			return strings.Join([]string{c.Key + ": " + c.Ours, c.Theirs}, ", ")
		}
		ours = d
	}
	out, err := f.Encode(ours)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
