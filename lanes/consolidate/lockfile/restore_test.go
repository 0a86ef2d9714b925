package lockfile_test

import (
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Edges lead where the format says, under whatever key stands there, and what
// only a manifest needs is put back as well.
func TestRestore(t *testing.T) {
	aliased := *words
	aliased.Keep = nil
	aliased.Compare = func(a, b *lockfile.Node) (int, bool) { return strings.Compare(a.Version, b.Version), true }
	aliased.Target = func(d *lockfile.Doc, _ *lockfile.Node, e lockfile.Edge) *lockfile.Node {
		if n := d.Node(e.To); n != nil {
			return n
		}
		return d.Node("alias-of-" + e.To)
	}
	aliased.Roots = func(*lockfile.Doc, lockfile.Tree) []lockfile.Edge {
		return []lockfile.Edge{{Name: "asked", To: "asked"}}
	}
	doc := func(text string) *lockfile.Doc {
		d := lockfile.NewDoc(0)
		d.Format = &aliased
		parse(text).Nodes(func(n *lockfile.Node) {
			n.Name = n.Key
			if n.Key == "dependent" {
				n.Root, n.Edges = true, []lockfile.Edge{{Name: "b", To: "b"}}
			}
			d.Add(n)
		})
		return d
	}
	const fork, needy = "/alias-of-b=1 /asked=1", "/alias-of-b=1 /asked=1 /dependent=1"
	for name, c := range map[string]struct{ ours, head string }{
		"the head takes what ours needs": {needy, ""},
		"the head needs what ours took":  {"", needy},
	} {
		t.Run(name, func(t *testing.T) {
			got, conflicts := lockfile.Apply(doc(c.ours), lockfile.Diff(doc(fork), doc(c.head)), nil, nil, false)
			if len(conflicts) > 0 {
				t.Fatal(conflicts)
			}
			for _, key := range []string{"alias-of-b", "asked", "dependent"} {
				if got.Node(key) == nil {
					t.Errorf("%s is lost", key)
				}
			}
			if got.Len() != 3 {
				t.Errorf("got %s", encode(got))
			}
		})
	}
}
