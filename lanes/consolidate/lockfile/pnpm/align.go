package pnpm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// align rewrites the fork and both sides by the sides' bumps of peers.
func (r rules) align(m *lockfile.Merge) {
	fork, head, ours := m.Patch.Fork, m.Patch.Head(), m.Before
	syn := syntaxOf(ours)
	if syntaxOf(fork).dialect != syn.dialect || syntaxOf(head).dialect != syn.dialect {
		m.AskTool(&lockfile.Node{Key: "#lockfileVersion"}, "the update and the base are of different lockfile versions; only pnpm can convert one")
		m.Patch = lockfile.Diff(fork, fork)
		return
	}
	if len(m.Patch.Changes) == 0 || len(lockfile.Diff(fork, ours).Changes) == 0 {
		return
	}
	byOurs, byHead := movesOf(fork, ours), movesOf(fork, head)
	onFork, onOurs, onHead := r.settleMoves(byOurs, byHead)
	forkIDs := idents(fork)
	d := syn.dialect
	nests := d.apart && !flat(fork)
	rf := &renaming{dialect: d, parts: onFork, nests: nests, origin: func(id string) string { return id }}
	ro := &renaming{dialect: d, parts: onOurs, nests: nests, origin: byOurs.origins(forkIDs), hint: hint(d, forkIDs, byOurs, byHead)}
	rh := &renaming{dialect: d, parts: onHead, nests: nests, origin: byHead.origins(forkIDs), hint: hint(d, forkIDs, byHead, byOurs)}
	ro.moved = r.follow(fork, head, ro, byHead, rh)
	rh.moved = r.follow(fork, ours, rh, byOurs, ro)
	rf.others = []elsewhere{{byHead, rh}, {byOurs, ro}}
	ro.others, rh.others = rf.others[:1], rf.others[1:]
	r.digests(m, ours, byOurs, byHead, forkIDs)
	r.digests(m, head, byHead, byOurs, forkIDs)

	// What is still named differently has other peers, or hides them in a
	// digest, or is only spelt differently.
	f := rf.all(forkIDs)
	toOurs, toHead := d.renamed(f, ro.all(byOurs.ids)), d.renamed(f, rh.all(byHead.ids))
	rf.whole, ro.whole, rh.whole = map[string]string{}, map[string]string{}, map[string]string{}
	for id := range f {
		o, h := toOurs[id], toHead[id]
		final := id
		switch {
		case o.real && h.real && o.to != h.to:
			continue // each in its own way: let the merge see it
		case o.real:
			final = o.to
		case h.real:
			final = h.to
		case o.to != "": // spelt as it stands
			final = o.to
		}
		for r, to := range map[*renaming]string{rf: id, ro: o.to, rh: h.to} {
			for _, from := range []string{id, to} {
				if from != "" && from != final {
					r.whole[from] = final
				}
			}
		}
	}
	f2, _ := rf.doc(fork)
	o2, wasOurs := ro.doc(ours)
	h2, wasHead := rh.doc(head)
	f2 = f2.Clone()
	withSides := *syn
	withSides.sides = []side{wasOurs, wasHead}
	f2.Syntax = &withSides
	m.Before, m.Doc, m.Patch = o2, o2.Clone(), lockfile.Diff(f2, h2)
}

// A rename is another name of a package whose peers have kept their versions.
type rename struct {
	to string
	// real: the package has other peers now. Else it is only written
	// differently, as generations of pnpm do where peers need each other.
	real bool
}

// renamed finds what the identities of one file are called in another.
func (d *dialect) renamed(from, to map[string]ident) map[string]rename {
	pairsOf := map[string]string{}
	tops := func(x ident) string {
		_, top, _ := d.parts(x.suffix)
		return fmt.Sprint(x.bare, top)
	}
	pairs(from, to, pairsOf, tops)
	pairs(from, to, pairsOf, func(x ident) string { return x.bare })
	out := make(map[string]rename, len(pairsOf))
	changed := map[part]bool{}
	for f, t := range pairsOf {
		real := tops(from[f]) != tops(to[t]) || !d.respelt(from[f], to[t])
		out[f] = rename{t, real}
		if real {
			changed[part{from[f].name, from[f].version}] = true
		}
	}
	for grown := true; grown; { // who has a peer with other peers has other peers
		grown = false
		for f, x := range out {
			if x.real {
				continue
			}
			_, top, _ := d.parts(from[f].suffix)
			for _, p := range top {
				if changed[p] {
					out[f] = rename{x.to, true}
					changed[part{from[f].name, from[f].version}] = true
					grown = true
					break
				}
			}
		}
	}
	return out
}

// respelt reports whether two names of a package name no peer in different
// versions: one may only name more of the peers' own peers.
func (d *dialect) respelt(a, b ident) bool {
	versions := func(x ident) (map[string]string, bool) {
		all, _, opaque := d.parts(x.suffix)
		slices.SortFunc(all, func(p, q part) int { return cmp.Or(cmp.Compare(p.name, q.name), cmp.Compare(p.version, q.version)) })
		out := map[string]string{}
		for _, p := range slices.Compact(all) {
			out[p.name] += " " + p.version
		}
		return out, !opaque
	}
	was, okA := versions(a)
	now, okB := versions(b)
	for name, v := range now {
		if w, ok := was[name]; ok && v != w {
			return false
		}
	}
	return okA && okB
}

