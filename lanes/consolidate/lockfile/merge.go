package lockfile

import (
	"slices"
)

// A Change is what a head did to one node. Before is nil for an added node,
// After for a removed one.
type Change struct {
	Key           string
	Before, After *Node
	// Behind is the key that After stands behind in the head.
	Behind string
}

// A Patch is what a head did to a file, against its own fork.
type Patch struct {
	Fork    *Doc
	Changes []Change
	// Agreed are keys that every head which changes the file removes, so that
	// Format.Keep does not hold them. [Agree] fills it.
	Agreed map[string]bool
}

// Agree notes on each patch of one file which nodes all of them remove. The
// patches must be of all heads that change the file.
func Agree(patches []*Patch) {
	votes := map[string]int{}
	for _, p := range patches {
		for _, c := range p.Changes {
			if c.After == nil {
				votes[c.Key]++
			}
		}
	}
	agreed := map[string]bool{}
	for k, n := range votes {
		if n == len(patches) {
			agreed[k] = true
		}
	}
	for _, p := range patches {
		p.Agreed = agreed
	}
}

// Diff returns what head changed of fork.
func Diff(fork, head *Doc) *Patch {
	p := &Patch{Fork: fork}
	behind := ""
	for _, k := range head.order {
		if b, a := fork.Node(k), head.Node(k); !Same(b, a) {
			p.Changes = append(p.Changes, Change{k, b, a, behind})
		}
		behind = k
	}
	for _, k := range fork.order {
		if head.Node(k) == nil {
			p.Changes = append(p.Changes, Change{Key: k, Before: fork.Node(k)})
		}
	}
	return p
}

// Head returns the head's file, made again from the fork.
func (p *Patch) Head() *Doc {
	d := p.Fork.Clone()
	gone := map[string]bool{}
	for _, c := range p.Changes {
		if c.After == nil {
			gone[c.Key] = true
		} else {
			d.Set(c.After, c.Behind)
		}
	}
	d.DeleteAll(gone)
	return d
}

// A Conflict is a node that both sides changed and that no rule settles.
type Conflict struct {
	Key, Name            string
	Before, Ours, Theirs string // versions, or the raw text of what has none
	// Tool says why only the package manager can settle it; empty: two values
	// that cannot be ordered.
	Tool string
	// Why is a sentence for what is no pair of values without an order; empty: it is.
	Why string
}

// AskTool records that only the package manager knows what becomes of a node.
func (m *Merge) AskTool(n *Node, why string) {
	c := Conflict{Key: n.Key, Name: n.Name, Theirs: text(n), Tool: why}
	if old := m.Before.Node(n.Key); old != nil {
		c.Ours = text(old)
	}
	m.Conflicts = append(m.Conflicts, c)
}

// Merge is one head's change on its way into a file.
type Merge struct {
	*Doc        // the result
	Before *Doc // ours, before this merge
	Patch  *Patch
	// Was and Tree hold the manifests before and after this head's change.
	Was, Tree Tree
	// Keep says that other heads change this file too, so Format.Keep applies.
	Keep      bool
	Conflicts []Conflict

	head *Doc
}

// Head is the head's own file.
func (m *Merge) Head() *Doc {
	if m.head == nil {
		m.head = m.Patch.Head()
	}
	return m.head
}

// Sources are the files that a node which the merge lost may be taken from, in
// order of preference.
func (m *Merge) Sources() []*Doc { return []*Doc{m.Head(), m.Before, m.Patch.Fork} }

// Apply merges what a head did into ours. Keep: other heads change the file
// too. When there are conflicts the Doc is of no use.
func Apply(ours *Doc, p *Patch, was, tree Tree, keep bool) (*Doc, []Conflict) {
	m := &Merge{Doc: ours.Clone(), Before: ours, Patch: p, Was: was, Tree: tree, Keep: keep}
	f := ours.Format
	if f.Align != nil {
		f.Align(m)
	}
	gone := map[string]bool{}
	for _, c := range m.Patch.Changes {
		m.change(c, gone)
	}
	m.Doc.DeleteAll(gone)
	if len(m.Conflicts) > 0 {
		return nil, m.Conflicts
	}
	if f.Repair != nil {
		f.Repair(m)
	} else {
		m.Restore()
	}
	m.Prune()
	if f.Finish != nil {
		f.Finish(m)
	}
	if len(m.Conflicts) > 0 {
		return nil, m.Conflicts
	}
	return m.Doc, nil
}

func (m *Merge) change(c Change, gone map[string]bool) {
	ours := m.Node(c.Key)
	f := m.Format
	switch {
	case Same(ours, c.After):
	case c.After == nil:
		if ours != nil && Same(ours, c.Before) && !m.keeps(ours) {
			gone[c.Key] = true
		} // Changed by ours: it stays if something still needs it.
	case Same(ours, c.Before), ours == nil:
		m.Set(c.After, m.behind(c))
	default:
		if n, ok := f.settle(c.Before, ours, c.After); ok {
			m.Set(n, m.behind(c))
			return
		}
		conflict := Conflict{
			Key: c.Key, Name: c.After.Name,
			Before: text(c.Before), Ours: text(ours), Theirs: text(c.After),
		}
		if f.Tool != nil {
			conflict.Tool = f.Tool(c.Before, ours, c.After)
		}
		m.Conflicts = append(m.Conflicts, conflict)
	}
}

