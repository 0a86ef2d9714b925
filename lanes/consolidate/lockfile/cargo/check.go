package cargo

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// checkLock validates a Cargo.lock by itself: what Cargo would refuse with
// --locked and what can be seen without the registry.
func checkLock(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	var out []lockfile.Problem
	reached := d.Reached(t)
	slots := map[string]string{}
	d.Nodes(func(n *lockfile.Node) {
		c, ok := n.Data.(*crate)
		if !ok {
			return
		}
		by := c.name + "@" + c.version
		for _, e := range n.Edges {
			if d.Node(e.To) == nil {
				name, req, _ := strings.Cut(strings.TrimSuffix(e.To, " ?"), " ")
				out = append(out, lockfile.Problem{Code: lockfile.Missing, Path: d.Path, Key: n.Key, By: by, Name: name, Req: req})
			}
		}
		if !reached[n] {
			out = append(out, lockfile.Problem{Code: lockfile.Orphan, Path: d.Path, Key: n.Key, Name: c.name, Have: c.version})
		}
		s := c.name + " " + slot(c.version) + " " + place(c.source)
		if other, ok := slots[s]; ok && c.source != "" {
			out = append(out, lockfile.Problem{
				Code: lockfile.Duplicate, Path: d.Path, Key: n.Key, Name: c.name, Have: c.version,
				Detail: c.name + " is locked at " + other + " and at " + c.version + ", of which Cargo allows one",
			})
		}
		slots[s] = c.version
	})
	return out
}
