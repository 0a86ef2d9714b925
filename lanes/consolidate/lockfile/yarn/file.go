package yarn

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// syntax is what a file has beside its entries. It holds only what the yarn in
// question would not have written so.
type syntax struct {
	head, tail string
	// lines are key lines, by the one that would be expected.
	lines map[string]string
	// gaps stand before the blocks of these descriptors.
	gaps map[string]string
	// apart are the descriptors of blocks that yarn would have joined with
	// others, or not have joined.
	apart map[string]apartness
	// sorted: the blocks are in order.
	sorted bool
	// blank: the file was empty.
	blank bool
}

// apartness holds for a descriptor as long as it is resolved to what it was.
type apartness struct{ at, block string }

func (y *yarn) parse(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if !utf8.Valid(content) {
		return nil, errors.New("the file is no UTF-8 text")
	}
	head, blocks, tail, err := y.split(string(content))
	if err != nil {
		return nil, err
	}
	syn := &syntax{
		head: head, tail: tail, blank: len(content) == 0,
		lines: map[string]string{}, gaps: map[string]string{}, apart: map[string]apartness{},
	}
	n := 0
	for _, b := range blocks {
		n += len(b.keys)
	}
	d := lockfile.NewDoc(n)
	d.Syntax = syn
	meta := ""
	if y.berry {
		if meta, err = y.metaOf(blocks); err != nil {
			return nil, err
		}
	}
	taken := map[string]bool{}
	for _, b := range blocks {
		e, err := y.add(d, b, meta, like)
		if err != nil {
			return nil, err
		}
		syn.note(y.dialect, b, e, taken)
	}
	syn.sorted = slices.IsSortedFunc(blocks, func(a, b *block) int { return y.compare(sortedKeys(a.keys), sortedKeys(b.keys)) })
	return d, nil
}

// metaOf is the version of the file and that of its checksums.
func (y *yarn) metaOf(blocks []*block) (string, error) {
	for _, b := range blocks {
		if b.keys[0] == metadata {
			fields, err := y.parseBody(b.body, b.at+1)
			if err != nil {
				return "", err
			}
			return metaFrom(&entry{fields: fields}), nil
		}
	}
	return "", errors.New("the entry " + metadata + " is missing: not a lockfile of yarn 2 or later")
}

func metaFrom(e *entry) string { return e.get("version") + "/" + e.get("cacheKey") }

// metaIn is the version of a file and that of its checksums.
func metaIn(d *lockfile.Doc) string {
	if n := d.Node(metadata); n != nil {
		return metaFrom(entryOf(n))
	}
	return ""
}

// add puts a block's descriptors into the Doc, as far as possible as they are
// in like.
func (y *yarn) add(d *lockfile.Doc, b *block, meta string, like *lockfile.Doc) (*entry, error) {
	var raw []byte
	var e *entry
	nodes := make([]*lockfile.Node, len(b.keys))
	if like != nil {
		for i, k := range b.keys {
			old := like.Node(k)
			if old == nil {
				continue
			}
			if o := entryOf(old); o != nil && o.meta == meta && string(old.Raw) == b.body {
				nodes[i], raw, e = old, old.Raw, o
			}
		}
	}
	if e == nil {
		fields, err := y.parseBody(b.body, b.at+strings.Count(b.line, "\n")+1)
		if err != nil {
			return nil, err
		}
		raw, e = []byte(b.body), y.newEntry(fields, meta)
		if err := y.complete(b, e); err != nil {
			return nil, err
		}
	}
	for i, k := range b.keys {
		if nodes[i] == nil {
			nodes[i] = y.node(k, e, raw)
		}
		if !d.Add(nodes[i]) {
			return nil, &lockfile.DuplicateError{Key: k, Line: b.at}
		}
	}
	return e, nil
}

// complete refuses an entry that says too little for yarn to read it.
func (y *yarn) complete(b *block, e *entry) error {
	switch {
	case b.keys[0] == metadata:
		return nil
	case y.berry && e.at == "":
		return lineError(b.at, "the entry "+quoted(b.line)+" has no resolution")
	case !y.berry && e.version == "":
		return lineError(b.at, "the entry "+quoted(b.line)+" has no version")
	}
	return nil
}

// node is one descriptor of an entry. Its text is the entry's, which means the
// same in any file of this meta.
func (y *yarn) node(key string, e *entry, raw []byte) *lockfile.Node {
	n := &lockfile.Node{Key: key, Raw: raw, Data: e}
	if key == metadata {
		return n
	}
	n.Name, n.Version = nameOf(key), e.version
	n.Edges = append(slices.Clip(e.needs), y.origin(key)...)
	if _, ok := workspaceOf(e); ok {
		n.Root = key == e.at
	}
	return n
}

// note keeps what of a block would not come back by itself.
func (s *syntax) note(y *dialect, b *block, e *entry, taken map[string]bool) {
	keys := sortedKeys(b.keys)
	if line := y.line(keys); line != b.line {
		s.lines[line] = b.line
	}
	if b.gap != usualGap {
		for _, k := range keys {
			s.gaps[k] = b.gap
		}
	}
	usual := y.group(keys[0], e)
	alone := taken[usual]
	for _, k := range keys {
		alone = alone || y.group(k, e) != usual
	}
	taken[usual] = true
	if alone {
		for _, k := range keys {
			s.apart[k] = apartness{e.at, keys[0]}
		}
	}
}

func sortedKeys(keys []string) []string {
	if slices.IsSorted(keys) {
		return keys
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return keys
}

// A group is a block to be: descriptors that are resolved to one thing.
type group struct {
	keys  []string
	nodes []*lockfile.Node
}

// groups are the blocks of a file, in its order.
func (y *dialect) groups(d *lockfile.Doc) []*group {
	syn := d.Syntax.(*syntax)
	byName := make(map[string]*group, d.Len())
	var out []*group
	d.Nodes(func(n *lockfile.Node) {
		e := entryOf(n)
		name := y.group(n.Key, e)
		if a, ok := syn.apart[n.Key]; ok && a.at == e.at {
			name = "\x00" + a.block + "\x00" + a.at
		}
		g := byName[name]
		if g == nil {
			g = &group{}
			byName[name] = g
			out = append(out, g)
		}
		g.keys, g.nodes = append(g.keys, n.Key), append(g.nodes, n)
	})
	for _, g := range out {
		g.keys = sortedKeys(g.keys)
	}
	if syn.sorted {
		slices.SortStableFunc(out, func(a, b *group) int { return y.compare(a.keys, b.keys) })
	}
	return out
}

func (y *yarn) encode(d *lockfile.Doc) ([]byte, error) {
	syn := d.Syntax.(*syntax)
	groups := y.groups(d)
	var b bytes.Buffer
	size := len(syn.head) + len(syn.tail)
	for _, g := range groups {
		size += len(g.nodes[0].Raw) + 64*len(g.keys)
	}
	b.Grow(size)
	b.WriteString(syn.head)
	if syn.head == "" && len(groups) > 0 && syn.blank {
		b.WriteString(classicHead)
	}
	for i, g := range groups {
		if i > 0 {
			b.WriteString(syn.gap(g.keys))
		}
		line := y.line(g.keys)
		if odd, ok := syn.lines[line]; ok {
			line = odd
		}
		b.WriteString(line + "\n")
		b.Write(g.nodes[0].Raw)
	}
	if len(groups) > 0 {
		b.WriteString(syn.tail)
	}
	return b.Bytes(), nil
}

func (s *syntax) gap(keys []string) string {
	for _, k := range keys {
		if gap, ok := s.gaps[k]; ok {
			return gap
		}
	}
	return usualGap
}
