package pnpm

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// moves is what one side's bumps did to the names of locked packages.
type moves struct {
	parts map[part]string // peers that moved wherever they stand, to one version
	// loose are peers that moved in some places and not in others, or to
	// several versions: what becomes of them elsewhere cannot be said.
	loose map[part]bool
	twins map[string]string // what an identity became
	ids   map[string]ident  // the side's own
}

// idents are the identities of a file's installed packages.
func idents(d *lockfile.Doc) map[string]ident {
	syn := syntaxOf(d)
	out := make(map[string]ident, d.Len())
	d.Nodes(func(n *lockfile.Node) {
		if p := packOf(n); p != nil && (n.Parent == "#"+snapshots || !syn.apart) {
			out[p.full] = p.ident
		}
	})
	return out
}

// partsOf are all peers that a file's identities name, and what its importers
// provide: a peer of whatever may come.
func (d *dialect) partsOf(doc *lockfile.Doc, ids map[string]ident) map[part]bool {
	out := map[part]bool{}
	doc.Nodes(func(n *lockfile.Node) {
		if x := needOf(n); x != nil && x.to != "" {
			if id := d.parse(x.to); id.name != "" {
				out[part{id.name, id.version}] = true
			}
		}
	})
	for _, id := range ids {
		all, _, _ := d.parts(id.suffix)
		for _, p := range all {
			out[p] = true
		}
	}
	return out
}

// pairs finds the counterparts of the identities that only one file has: those
// that by sees as the same, where each file has just one such.
func pairs(from, to map[string]ident, taken map[string]string, by func(ident) string) {
	used := make(map[string]bool, len(taken))
	for _, t := range taken {
		used[t] = true
	}
	type pair struct{ f, t []string }
	left := map[string]*pair{}
	at := func(x ident) *pair {
		k := by(x)
		if left[k] == nil {
			left[k] = &pair{}
		}
		return left[k]
	}
	for id, x := range from {
		if _, both := to[id]; !both && taken[id] == "" {
			p := at(x)
			p.f = append(p.f, id)
		}
	}
	for id, x := range to {
		if _, both := from[id]; !both && !used[id] {
			p := at(x)
			p.t = append(p.t, id)
		}
	}
	for _, p := range left {
		if len(p.f) == 1 && len(p.t) == 1 {
			taken[p.f[0]] = p.t[0]
		}
	}
}

// votes are the versions that places of a peer moved to.
type votes map[part]map[string]bool

func (v votes) add(name, from, to string) {
	p := part{name, from}
	if v[p] == nil {
		v[p] = map[string]bool{}
	}
	v[p][to] = true
}

// movesOf compares a side with its fork.
func movesOf(fork, side *lockfile.Doc) *moves {
	d := syntaxOf(fork).dialect
	from := idents(fork)
	m := &moves{parts: map[part]string{}, loose: map[part]bool{}, twins: map[string]string{}, ids: idents(side)}
	pairs(from, m.ids, m.twins, func(x ident) string { return x.bare })
	pairs(from, m.ids, m.twins, func(x ident) string { return x.name })
	seen := votes{}
	vote := func(a, b ident) {
		was := map[string]string{}
		all, top, _ := d.parts(a.suffix)
		for _, p := range append(all, top...) { // of a name that stands twice, the top one
			was[p.name] = p.version
		}
		now, _, _ := d.parts(b.suffix)
		for _, p := range now {
			if v := was[p.name]; v != "" {
				seen.add(p.name, v, p.version)
			}
		}
	}
	for id, x := range from {
		if y, ok := m.ids[id]; ok {
			vote(x, y)
		} else if t := m.twins[id]; t != "" {
			vote(x, m.ids[t])
		}
	}
	fork.Nodes(func(n *lockfile.Node) {
		if a, b := needOf(n), needOf(side.Node(n.Key)); a != nil && b != nil && a.to != "" && b.to != "" {
			x, y := d.parse(a.to), d.parse(b.to)
			if x.name == y.name && x.name != "" {
				seen.add(x.name, x.version, y.version)
			}
		}
	})
	before, after := d.partsOf(fork, from), d.partsOf(side, m.ids)
	gone, come := map[string][]string{}, map[string][]string{}
	for p := range before {
		if !after[p] {
			gone[p.name] = append(gone[p.name], p.version)
		}
	}
	for p := range after {
		if !before[p] {
			come[p.name] = append(come[p.name], p.version)
		}
	}
	for p := range before {
		to := seen[p]
		switch {
		case after[p]:
			for v := range to {
				if v != p.version {
					m.loose[p] = true
				}
			}
		case len(to) == 1:
			for v := range to {
				m.parts[p] = v
			}
		case len(to) == 0 && len(gone[p.name]) == 1 && len(come[p.name]) == 1:
			m.parts[p] = come[p.name][0]
		default:
			m.loose[p] = true
		}
	}
	return m
}

// origins tells which identity of the fork one of the side was.
func (m *moves) origins(fork map[string]ident) func(string) string {
	came := make(map[string]string, len(m.twins))
	for f, t := range m.twins {
		came[t] = f
	}
	return func(id string) string {
		if _, old := fork[id]; old {
			return id
		}
		return came[id]
	}
}
