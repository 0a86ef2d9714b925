package yarn

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// lift keeps a manifest's requirement from ending below what a side had locked
// for it. Yarn 1 locks each range by itself, so the side with the higher range
// may be the one with the lower version: the merge takes its range, and with it
// would lose the other side's version, although the range admits it. The range
// then joins that version's block.
func (y *yarn) lift(m *lockfile.Merge) {
	now := y.project(m.Tree, m.Path)
	governed := now.governed()
	before := y.asked(m.Was, m.Before)
	brought := y.brought(m)
	for i, member := range now.members {
		for _, e := range now.edges(m.Doc, i) {
			n := m.Node(e.To)
			if n == nil || governed[e.Name] || !registered(e.Req) {
				continue
			}
			best := n
			for _, x := range slices.Concat(brought[e.Name], before[asker{member.file, e.Name}]) {
				if len(m.Patch.Changes) > 0 && lockfile.Same(m.Patch.Fork.Node(x.Key), x) {
					continue // nobody's update: the head has left it, and may
				}
				if c, ok := y.Compare(best.Version, x.Version); ok && c < 0 && y.Meets(e.Name, e.Req, "", x.Version) {
					best = x
				}
			}
			if best != n && !bytes.Equal(best.Raw, n.Raw) {
				m.Set(y.node(e.To, entryOf(best), best.Raw), "")
			}
		}
	}
}

// registered reports whether a range is one of versions in a registry, and no
// address, folder or other name.
func registered(rng string) bool { return !strings.ContainsAny(rng, ":/") }

// An asker is a manifest's requirement, without its range.
type asker struct{ file, name string }

// asked are the entries that a tree's manifests lead to.
func (y *yarn) asked(t lockfile.Tree, d *lockfile.Doc) map[asker][]*lockfile.Node {
	out := map[asker][]*lockfile.Node{}
	p := y.project(t, d.Path)
	for i, m := range p.members {
		for _, e := range p.edges(d, i) {
			if n := d.Node(e.To); n != nil && registered(e.Req) {
				out[asker{m.file, e.Name}] = append(out[asker{m.file, e.Name}], n)
			}
		}
	}
	return out
}

// brought are the entries, by name, that the head has added or moved for a
// manifest. Its manifests are not here: it is what no entry of its file needs.
func (y *yarn) brought(m *lockfile.Merge) map[string][]*lockfile.Node {
	out := map[string][]*lockfile.Node{}
	var needed map[string]bool
	for _, c := range m.Patch.Changes {
		n := c.After
		if n == nil || n.Name == "" || c.Before != nil && c.Before.Version == n.Version || !registered(strings.TrimPrefix(c.Key, n.Name)) {
			continue
		}
		if needed == nil {
			needed = map[string]bool{}
			m.Head().Nodes(func(n *lockfile.Node) {
				for _, e := range n.Edges {
					needed[e.To] = true
				}
			})
		}
		if !needed[c.Key] {
			out[n.Name] = append(out[n.Name], n)
		}
	}
	return out
}
