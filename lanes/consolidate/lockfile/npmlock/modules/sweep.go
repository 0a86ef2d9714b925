package modules

import "github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"

// Sweep removes what only optional peers lead to since this merge: npm prunes
// that. What a side held so before stays, with all that it needs.
func Sweep(m *lockfile.Merge) {
	needed := needs(m.Doc, m.Tree)
	var loose, kept []*lockfile.Node
	var before, head map[*lockfile.Node]bool
	m.Nodes(func(n *lockfile.Node) {
		if n.Name == "" || needed[n] {
			return
		}
		loose = append(loose, n)
		if before == nil {
			before = needs(m.Before, m.Was)
			if m.Format.Roots == nil { // else its roots are in its own manifest, which is not here
				head = needs(m.Head(), m.Tree)
			}
		}
		old, theirs := m.Before.Node(n.Key), m.Head().Node(n.Key)
		if old != nil && !before[old] || theirs != nil && head != nil && !head[theirs] {
			kept = append(kept, n)
		}
	})
	reach(m.Doc, needed, kept)
	gone := map[string]bool{}
	for _, n := range loose {
		if !needed[n] {
			gone[n.Key] = true
		}
	}
	if len(gone) > 0 {
		m.DeleteAll(gone)
		m.Prune() // what only they needed, as optional peers again
	}
}

// needs are the packages that the project needs, not counting optional peers.
func needs(d *lockfile.Doc, t lockfile.Tree) map[*lockfile.Node]bool {
	seen := make(map[*lockfile.Node]bool, d.Len())
	var from []*lockfile.Node
	d.Nodes(func(n *lockfile.Node) {
		if n.Root {
			from = append(from, n)
		}
	})
	if d.Format.Roots != nil {
		for _, e := range d.Format.Roots(d, t) {
			if n := Target(d, nil, e); n != nil && e.Kind != lockfile.PeerOptional {
				from = append(from, n)
			}
		}
	}
	reach(d, seen, from)
	return seen
}

// reach adds packages, and what they need.
func reach(d *lockfile.Doc, seen map[*lockfile.Node]bool, from []*lockfile.Node) {
	for _, n := range from {
		seen[n] = true
	}
	for len(from) > 0 {
		n := from[len(from)-1]
		from = from[:len(from)-1]
		for _, e := range n.Edges {
			if t := Target(d, n, e); t != nil && !seen[t] && e.Kind != lockfile.PeerOptional {
				seen[t] = true
				from = append(from, t)
			}
		}
	}
}
