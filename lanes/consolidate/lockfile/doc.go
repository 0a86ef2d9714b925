// Package lockfile merges dependency files by what they mean.
//
// A file is worked on in seven steps, the same for every format:
//
//	split     into nodes with keys; the bytes of each are kept
//	decode    the edges between packages into keys
//	merge     nodes three ways, by key; of two versions the higher wins
//	repair    what one side dropped and the other needs is put back
//	prune     what no root reaches any more goes
//	encode    only what changed is written anew
//	validate  every edge leads to a version that satisfies it
//
// A [Format] says how one kind of file takes part: it parses, encodes and
// checks, and orders versions. The merge itself is here, once. The formats
// live in the folders below, one file each; package format lists them all.
package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Format is what Bailiff knows of one kind of dependency file. The functions
// that may be nil say what happens then.
type Format struct {
	// Name is shown to users: "package-lock.json v3".
	Name string
	// Ecosystem is the name users filter by: npm, go, cargo, actions, docker.
	Ecosystem string
	// Lock says that the file is derived: it merges after the manifests, whose
	// merged text its functions may read from the Tree.
	Lock bool

	// Match reports whether the format reads this file. Content has neither
	// BOM nor CRLF, and is nil when only the path is known.
	Match func(path string, content []byte) bool
	// Parse splits and decodes. Nodes whose bytes are the same as in like, a
	// parsed relative of the file that may be nil, are taken from it, so that
	// equal nodes are equal pointers.
	Parse func(content []byte, like *Doc) (*Doc, error)
	// Encode writes the file. For an unchanged Doc it is the inverse of Parse.
	Encode func(d *Doc) ([]byte, error)

	// Compare orders the versions of two nodes. The second result is false
	// when they cannot be ordered. Nil: the nodes have neither versions nor edges.
	Compare func(a, b *Node) (int, bool)
	// Decide merges two nodes that both sides changed where the version is only
	// one of several fields: a mark that one side drops must not get lost with
	// the version that it keeps. False: they conflict. Nil: the higher version
	// wins whole, and Combine merges two of one version.
	Decide func(before, ours, theirs *Node) (*Node, bool)
	// Combine merges two nodes of one version that differ in something else.
	// Nil, or false: they cannot be combined.
	Combine func(before, ours, theirs *Node) (*Node, bool)
	// Tool says why only the package manager can settle two nodes that cannot
	// be combined. Nil, or empty: they are just two values.
	Tool func(before, ours, theirs *Node) string
	// Align brings the keys of both sides to common ground before they are
	// merged, by replacing m.Doc, m.Before and m.Patch: for files whose keys name
	// versions of other packages. It may ask for the tool. Nil: they are.
	Align func(m *Merge)
	// Less orders keys that both sides add at one place. Nil: ours first.
	Less func(a, b string) bool
	// Keep says that a node which theirs removed must stay when others change
	// the file too, because nothing in the file tells whether they need it. Nil: no.
	Keep func(n *Node) bool

	// Nested reports whether a key is a place below a dependent, whose version
	// follows from who needs it there: lower than before is no loss. Nil: none is.
	Nested func(key string) bool

	// Target finds the node that an edge leads to. Nil: the node with the key Edge.To.
	Target func(d *Doc, from *Node, e Edge) *Node
	// Roots are edges from the manifests, for files that do not hold their own
	// roots. Nil: the nodes with Root set.
	Roots func(d *Doc, t Tree) []Edge
	// Repair mends the merged file before it is pruned. Nil: Restore.
	Repair func(m *Merge)
	// Finish renews derived fields after pruning. Nil: nothing.
	Finish func(m *Merge)
	// Settle mends a file by those beside it, once all that the head changes are
	// merged: a manifest by its lockfile. Was and now are the tree before and
	// after this head. It returns d when there is nothing to mend. Nil: nothing.
	Settle func(d *Doc, p *Patch, was, now Tree) *Doc
	// Check validates the file in its tree. Nil: nothing to check.
	Check func(d *Doc, t Tree) []Problem
	// Notes are sentences for the user about what the merged patches left in d
	// that a package manager would not have: d works and is not tidy. Nil: none.
	Notes func(d *Doc, merged []*Patch) []string
	// Reads reports whether d must be checked when the file at path changes,
	// which is neither beside nor below it. Nil: no.
	Reads func(d *Doc, path string) bool
}