// settleMoves says how peers are called in the end, and so which have to be
// renamed on the fork and on each side. Of two versions the higher wins, as it
// does for the packages themselves.
func (r rules) settleMoves(ours, head *moves) (onFork, onOurs, onHead map[part]string) {
	onFork, onOurs, onHead = map[part]string{}, map[part]string{}, map[part]string{}
	for p, v := range ours.parts {
		onFork[p], onHead[p] = v, v
	}
	for p, v := range head.parts {
		w, both := ours.parts[p]
		if !both {
			onFork[p], onOurs[p] = v, v
			continue
		}
		if v == w {
			continue
		}
		final := w
		if c, ok := r.Compare(w, v); ok && c < 0 {
			final = v
		}
		onFork[p], onHead[p], onOurs[p] = final, final, final
		if v != final {
			onHead[part{p.name, v}] = final
		} else {
			onOurs[part{p.name, w}] = final
		}
	}
	return onFork, onOurs, onHead
}

// hint looks at what became of the counterpart of a side's new package on the
// other side: for peers that the other side moved only here and there.
func hint(d *dialect, fork map[string]ident, side, other *moves) func(string, part) string {
	if len(other.loose) == 0 {
		return nil
	}
	origin := side.origins(fork)
	return func(id string, p part) string {
		if _, old := fork[id]; old || !other.loose[p] {
			return p.version
		}
		now := origin(id)
		if t := other.twins[now]; t != "" {
			now = t
		}
		_, top, _ := d.parts(other.ids[now].suffix)
		for _, q := range top {
			if q.name == p.name {
				return q.version
			}
		}
		return p.version
	}
}

// digests asks for the tool where a side's new package hides its peers in a
// digest and the other side has moved one of them.
func (r rules) digests(m *lockfile.Merge, d *lockfile.Doc, side, other *moves, fork map[string]ident) {
	moved := map[string]string{}
	for p, v := range other.parts {
		moved[p.name] = p.name + " " + p.version + " -> " + v
	}
	for p := range other.loose {
		moved[p.name] = p.name + " " + p.version
	}
	if len(moved) == 0 {
		return
	}
	syn := syntaxOf(d)
	d.Nodes(func(n *lockfile.Node) {
		x := packOf(n)
		if x == nil || x.suffix == "" {
			return
		}
		if _, old := fork[x.full]; old {
			return
		}
		if _, both := other.ids[x.full]; both {
			return
		}
		if _, _, opaque := syn.parts(x.suffix); !opaque {
			return
		}
		for name := range moved {
			if x.concerns(d, name) {
				m.AskTool(n, x.name+"@"+x.version+" is locked under a digest of its peers, of which another update moves "+
					moved[name]+"; only pnpm can write the new one")
				return
			}
		}
	})
}

// concerns reports whether a package may have a peer of this name.
func (x *pack) concerns(d *lockfile.Doc, name string) bool {
	for _, t := range x.transitive {
		if t == name {
			return true
		}
	}
	_, ok := peersOf(d, x)[name]
	return ok
}

// peersOf are the peers that a package declares.
func peersOf(d *lockfile.Doc, x *pack) map[string]peer {
	if !x.apart {
		return x.peers
	}
	if p := packOf(d.Node(keyOf(packages, x.pkg()))); p != nil {
		return p.peers
	}
	return nil
}

// follow makes the function that looks where the other side has moved an edge:
// this side has bumped the dependent and kept the edge as it was, so the other
// side's move holds for it. Not across major versions: there the bumped
// dependent may well have meant the old one.
func (r rules) follow(fork, other *lockfile.Doc, side *renaming, moves *moves, by *renaming) func(*pack, dep) string {
	was, now := graphOf(fork), graphOf(other)
	edge := func(g graph, id, name string) (ident, bool) {
		if x := packOf(g.Node(g.place(id))); x != nil {
			for _, dp := range x.deps {
				if dp.name == name && dp.to != "" {
					return g.parse(dp.to), true
				}
			}
		}
		return ident{}, false
	}
	relatives := map[string][]string{}
	for id, x := range idents(fork) {
		relatives[x.name] = append(relatives[x.name], id)
	}
	const most = 8 // of a name, the last ones
	for name, list := range relatives {
		slices.Sort(list)
		relatives[name] = list[max(0, len(list)-most):]
	}
	move := func(from string, dp dep) string {
		to := from
		if _, kept := moves.ids[from]; !kept {
			if to = moves.twins[from]; to == "" || moves.ids[to].bare != was.parse(from).bare {
				return ""
			}
		}
		a, okA := edge(was, from, dp.name)
		b, okB := edge(now, to, dp.name)
		if !okA || !okB || a.bare == b.bare || a.name != b.name || a.bare != was.parse(dp.to).bare {
			return ""
		}
		if c, ok := r.Compare(a.version, b.version); !ok || c >= 0 || r.StepOf(a.version, b.version) == version.Major {
			return ""
		}
		return by.id(b.full)
	}
	return func(x *pack, dp dep) string {
		from := side.origin(x.full)
		switch from {
		case x.full:
			return ""
		case "": // new beside others of its name
			for _, from := range relatives[x.ident.name] {
				if to := move(from, dp); to != "" {
					return to
				}
			}
			return ""
		}
		return move(from, dp)
	}
}
