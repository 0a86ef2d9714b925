package npm

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// flags say for which installs npm may leave a package out. They are derived
// from the whole graph, so a merge has to renew them.
type flags struct{ dev, optional, devOptional, peer bool }

// names in the order of the alphabet, which is npm's in an entry.
var flagNames = [...]string{"dev", "devOptional", "optional", "peer"}

// of returns the flag that a member of an entry holds, or nil.
func (f *flags) of(member string) *bool {
	switch member {
	case "dev":
		return &f.dev
	case "optional":
		return &f.optional
	case "devOptional":
		return &f.devOptional
	case "peer":
		return &f.peer
	}
	return nil
}

// shown is what the file says of computed flags: devOptional is the overlap,
// and stands alone.
func (f flags) shown() flags {
	f.devOptional = f.devOptional && !f.dev && !f.optional
	return f
}

// deriver computes flags as arborist's calcDepFlags does: each is kept only
// while every way to a package goes through an edge, or from a package, of
// that sort.
type deriver struct {
	doc   *lockfile.Doc
	all   map[*lockfile.Node]flags
	queue []*lockfile.Node
}

func derive(d *lockfile.Doc, t lockfile.Tree) map[*lockfile.Node]flags {
	w := &deriver{doc: d, all: make(map[*lockfile.Node]flags, d.Len())}
	if syntax(d).version == 1 {
		for _, e := range roots(d, t) {
			if e.Name == "" { // nothing says who needs it: its word counts
				w.set(d.Node(e.To), data(d.Node(e.To)).flags)
			} else {
				w.edge(nil, flags{}, e)
			}
		}
		w.walk()
		return w.all
	}
	root := d.Node("")
	if root != nil {
		w.set(root, flags{})
		if data(root).workspaces {
			d.Nodes(func(n *lockfile.Node) {
				if p := data(n); p != nil && p.link && parent(n.Key) == "" && !outside(p.resolved) {
					w.set(n, flags{})
				}
			})
		}
	}
	w.walk()
	// Folders of the project that no edge leads to stand for themselves.
	d.Nodes(func(n *lockfile.Node) {
		if _, ok := w.all[n]; n.Root && n.Parent != "" && !ok {
			w.set(n, flags{})
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

func (w *deriver) set(n *lockfile.Node, f flags) {
	if old, ok := w.all[n]; !ok || old != f {
		w.all[n] = f
		w.queue = append(w.queue, n)
	}
}

func (w *deriver) edge(n *lockfile.Node, f flags, e lockfile.Edge) {
	t := target(w.doc, n, e)
	if t == nil {
		return
	}
	old, seen := w.all[t]
	if !seen {
		old = flags{true, true, true, true}
	}
	dev, optional, peer := e.Kind == lockfile.Dev, e.Kind == lockfile.Optional || e.Kind == lockfile.PeerOptional, peer(e)
	if n != nil && n.Parent != packagesKey {
		// Of the needs of a legacy entry only their targets tell which are optional.
		optional = data(t).flags.optional && !data(n).flags.optional
	}
	w.set(t, flags{
		dev:         old.dev && (f.dev || dev),
		optional:    old.optional && (f.optional || optional),
		devOptional: old.devOptional && (f.devOptional || f.dev || f.optional || dev || optional),
		peer:        old.peer && (f.peer || peer),
	})
}

// renew writes the flags that the merge changed. Where the file of a side says
// otherwise for the same graph, it keeps its word: npm's own were not always right.
func renew(m *lockfile.Merge) {
	now := derive(m.Doc, m.Tree)
	var head, was map[*lockfile.Node]flags
	var changed []*lockfile.Node
	m.Nodes(func(n *lockfile.Node) {
		p := data(n)
		full, ok := now[n]
		want := full.shown()
		if p != nil && n.Parent != packagesKey { // npm 6 has two flags, and knows no peers
			want.devOptional, want.peer = p.flags.devOptional, p.flags.peer
		}
		if p == nil || p.link || !ok || n.Key == "" || p.flags == want {
			return
		}
		if was == nil {
			was = derive(m.Before, m.Was)
			if syntax(m.Doc).version > 1 { // else it takes the head's manifest, which is not here
				head = derive(m.Head(), m.Tree)
			}
		}
		if side := m.Head().Node(n.Key); side != nil && known(head, side, full) {
			want = data(side).flags
		} else if side := m.Before.Node(n.Key); side != nil && known(was, side, full) {
			want = data(side).flags
		}
		if p.flags == want {
			return
		}
		if c, ok := withValue(n, writeFlags(p, want)); ok {
			changed = append(changed, c)
		}
	})
	for _, c := range changed {
		m.Set(c, "")
	}
}

func known(all map[*lockfile.Node]flags, n *lockfile.Node, f flags) bool {
	have, ok := all[n]
	return ok && have == f
}

// sameGraph reports whether two states of a file have the same packages with the
// same edges and flags, whatever their versions.
func sameGraph(a, b *lockfile.Doc) bool {
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
		p, q := data(x), data(y)
		if p == nil || q == nil {
			continue
		}
		if p.flags != q.flags || p.link != q.link || p.workspaces != q.workspaces {
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

// first are the members that npm writes before the flags.
var first = map[string]bool{"name": true, "version": true, "resolved": true, "integrity": true}

// writeFlags is the value of a package's member with other flags.
func writeFlags(p *pkg, want flags) []byte {
	o, err := jsontext.Parse(p.member.Value(), 0)
	if err != nil || len(o.Members) == 0 {
		return p.member.Value()
	}
	var out []jsontext.Member
	for _, m := range o.Members {
		if want.of(m.Key) == nil {
			out = append(out, m)
		}
	}
	for _, f := range flagNames {
		if !*want.of(f) {
			continue
		}
		at := 0
		for at < len(out) && (first[out[at].Key] || out[at].Key < f && out[at].Value()[0] != '{') {
			at++
		}
		out = append(out, jsontext.Member{})
		copy(out[at+1:], out[at:])
		out[at] = o.Members[len(o.Members)-1].WithKey(f).WithValue([]byte("true"))
	}
	return jsontext.Append(nil, out, o.Close)
}
