package modules

import "github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"

// Flags say for which installs npm may leave a package out. They are derived
// from the whole graph, so a merge has to renew them.
type Flags struct{ Dev, Optional, DevOptional, Peer bool }

// Of returns the flag that a member of an entry holds, or nil.
func (f *Flags) Of(member string) *bool {
	switch member {
	case "dev":
		return &f.Dev
	case "optional":
		return &f.Optional
	case "devOptional":
		return &f.DevOptional
	case "peer":
		return &f.Peer
	}
	return nil
}

// Shown is what the file says of computed flags: devOptional is the overlap,
// and stands alone.
func (f Flags) Shown() Flags {
	f.DevOptional = f.DevOptional && !f.Dev && !f.Optional
	return f
}

// deriver computes flags as arborist's calcDepFlags does: each is kept only
// while every way to a package goes through an edge, or from a package, of
// that sort.
type deriver struct {
	doc   *lockfile.Doc
	all   map[*lockfile.Node]Flags
	queue []*lockfile.Node
}

// Derive computes the flags of all packages that the project needs.
func Derive(d *lockfile.Doc, t lockfile.Tree) map[*lockfile.Node]Flags {
	w := &deriver{doc: d, all: make(map[*lockfile.Node]Flags, d.Len())}
	if d.Format.Roots != nil {
		for _, e := range d.Format.Roots(d, t) {
			if e.Name == "" { // nothing says who needs it: its word counts
				w.set(d.Node(e.To), Of(d.Node(e.To)).Flags)
			} else {
				w.edge(nil, Flags{}, e)
			}
		}
		w.walk()
		return w.all
	}
	root := d.Node("")
	if root != nil {
		w.set(root, Flags{})
		if Of(root).Workspaces {
			d.Nodes(func(n *lockfile.Node) {
				if p := Of(n); p != nil && p.Link && Parent(n.Key) == "" && !Outside(p.Resolved) {
					w.set(n, Flags{})
				}
			})
		}
	}
	w.walk()
	// Folders of the project that no edge leads to stand for themselves.
	d.Nodes(func(n *lockfile.Node) {
		if _, ok := w.all[n]; n.Root && n.Parent != "" && !ok {
			w.set(n, Flags{})
			w.walk()
		}
	})
	return w.all
}

func (w *deriver) walk() {
	for len(w.queue) > 0 {
		n := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		f := w.all[n]
		for _, e := range n.Edges {
			w.edge(n, f, e)
		}
	}
}

func (w *deriver) set(n *lockfile.Node, f Flags) {
	if old, ok := w.all[n]; !ok || old != f {
		w.all[n] = f
		w.queue = append(w.queue, n)
	}
}

func (w *deriver) edge(n *lockfile.Node, f Flags, e lockfile.Edge) {
	t := Target(w.doc, n, e)
	if t == nil {
		return
	}
	old, seen := w.all[t]
	if !seen {
		old = Flags{true, true, true, true}
	}
	dev, optional, peer := e.Kind == lockfile.Dev, e.Kind == lockfile.Optional || e.Kind == lockfile.PeerOptional, IsPeer(e)
	if n != nil && Of(n).Vague {
		optional = Of(t).Flags.Optional && !Of(n).Flags.Optional
	}
	w.set(t, Flags{
		Dev:         old.Dev && (f.Dev || dev),
		Optional:    old.Optional && (f.Optional || optional),
		DevOptional: old.DevOptional && (f.DevOptional || f.Dev || f.Optional || dev || optional),
		Peer:        old.Peer && (f.Peer || peer),
	})
}

// SameGraph reports whether two states of a file have the same packages with the
// same edges and flags, whatever their versions.
func SameGraph(a, b *lockfile.Doc) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, k := range b.Keys() {
		x, y := a.Node(k), b.Node(k)
		if x == y {
			continue
		}
		if x == nil || len(x.Edges) != len(y.Edges) {
			return false
		}
		p, q := Of(x), Of(y)
		if p == nil || q == nil {
			continue
		}
		if p.Flags != q.Flags || p.Link != q.Link || p.Workspaces != q.Workspaces {
			return false
		}
		for i, e := range x.Edges {
			if f := y.Edges[i]; e.Name != f.Name || e.Kind != f.Kind || e.To != f.To {
				return false
			}
		}
	}
	return true
}
