package yarn

import (
	"bytes"
	"cmp"
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
	was, have, other := index(before), index(ours), index(theirs)
	var out []field
	for _, f := range ours {
		key := plain(f.key)
		m, ok := y.merge1(was[key], &f, other[key], in)
		if !ok {
			return nil, false
		}
		if m != nil {
			out = append(out, *m)
		}
	}
	for _, f := range theirs {
		key := plain(f.key)
		if have[key] != nil {
			continue
		}
		m, ok := y.merge1(was[key], nil, &f, in)
		if !ok {
			return nil, false
		}
		if m != nil {
			out = append(out, *m)
		}
	}
	y.sortFields(out)
	return out, true
}

// merge1 merges one field, of which a nil is an absent one. What one side changes
// and the other removes stays.
func (y *yarn) merge1(before, ours, theirs *field, in string) (*field, bool) {
	switch {
	case same(ours, theirs), same(before, theirs):
		return ours, true
	case same(before, ours):
		return theirs, true
	}
	one := cmp.Or(ours, theirs)
	if nested(before) && nested(ours) && nested(theirs) {
		sub, ok := y.merge3(before.lines(), ours.lines(), theirs.lines(), plain(one.key))
		if !ok || len(sub) == 0 {
			return nil, ok
		}
		merged := *one
		merged.sub = sub
		return &merged, true
	}
	if ours == nil || theirs == nil {
		return one, true
	}
	return y.settle(ours, theirs, in)
}

// nested reports whether a field can be merged line by line.
func nested(f *field) bool { return f == nil || f.nested }

func (f *field) lines() []field {
	if f == nil {
		return nil
	}
	return f.sub
}

// settle decides between two values of one field: the higher requirement, and of
// two addresses with one checksum ours.
func (y *yarn) settle(ours, theirs *field, in string) (*field, bool) {
	if ours.nested || theirs.nested {
		return nil, false
	}
	if in == "" && plain(ours.key) == "resolved" && !y.berry {
		_, a, _ := strings.Cut(plain(ours.value), "#")
		_, b, _ := strings.Cut(plain(theirs.value), "#")
		return ours, a != "" && a == b
	}
	if strings.HasSuffix(in, "ependencies") {
		if c, ok := y.CompareReqs(plain(ours.value), plain(theirs.value)); ok {
			if c < 0 {
				return theirs, true
			}
			return ours, true
		}
	}
	return nil, false
}

func same(a, b *field) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.key == b.key && a.value == b.value && a.nested == b.nested &&
		slices.EqualFunc(a.sub, b.sub, func(a, b field) bool { return same(&a, &b) })
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
	if !y.berry {
		y.lift(m)
	}
	// What is put back may belong to a block, and the text of a block may need
	// more, so this goes on until nothing changes; a few times are enough, and
	// hostile files shall not have more.
	for range 4 {
		changed := !y.berry && y.resolve(m)
		changed = y.unify(m) || changed
		m.Restore()
		if !changed || len(m.Conflicts) > 0 {
			break
		}
	}
	if y.berry {
		y.hold(m)
	}
}

// rewritten asks for the tool when one side alone is written by another release
// of yarn and the other has changes, too. If it has none, what the new release
// writes as the old one did is read anew.
func (y *yarn) rewritten(m *lockfile.Merge) bool {
	fork, ours, theirs := m.Patch.Fork.Node(metadata), m.Before.Node(metadata), m.Head().Node(metadata)
	if lockfile.Same(ours, theirs) {
		return false
	}
	if !lockfile.Same(fork, ours) || !unchanged(m.Patch.Fork, m.Before) {
		m.AskTool(theirs, y.tool(fork, ours, theirs))
		return true
	}
	meta := metaIn(m.Doc)
	for _, k := range slices.Clone(m.Keys()) {
		if n := m.Node(k); entryOf(n).meta != meta {
			m.Set(y.node(k, y.newEntry(entryOf(n).fields, meta), n.Raw), "")
		}
	}
	return false
}

