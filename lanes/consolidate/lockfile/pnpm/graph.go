package pnpm

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// graph is a file's installed packages, seen by how they are reached.
type graph struct {
	*lockfile.Doc
	*syntax
}

func graphOf(d *lockfile.Doc) graph { return graph{d, syntaxOf(d)} }

// pack is the package that a dependency leads to.
func (g graph) pack(dp dep) (*lockfile.Node, *pack) {
	if dp.to == "" {
		return nil, nil
	}
	n := g.Node(g.place(dp.to))
	return n, packOf(n)
}

// installed reports whether a node is a package as it is installed.
func (g graph) installed(n *lockfile.Node) bool {
	return n.Parent == "#"+snapshots || n.Parent == "#"+packages && !g.apart
}

// reach is how a package is reached.
type reach struct{ prod, dev, must bool } // must: by a way without an optional edge

// ways computes how every package is reached from the importers.
func (g graph) ways() map[*lockfile.Node]reach {
	all := make(map[*lockfile.Node]reach, g.Len())
	var queue []*lockfile.Node
	visit := func(n *lockfile.Node, w reach) {
		old := all[n]
		next := reach{old.prod || w.prod, old.dev || w.dev, old.must || w.must}
		if _, seen := all[n]; !seen || next != old {
			all[n] = next
			queue = append(queue, n)
		}
	}
	g.Nodes(func(n *lockfile.Node) {
		if x := needOf(n); x != nil {
			if to, _ := g.pack(x.dep); to != nil {
				dev := x.group == "devDependencies"
				visit(to, reach{prod: !dev, dev: dev, must: x.group != "optionalDependencies"})
			}
		}
	})
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		w := all[n]
		for _, dp := range packOf(n).deps {
			if to, _ := g.pack(dp); to != nil {
				visit(to, reach{w.prod, w.dev, w.must && !dp.optional})
			}
		}
	}
	return all
}

// flags are what a lockfile says of how a package is reached.
func (g graph) flagsOf(w reach) (dev, optional flag) {
	if !w.must {
		optional = yes
	}
	switch {
	case !g.flags:
	case w.dev && !w.prod:
		dev = yes
	case w.prod && !w.dev:
		dev = no
	}
	return dev, optional
}

// names is a set of peers.
type names map[string]bool

// tooMuch bounds what is derived from a graph: real ones stay under a
// twentieth of it, and a file made to cost more is left as it is.
const tooMuch = 1 << 20

// missing computes for every package the peers that it or what it needs asks
// for and nobody has met; nil when that is too much.
func (g graph) missing() map[*lockfile.Node]names {
	total := 0
	all := make(map[*lockfile.Node]names, g.Len())
	dependents := map[*lockfile.Node][]*lockfile.Node{}
	var queue []*lockfile.Node
	g.Nodes(func(n *lockfile.Node) {
		x := packOf(n)
		if x == nil || !g.installed(n) {
			return
		}
		has := names{}
		for _, dp := range x.deps {
			has[dp.name] = true
		}
		_, top, opaque := g.parts(x.suffix)
		mine := names{}
		for p := range peersOf(g.Doc, x) {
			if !has[p] && !opaque && !named(top, p) {
				mine[p] = true
			}
		}
		all[n] = mine
		for _, dp := range x.deps {
			if to, y := g.pack(dp); to != nil && !g.isPeer(x, top, dp, y) {
				dependents[to] = append(dependents[to], n)
			}
		}
		if len(mine) > 0 {
			queue = append(queue, n)
		}
	})
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, up := range dependents[n] {
			grown := false
			for p := range all[n] {
				if !all[up][p] {
					all[up][p] = true
					grown = true
					if total++; total > tooMuch {
						return nil
					}
				}
			}
			if grown {
				queue = append(queue, up)
			}
		}
	}
	return all
}

func named(list []part, name string) bool {
	return slices.ContainsFunc(list, func(p part) bool { return p.name == name })
}

// isPeer reports whether an edge leads to a peer, which the package's parents
// provide, and not to a dependency of its own.
func (g graph) isPeer(x *pack, top []part, dp dep, to *pack) bool {
	if slices.Contains(top, part{to.ident.name, to.ident.version}) {
		return true
	}
	_, declared := peersOf(g.Doc, x)[dp.name]
	return declared && x.suffix != ""
}

