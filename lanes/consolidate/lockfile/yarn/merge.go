package yarn

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// combine merges two entries of one version, field by field.
func (y *yarn) combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	if ours.Key == metadata {
		return nil, false
	}
	o, t := entryOf(ours), entryOf(theirs)
	if o.meta != t.meta {
		return nil, false
	}
	var b []field
	if before != nil {
		b = entryOf(before).fields
	}
	fields, ok := y.merge3(b, o.fields, t.fields, "")
	if !ok {
		return nil, false
	}
	raw := y.render(fields)
	for _, n := range []*lockfile.Node{ours, theirs} {
		if bytes.Equal(n.Raw, raw) {
			return n, true
		}
	}
	return y.node(ours.Key, y.newEntry(fields, o.meta), raw), true
}

// merge3 merges two lists of fields, in the field named in.
func (y *yarn) merge3(before, ours, theirs []field, in string) ([]field, bool) {
	var out []field
	was, have, other := index(before), index(ours), index(theirs)
	for _, o := range ours {
		b, t := was[plain(o.key)], other[plain(o.key)]
		switch {
		case t == nil && b != nil && same(*b, o): // theirs removed it
		case t == nil, same(o, *t), b != nil && same(*b, *t):
			out = append(out, o)
		case b != nil && same(*b, o):
			out = append(out, *t)
		case o.nested && t.nested:
			var sub []field
			if b != nil {
				sub = b.sub
			}
			sub, ok := y.merge3(sub, o.sub, t.sub, plain(o.key))
			if !ok {
				return nil, false
			}
			if len(sub) > 0 {
				o.sub = sub
				out = append(out, o)
			}
		default:
			f, ok := y.settle(o, *t, in)
			if !ok {
				return nil, false
			}
			out = append(out, f)
		}
	}
	for _, t := range theirs {
		if have[plain(t.key)] != nil {
			continue
		}
		if b := was[plain(t.key)]; b == nil || !same(*b, t) {
			out = append(out, t)
		}
	}
	y.sortFields(out)
	return out, true
}

// settle decides between two values of one field: the higher requirement, and of
// two addresses with one checksum ours.
func (y *yarn) settle(o, t field, in string) (field, bool) {
	if o.nested || t.nested {
		return field{}, false
	}
	if in == "" && plain(o.key) == "resolved" && !y.berry {
		_, a, _ := strings.Cut(o.value, "#")
		_, b, _ := strings.Cut(t.value, "#")
		return o, a != "" && strings.TrimSuffix(a, `"`) == strings.TrimSuffix(b, `"`)
	}
	if strings.HasSuffix(in, "ependencies") {
		if c, ok := y.CompareReqs(plain(o.value), plain(t.value)); ok {
			if c < 0 {
				return t, true
			}
			return o, true
		}
	}
	return field{}, false
}

func same(a, b field) bool {
	return a.key == b.key && a.value == b.value && a.nested == b.nested && slices.EqualFunc(a.sub, b.sub, same)
}

// tool says what only yarn itself can decide.
func (y *yarn) tool(_, ours, theirs *lockfile.Node) string {
	o, t := entryOf(ours), entryOf(theirs)
	switch {
	case ours.Key == metadata || o.meta != t.meta:
		return "the sides are written by different releases of yarn, whose checksums and descriptors are not the same"
	case o.at == t.at && o.at != "" && ours.Version == theirs.Version:
		return "the sides describe " + o.at + " differently"
	}
	return ""
}

// repair puts back what the merge lost.
func (y *yarn) repair(m *lockfile.Merge) {
	if y.berry && y.rewritten(m) {
		return
	}
	m.Restore()
	if y.berry {
		y.hold(m)
	}
}

// rewritten asks for the tool when one side alone is written by another release
// of yarn and the other has changes, too.
func (y *yarn) rewritten(m *lockfile.Merge) bool {
	fork, ours, theirs := m.Patch.Fork.Node(metadata), m.Before.Node(metadata), m.Head().Node(metadata)
	if lockfile.Same(ours, theirs) || lockfile.Same(fork, ours) && unchanged(m.Patch.Fork, m.Before) {
		return false
	}
	m.AskTool(theirs, y.tool(fork, ours, theirs))
	return true
}

func unchanged(a, b *lockfile.Doc) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.Keys(), func(k string) bool { return !lockfile.Same(a.Node(k), b.Node(k)) })
}

// hold keeps what the head added although nothing in its file leads there:
// something outside of it does, such as an extension of a package or a catalog.
func (y *yarn) hold(m *lockfile.Merge) {
	var reached map[*lockfile.Node]bool
	var governed map[string]bool
	for _, c := range m.Patch.Changes {
		n := m.Node(c.Key)
		if n == nil || n != c.After || n.Root || n.Name == "" {
			continue
		}
		if reached == nil {
			reached = m.Head().Reached(m.Tree)
			governed = y.project(m.Tree, m.Path).governed()
		}
		if !reached[n] && !governed[n.Name] {
			held := *n
			held.Root = true
			m.Set(&held, "")
		}
	}
}

// finish gives the descriptors of one block one text.
func (y *yarn) finish(m *lockfile.Merge) {
	if !y.berry {
		y.resolve(m)
	}
	for _, g := range y.groups(m.Doc) {
		if !slices.ContainsFunc(g.nodes, func(n *lockfile.Node) bool { return !bytes.Equal(n.Raw, g.nodes[0].Raw) }) {
			continue
		}
		y.unify(m, g)
	}
}

func (y *yarn) unify(m *lockfile.Merge, g *group) {
	n := g.nodes[0]
	var before *lockfile.Node
	for _, k := range g.keys {
		if old := m.Patch.Fork.Node(k); old != nil && entryOf(old).at == entryOf(n).at {
			before = old
			break
		}
	}
	for _, x := range g.nodes[1:] {
		var ok bool
		if n, ok = y.combine(before, n, x); !ok {
			m.AskTool(x, y.tool(before, g.nodes[0], x))
			return
		}
	}
	for _, x := range g.nodes {
		c := y.node(x.Key, entryOf(n), n.Raw)
		c.Root = c.Root || x.Root
		m.Set(c, "")
	}
}

// resolve gives every descriptor that the project's resolutions replace the
// entry that they name, as yarn 1 does.
func (y *yarn) resolve(m *lockfile.Merge) {
	p := y.project(m.Tree, m.Path)
	forced := map[string]*lockfile.Node{}
	for _, r := range p.resolutions {
		if r.everywhere {
			if n := m.Node(r.name + "@" + r.rng); n != nil {
				forced[r.name] = n
			}
		}
	}
	if len(forced) == 0 {
		return
	}
	own := map[string]bool{}
	for _, e := range p.rootEdges(m.Doc) {
		own[e.To] = true
	}
	for _, k := range slices.Clone(m.Keys()) {
		n := m.Node(k)
		if f := forced[n.Name]; f != nil && f != n && !own[k] && !bytes.Equal(f.Raw, n.Raw) {
			m.Set(y.node(k, entryOf(f), f.Raw), "")
		}
	}
}