func unchanged(a, b *lockfile.Doc) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.Keys(), func(k string) bool { return !lockfile.Same(a.Node(k), b.Node(k)) })
}

// hold keeps what a side added although nothing in its file leads there:
// something outside of it does, such as an extension of the project's own or a
// catalog. If the merge loses something else that this side added, it may be what
// needed it, and only yarn knows.
func (y *yarn) hold(m *lockfile.Merge) {
	var reached map[*lockfile.Node]bool // in the result
	for _, d := range []*lockfile.Doc{m.Head(), m.Before} {
		var added, held []*lockfile.Node
		var explained map[*lockfile.Node]bool
		d.Nodes(func(n *lockfile.Node) {
			if n.Name == "" || m.Patch.Fork.Node(n.Key) != nil {
				return
			}
			if _, ok := workspaceOf(entryOf(n)); ok {
				return
			}
			if explained == nil {
				explained = y.explained(d, m.Tree)
			}
			if n.Root || !explained[n] {
				held = append(held, n)
			} else {
				added = append(added, n)
			}
		})
		if len(held) == 0 {
			continue
		}
		if reached == nil {
			reached = m.Reached(m.Tree)
		}
		lost := slices.ContainsFunc(added, func(n *lockfile.Node) bool {
			have := m.Node(n.Key)
			return have == nil || have.Version != n.Version || !reached[have]
		})
		for _, n := range held {
			have := m.Node(n.Key)
			switch {
			case have == nil || reached[have] && !have.Root:
			case lost:
				m.AskTool(n, "nothing in the file tells what needs it, and not everything that came with it stays")
			default:
				c := *have
				c.Root = true
				m.Set(&c, "")
			}
		}
	}
}

// explained are the nodes that the file and the manifests lead to, or led to
// before a resolution was moved.
func (y *yarn) explained(d *lockfile.Doc, t lockfile.Tree) map[*lockfile.Node]bool {
	seen := d.Reached(t)
	governed := y.project(t, d.Path).governed()
	var queue []*lockfile.Node
	push := func(n *lockfile.Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
	}
	d.Nodes(func(n *lockfile.Node) {
		if governed[n.Name] {
			push(n)
		}
	})
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range n.Edges {
			push(d.Target(n, e))
		}
	}
	return seen
}

// unify gives the descriptors of one block one text, and reports whether it had to.
func (y *yarn) unify(m *lockfile.Merge) (changed bool) {
	for _, g := range y.groups(m.Doc) {
		if slices.ContainsFunc(g.nodes, func(n *lockfile.Node) bool { return !bytes.Equal(n.Raw, g.nodes[0].Raw) }) {
			y.unifyGroup(m, g)
			changed = true
		}
	}
	return changed
}

func (y *yarn) unifyGroup(m *lockfile.Merge, g *group) {
	n := g.nodes[0]
	var before *lockfile.Node
	for _, k := range g.keys {
		if old := m.Patch.Fork.Node(k); old != nil && entryOf(old).at == entryOf(n).at {
			before = old
			break
		}
	}
	for _, x := range g.nodes[1:] {
		one, ok := y.combine(before, n, x)
		if !ok {
			m.AskTool(x, y.tool(before, n, x))
			return
		}
		n = one
	}
	for _, x := range g.nodes {
		c := y.node(x.Key, entryOf(n), n.Raw)
		c.Root = c.Root || x.Root
		m.Set(c, "")
	}
}

// resolve gives every descriptor that the project's resolutions replace the
// entry that they name, as yarn 1 does, and reports whether it had to.
func (y *yarn) resolve(m *lockfile.Merge) (changed bool) {
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
		return false
	}
	own := map[string]bool{}
	for _, e := range p.rootEdges(m.Doc) {
		own[e.To] = true
	}
	for _, k := range slices.Clone(m.Keys()) {
		n := m.Node(k)
		if f := forced[n.Name]; f != nil && f != n && !own[k] && !bytes.Equal(f.Raw, n.Raw) {
			m.Set(y.node(k, entryOf(f), f.Raw), "")
			changed = true
		}
	}
	return changed
}