// Tree is the state of a repository that a format may look at.
type Tree interface {
	// Read returns a file as it would be committed, without BOM and CRLF.
	Read(path string) ([]byte, bool)
	// Doc returns the parsed file of a known format.
	Doc(path string) *Doc
	// Paths are all paths of the tree that any format reads, sorted.
	Paths() []string
}

// A Node is one entry of a file: a locked package, a requirement, a `uses:`
// reference, or a piece of the file's own structure. Nodes are immutable.
type Node struct {
	// Key is what the merge aligns by. It must not name the version where two
	// versions of one thing exclude each other.
	Key string
	// Name is the dependency's name; empty for structure, which is never pruned.
	Name string
	// Version is the locked version, or a manifest's requirement.
	Version string
	// Parent is the key of the node that holds this one in the file's syntax.
	Parent string
	// Raw is the node's text in the file it came from.
	Raw []byte
	// Root nodes are reached without an edge.
	Root bool
	// Direct nodes are what a user asked for: an entry of a manifest.
	Direct bool
	// Edges lead to the packages that this one needs.
	Edges []Edge
	// Data is the format's own.
	Data any
}

// EdgeKind says what becomes of an edge that nothing meets.
type EdgeKind uint8

// The kinds of edges.
const (
	Required EdgeKind = iota
	Optional          // may be missing; if there, must satisfy
	Peer              // met from outside the package
	PeerOptional
	Dev
)

// An Edge is a need of a package.
type Edge struct {
	Name string // as the dependent calls it
	Req  string // the requirement, where the file holds it
	To   string // the key of the node it leads to, where the file says so
	Kind EdgeKind
}

// A Doc is a file taken apart.
type Doc struct {
	Format *Format
	// Path is where the file is in its tree.
	Path string
	// Syntax is what the format needs to write the file; never changed.
	Syntax any

	// A clone shares nodes and order with its origin, and keeps what differs
	// for itself: two hundred states of one file cost little more than one.
	nodes  map[string]*Node
	own    map[string]*Node // nil values are deleted
	order  []string
	shared bool // nodes belongs to relatives, too
	lent   bool // order belongs to relatives, too
	last   int  // where Set placed the last new node: the next often goes behind it
}

// NewDoc makes an empty Doc with room for n nodes.
func NewDoc(n int) *Doc {
	return &Doc{nodes: make(map[string]*Node, n), order: make([]string, 0, n)}
}

// DuplicateError says that a file has an entry twice.
type DuplicateError struct {
	Key  string
	Line int
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("line %d: %q stands twice", e.Line, e.Key)
}

// ErrConflictMarkers says that a file holds the marks of an unfinished merge.
var ErrConflictMarkers = errors.New("the file holds conflict markers of an unfinished merge")

// Add appends a node. It returns false when the key is taken.
func (d *Doc) Add(n *Node) bool {
	if d.Node(n.Key) != nil {
		return false
	}
	d.put(n.Key, n)
	d.ownOrder()
	d.order = append(d.order, n.Key)
	return true
}

func (d *Doc) put(key string, n *Node) {
	switch {
	case d.shared:
		if d.own == nil {
			d.own = map[string]*Node{}
		}
		d.own[key] = n
	case n == nil:
		delete(d.nodes, key)
	default:
		d.nodes[key] = n
	}
}

func (d *Doc) ownOrder() {
	if d.lent {
		d.order, d.lent = slices.Clone(d.order), false
	}
}

// Node returns the node with a key, or nil.
func (d *Doc) Node(key string) *Node {
	if len(d.own) > 0 {
		if n, ok := d.own[key]; ok {
			return n
		}
	}
	return d.nodes[key]
}