// keeps reports whether a node that theirs removed stays all the same.
func (m *Merge) keeps(n *Node) bool {
	return m.Keep && !m.Patch.Agreed[n.Key] && m.Format.Keep != nil && m.Format.Keep(n)
}

// behind is where a changed node belongs: where the head has it, and if ours
// has not got that neighbour, or has it in another parent, behind the nearest
// one before it that is left.
func (m *Merge) behind(c Change) string {
	parent := c.After.Parent
	beside := func(key string) bool {
		n := m.Node(key)
		return n != nil && (parent == "" || parent == key || parent == n.Parent)
	}
	if old := m.Node(c.Key); c.Behind == "" || old != nil && old.Parent == parent || beside(c.Behind) {
		return c.Behind
	}
	head := m.Head()
	for i := slices.Index(head.order, c.Key) - 1; i >= 0; i-- {
		if beside(head.order[i]) {
			return head.order[i]
		}
	}
	return ""
}

// settle decides between two nodes of one key that both differ from before.
func (f *Format) settle(before, ours, theirs *Node) (*Node, bool) {
	if f.Decide != nil {
		return f.Decide(before, ours, theirs)
	}
	if ours.Version != theirs.Version {
		// A side that kept the version changed something about it, and loses
		// that with the version.
		if before != nil && before.Version == ours.Version {
			return theirs, true
		}
		if before != nil && before.Version == theirs.Version {
			return ours, true
		}
		if f.Compare != nil {
			if c, ok := f.Compare(ours, theirs); ok && c != 0 {
				if c < 0 {
					return theirs, true
				}
				return ours, true
			}
		}
	}
	if f.Combine != nil {
		return f.Combine(before, ours, theirs)
	}
	return nil, false
}

// Restore puts back every node that an edge or a manifest leads to and that the
// merge lost.
func (m *Merge) Restore() {
	queue := slices.Clone(m.order)
	restore := func(from *Node, edges []Edge) {
		for _, e := range edges {
			if e.To == "" || m.Doc.Target(from, e) != nil {
				continue
			}
			if lost, behind := m.find(from, e); lost != nil {
				m.Set(lost, behind)
				queue = append(queue, lost.Key)
			}
		}
	}
	if m.Format.Roots != nil {
		restore(nil, m.Format.Roots(m.Doc, m.Tree))
	}
	for len(queue) > 0 {
		n := m.Node(queue[0])
		queue = queue[1:]
		if n != nil {
			restore(n, n.Edges)
		}
	}
}

// find returns what an edge led to, from the side with the higher version of
// it, and the nearest key before it there that the result has.
func (m *Merge) find(by *Node, e Edge) (*Node, string) {
	var best *Node
	var from *Doc
	for _, d := range m.Sources() {
		n := d.Target(by, e)
		if n == nil {
			continue
		}
		if best != nil {
			if c, ok := m.Format.Compare(best, n); !ok || c >= 0 {
				continue
			}
		}
		best, from = n, d
	}
	if best == nil {
		return nil, ""
	}
	return best, m.Behind(from, best.Key)
}

// Behind returns the nearest key before key in from that the result has.
func (m *Merge) Behind(from *Doc, key string) string {
	for i := slices.Index(from.order, key) - 1; i >= 0; i-- {
		if m.Node(from.order[i]) != nil {
			return from.order[i]
		}
	}
	return ""
}

// Reached returns the nodes that the roots lead to.
func (d *Doc) Reached(t Tree) map[*Node]bool {
	seen := make(map[*Node]bool, len(d.order))
	var roots []*Node
	for _, k := range d.order {
		if n := d.Node(k); n.Root || n.Name == "" && len(n.Edges) > 0 {
			roots = append(roots, n)
		}
	}
	if d.Format.Roots != nil {
		for _, e := range d.Format.Roots(d, t) {
			if n := d.Target(nil, e); n != nil {
				roots = append(roots, n)
			}
		}
	}
	d.reach(seen, roots)
	return seen
}

// reach adds what nodes lead to, and the nodes themselves.
func (d *Doc) reach(seen map[*Node]bool, from []*Node) {
	var queue []*Node
	push := func(n *Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
	}
	for _, n := range from {
		push(n)
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range n.Edges {
			push(d.Target(n, e))
		}
	}
}

// Prune removes what nothing reaches any more, but not what ours or the head
// held unreached before, with what that needs: it is not this merge's to mend.
// (What the head holds is only known of files with roots of their own: its
// manifests are not here.)
func (m *Merge) Prune() {
	reached := m.Reached(m.Tree)
	var loose, kept []*Node
	var before, head map[*Node]bool
	for _, k := range m.order {
		n := m.Node(k)
		if n.Name == "" || n.Direct || reached[n] {
			continue
		}
		loose = append(loose, n)
		if old := m.Before.Node(k); old != nil {
			if before == nil {
				before = m.Before.Reached(m.Was)
			}
			if !before[old] {
				kept = append(kept, n)
				continue
			}
		}
		if theirs := m.Head().Node(k); theirs != nil && m.Format.Roots == nil {
			if head == nil {
				head = m.Head().Reached(m.Tree)
			}
			if !head[theirs] {
				kept = append(kept, n)
			}
		}
	}
	m.reach(reached, kept)
	gone := map[string]bool{}
	for _, n := range loose {
		if !reached[n] {
			gone[n.Key] = true
		}
	}
	m.DeleteAll(gone)
}

func text(n *Node) string {
	switch {
	case n == nil:
		return ""
	case n.Version != "":
		return n.Version
	}
	return string(n.Raw)
}
