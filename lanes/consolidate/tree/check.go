package tree

import (
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Concerned are the files to check after some changed: themselves, and the
// lockfiles that speak of them, which stand beside or above.
func (t *Tree) Concerned(changed []string) []string {
	seen := map[string]bool{}
	var out []string
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, p := range changed {
		f := format.Of(t.formats, p, nil)
		if f == nil {
			continue
		}
		add(p)
		dir := path.Dir(p)
		for _, q := range t.Paths() {
			g := format.Of(t.formats, q, nil)
			if g.Ecosystem == f.Ecosystem && (within(dir, path.Dir(q)) || path.Dir(q) == path.Join(dir, "vendor") || t.reads(q, p)) {
				add(q)
			}
		}
	}
	return out
}

// reads reports whether a file has to be checked when another one changes.
func (t *Tree) reads(q, changed string) bool {
	if format.Of(t.formats, q, nil).Reads == nil {
		return false
	}
	d := t.Doc(q)
	return d != nil && d.Format.Reads != nil && d.Format.Reads(d, changed)
}

func within(dir, above string) bool {
	return above == "." || dir == above || strings.HasPrefix(dir, above+"/")
}

// Problems checks files of a Tree.
func (t *Tree) Problems(paths []string) []lockfile.Problem {
	var out []lockfile.Problem
	for _, p := range paths {
		d, _, err := t.Parsed(p)
		if err != nil {
			out = append(out, lockfile.Problem{Code: lockfile.Unparsable, Path: p, Detail: err.Error()})
			continue
		}
		if f := t.File(p); d == nil && f != nil && f.Mode.IsRegular() {
			out = append(out, lockfile.Problem{Code: lockfile.Unparsable, Path: p, Detail: "it is of no version that Bailiff reads"})
		}
		if d != nil && d.Format.Check != nil {
			out = append(out, d.Format.Check(d, t)...)
		}
	}
	return out
}

// Locate adds the line that a problem is at.
func (t *Tree) Locate(p lockfile.Problem) lockfile.Problem {
	text, ok := t.Read(p.Path)
	if !ok || p.Line > 0 {
		return p
	}
	for _, needle := range []string{`"` + p.Key + `"`, p.Key, p.Name} {
		if p.Line = lockfile.Line(text, needle); needle != `""` && p.Line > 0 {
			break
		}
	}
	return p
}