// At is Node for a key that was put together in a buffer.
func (d *Doc) At(key []byte) *Node {
	if len(d.own) > 0 {
		if n, ok := d.own[string(key)]; ok {
			return n
		}
	}
	return d.nodes[string(key)]
}

// Keys returns the keys in file order. The caller must not change the slice.
func (d *Doc) Keys() []string { return d.order }

// Len is the number of nodes.
func (d *Doc) Len() int { return len(d.order) }

// Nodes calls f for each node in file order.
func (d *Doc) Nodes(f func(n *Node)) {
	for _, k := range d.order {
		f(d.Node(k))
	}
}

// Set replaces the node that has the key of n where it stands. A new node, or
// one that has another parent now, is placed behind the key named behind ("" or
// unknown: at the front), in order with what stands there.
func (d *Doc) Set(n *Node, behind string) {
	old := d.Node(n.Key)
	if old != nil && old.Parent != n.Parent && behind != n.Key {
		d.Delete(n.Key)
		old = nil
	}
	if old == nil {
		d.ownOrder()
		d.last = d.place(n.Key, behind)
		d.order = slices.Insert(d.order, d.last, n.Key)
	}
	d.put(n.Key, n)
}

func (d *Doc) place(key, behind string) int {
	at := d.last + 1
	if d.last >= len(d.order) || d.order[d.last] != behind {
		at = slices.Index(d.order, behind) + 1
	}
	if less := d.Format.Less; less != nil {
		// Only past neighbours that are themselves in order, as the first one
		// behind what holds it is.
		first := func(at int) bool {
			parent := d.Node(d.order[at]).Parent
			return parent != "" && parent == d.order[at-1]
		}
		for at < len(d.order) && less(d.order[at], key) && (at == 0 || less(d.order[at-1], d.order[at]) || first(at)) {
			at++
		}
	}
	return at
}

// Delete removes a node.
func (d *Doc) Delete(key string) {
	if d.Node(key) != nil {
		d.put(key, nil)
		d.ownOrder()
		at := slices.Index(d.order, key)
		d.order = slices.Delete(d.order, at, at+1)
	}
}

// DeleteAll removes nodes in one pass.
func (d *Doc) DeleteAll(keys map[string]bool) {
	if len(keys) == 0 {
		return
	}
	d.ownOrder()
	d.order = slices.DeleteFunc(d.order, func(k string) bool { return keys[k] })
	for k := range keys {
		d.put(k, nil)
	}
}

// Clone returns a Doc that can be changed without changing d.
func (d *Doc) Clone() *Doc {
	d.shared, d.lent = true, true
	c := *d
	if len(d.own) <= 32+len(d.nodes)/16 {
		c.own = maps.Clone(d.own)
		return &c
	}
	c.nodes, c.own, c.shared = make(map[string]*Node, len(d.order)), nil, false
	for _, k := range d.order {
		c.nodes[k] = d.Node(k)
	}
	return &c
}

// Target is the node that an edge leads to, or nil.
func (d *Doc) Target(from *Node, e Edge) *Node {
	if d.Format.Target != nil {
		return d.Format.Target(d, from, e)
	}
	return d.Node(e.To)
}

// Same reports whether two nodes are the same text.
func Same(a, b *Node) bool {
	return a == b || a != nil && b != nil && a.Key == b.Key && a.Parent == b.Parent && bytes.Equal(a.Raw, b.Raw)
}

// Equal reports whether two states of one file are the same text.
func Equal(a, b *Doc) bool {
	return slices.Equal(a.order, b.order) && !slices.ContainsFunc(a.order, func(k string) bool { return !Same(a.Node(k), b.Node(k)) })
}

// Line returns the 1-based number of the first line in text that holds needle, or 0.
func Line(text []byte, needle string) int {
	at := bytes.Index(text, []byte(needle))
	if needle == "" || at < 0 {
		return 0
	}
	return 1 + bytes.Count(text[:at], []byte{'\n'})
}