// transitive computes transitivePeerDependencies: the peers, met or not, that
// only what the package needs asks for.
func (g graph) transitive() map[*lockfile.Node]names {
	missing := g.missing()
	total := 0
	out := make(map[*lockfile.Node]names, len(missing))
	for n := range missing {
		x := packOf(n)
		declared := peersOf(g.Doc, x)
		_, top, opaque := g.parts(x.suffix)
		if opaque {
			continue
		}
		list := names{}
		add := func(p string) {
			if _, own := declared[p]; !own {
				list[p] = true
			}
		}
		for _, p := range top {
			add(p.name)
		}
		for _, dp := range x.deps {
			to, y := g.pack(dp)
			if to == nil || g.isPeer(x, top, dp, y) {
				continue
			}
			for p := range missing[to] {
				add(p)
			}
			if total += len(missing[to]); total > tooMuch {
				return nil
			}
		}
		out[n] = list
	}
	return out
}

// A stale is a package whose peers are not those that its dependent provides.
type stale struct {
	by, to *lockfile.Node
	peer   string
	// versions: have is empty where the package was locked without the peer,
	// want where the dependent does not pass it on.
	have, want string
}

// provider is who stands above a package, and what peers it gives.
type provider struct {
	n *lockfile.Node
	// version of a peer; empty when the provider does not say. Known is false
	// when it does not give the peer.
	version func(name string) (v string, known bool)
}

// stales compares the peers in every package's name with what each of its
// dependents provides.
func (g graph) stales() []stale {
	var out []stale
	roots := map[string]map[string]string{}
	g.Nodes(func(n *lockfile.Node) {
		if x := needOf(n); x != nil && x.group != specifiers {
			if roots[x.importer] == nil {
				roots[x.importer] = map[string]string{}
			}
			roots[x.importer][x.name] = g.versionOf(x.dep)
		}
	})
	g.Nodes(func(n *lockfile.Node) {
		switch x := n.Data.(type) {
		case *need:
			if to, y := g.pack(x.dep); to != nil {
				out = g.compare(out, provider{n, func(name string) (string, bool) {
					if v, ok := roots[x.importer][name]; ok {
						return v, true
					}
					if g.own { // since pnpm 8 the root provides for all
						return "", true
					}
					return roots[root][name], true // what nobody provides, pnpm installs by itself
				}}, to, y)
			}
		case *pack:
			if !g.installed(n) {
				return
			}
			_, top, opaque := g.parts(x.suffix)
			if opaque {
				return
			}
			own := map[string]string{}
			for _, p := range top {
				own[p.name] = p.version
			}
			if x.ident.name != "" {
				own[x.ident.name] = x.ident.version
			}
			for _, dp := range x.deps {
				own[dp.name] = g.versionOf(dp)
			}
			at := provider{n, func(name string) (string, bool) { v, ok := own[name]; return v, ok }}
			for _, dp := range x.deps {
				if to, y := g.pack(dp); to != nil && !g.isPeer(x, top, dp, y) {
					out = g.compare(out, at, to, y)
				}
			}
		}
	})
	return out
}

// versionOf is the version that a dependency is locked to; empty for a link
// or another package under this name.
func (g graph) versionOf(dp dep) string {
	if dp.to == "" {
		return ""
	}
	if id := g.parse(dp.to); id.name == dp.name {
		return id.version
	}
	return ""
}

func (g graph) compare(out []stale, by provider, to *lockfile.Node, x *pack) []stale {
	_, top, opaque := g.parts(x.suffix)
	if opaque {
		return out
	}
	for _, p := range top {
		if want, known := by.version(p.name); !known || want != "" && want != p.version {
			out = append(out, stale{by.n, to, p.name, p.version, want})
		}
	}
	peers := peersOf(g.Doc, x)
	if len(peers)+len(out) > tooMuch/256 {
		return out
	}
	for name := range peers {
		if named(top, name) || slices.ContainsFunc(x.deps, func(dp dep) bool { return dp.name == name }) {
			continue
		}
		if want, _ := by.version(name); want != "" {
			out = append(out, stale{by.n, to, name, "", want})
		}
	}
	return out
}
