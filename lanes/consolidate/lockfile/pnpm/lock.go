package pnpm

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

// Keys are the path to an entry: "#settings", "importers > . > react",
// "packages > react@19.0.0", "snapshots > swr@2.2.4(react@19.0.0)".
const (
	arrow     = " > "
	importers = "importers"
	packages  = "packages"
	snapshots = "snapshots"
	root      = "."
)

func keyOf(parts ...string) string { return strings.Join(parts, arrow) }

// block is the Data of every node: its lines.
type block struct {
	yamltext.Entry
	// holds: its entries are nodes of their own; empty: it has none in its file.
	holds, empty bool
}

// syntax is what belongs to no node.
type syntax struct {
	*dialect
	tail  string
	noEOL bool // the last line has no end
	// unsorted are the keys whose entries are not in order, where pnpm has them
	// in order.
	unsorted map[string]bool
	// longest is how long peers may be before they are written as a digest, 0
	// for no limit; recipe makes digests, nil when the version does not say how.
	longest int
	recipe  *recipe
	// sides are, of an aligned fork, both sides as they were before.
	sides []side
}

func syntaxOf(d *lockfile.Doc) *syntax {
	s, _ := d.Syntax.(*syntax)
	return s
}

// groups of an importer that hold dependencies.
var groups = map[string]lockfile.EdgeKind{
	"dependencies": lockfile.Required, "devDependencies": lockfile.Dev, "optionalDependencies": lockfile.Optional,
}

func isGroup(key string) bool {
	_, ok := groups[key]
	return ok
}

const specifiers = "specifiers"

// nested are sections whose entries are merged one by one, by how deep they
// are. Every other one is one piece, or a list of items.
var nested = map[string]int{
	"settings": 1, "overrides": 1, "patchedDependencies": 1, "time": 1, "ignoredOptionalDependencies": 1,
	"catalogs": 2, "catalog": 1,
}

func isLock(p string) bool { return path.Base(p) == "pnpm-lock.yaml" }

// lockVersion is the first digit of lockfileVersion, 0 when there is none.
func lockVersion(content string) byte {
	const name = "lockfileVersion:"
	at := strings.Index("\n"+content, "\n"+name)
	if at < 0 {
		return 0
	}
	l, _ := yamltext.LineOf(content[at+len(name):])
	l = strings.Trim(strings.TrimSpace(l), `'"`)
	if l == "" {
		return 0
	}
	return l[0]
}

// lockParser takes one file apart.
type lockParser struct {
	*dialect
	doc, like *lockfile.Doc
}

func parseLock(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	text := string(content)
	v := lockVersion(text)
	d := dialects[v]
	if d == nil {
		if err := yamltext.Conflicted(text); err != nil {
			return nil, err
		}
		return nil, errors.New("the lockfileVersion is none of 5, 6 and 9")
	}
	doc := lockfile.NewDoc(strings.Count(text, "\n\n") + 64)
	syn := &syntax{dialect: d}
	doc.Syntax = syn
	p := &lockParser{dialect: d, doc: doc, like: like}
	entries, err := open(text, syn)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := p.top(e); err != nil {
			return nil, err
		}
	}
	syn.unsorted = unsorted(doc)
	if n := doc.Node("#lockfileVersion"); n != nil {
		syn.recipe = standard(n.Version)
	}
	syn.longest = syn.limit(doc)
	return expand(doc, like), nil
}

// unsorted finds the keys whose entries are out of order.
func unsorted(d *lockfile.Doc) map[string]bool {
	out := map[string]bool{}
	last := map[string]string{}
	d.Nodes(func(n *lockfile.Node) {
		if before, ok := last[n.Parent]; ok && !less(before, n.Key) {
			out[n.Parent] = true
		}
		last[n.Parent] = n.Key
	})
	return out
}

// open splits a whole file.
func open(text string, syn *syntax) ([]yamltext.Entry, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
		syn.noEOL = true
	}
	entries, tail, err := yamltext.Split(text, 1)
	syn.tail = tail
	if err != nil {
		if c := yamltext.Conflicted(text); c != nil {
			return nil, c
		}
	}
	return entries, err
}

func (p *lockParser) top(e yamltext.Entry) error {
	switch {
	case e.Item:
		return fmt.Errorf("line %d: a list, expected keys", e.Line)
	case e.Key == importers:
		return p.children(e, importers, p.importer)
	case e.Key == packages, e.Key == snapshots && p.apart:
		return p.children(e, e.Key, func(c yamltext.Entry, parent string) error { return p.pack(c, e.Key, parent) })
	case isGroup(e.Key) || e.Key == specifiers && p.own:
		return p.group(e, root, "")
	}
	return tree(p.doc, p.like, e, "", "", nested[e.Key], nil)
}

// children adds the node of a key that holds entries, and its entries.
func (p *lockParser) children(e yamltext.Entry, key string, each func(c yamltext.Entry, parent string) error) error {
	key = "#" + key
	list, err := e.Inner()
	if err != nil {
		return err
	}
	if err := add(p.doc, p.like, head(e, key, "", len(list) == 0)); err != nil {
		return err
	}
	for _, c := range list {
		if c.Item {
			return fmt.Errorf("line %d: a list, expected keys", c.Line)
		}
		if err := each(c, key); err != nil {
			return err
		}
	}
	return nil
}

// head is the node of a key that holds other nodes.
func head(e yamltext.Entry, key, parent string, empty bool) *lockfile.Node {
	e.Body = ""
	return &lockfile.Node{Key: key, Parent: parent, Raw: []byte(e.Lead + e.Head), Data: &block{e, true, empty}}
}

// add puts a node into the file, or the same node of like.
func add(doc, like *lockfile.Doc, n *lockfile.Node) error {
	if like != nil {
		if old := like.Node(n.Key); lockfile.Same(old, n) && blockOf(old).empty == blockOf(n).empty {
			n = old
		}
	}
	if !doc.Add(n) {
		b := blockOf(n)
		return &lockfile.DuplicateError{Key: b.Key, Line: b.Line}
	}
	return nil
}

// blockOf is a node's text.
func blockOf(n *lockfile.Node) *block {
	switch d := n.Data.(type) {
	case *block:
		return d
	case *pack:
		return &d.block
	case *need:
		return &d.block
	}
	return &block{}
}

func packOf(n *lockfile.Node) *pack {
	if n == nil {
		return nil
	}
	p, _ := n.Data.(*pack)
	return p
}

func needOf(n *lockfile.Node) *need {
	if n == nil {
		return nil
	}
	x, _ := n.Data.(*need)
	return x
}

// importer reads one project.
func (p *lockParser) importer(e yamltext.Entry, parent string) error {
	key := keyOf(importers, e.Key)
	list, err := e.Inner()
	if err != nil {
		return err
	}
	if err := add(p.doc, p.like, head(e, key, parent, len(list) == 0)); err != nil {
		return err
	}
	for _, g := range list {
		if isGroup(g.Key) || g.Key == specifiers && p.own {
			if err := p.group(g, e.Key, key); err != nil {
				return err
			}
			continue
		}
		if err := tree(p.doc, p.like, g, key, key, 1, nil); err != nil {
			return err
		}
	}
	return nil
}

// group reads one of an importer's groups of dependencies.
func (p *lockParser) group(e yamltext.Entry, importer, parent string) error {
	group := e.Key
	key := keyOf(importers, importer, "#"+group)
	list, err := e.Inner()
	if err != nil {
		return err
	}
	if err := add(p.doc, p.like, head(e, key, parent, len(list) == 0)); err != nil {
		return err
	}
	for _, c := range list {
		n, err := p.need(c, importer, group, key)
		if err != nil {
			return err
		}
		if err := add(p.doc, p.like, n); err != nil {
			return err
		}
	}
	return nil
}

// need reads one requirement of a project.
func (p *lockParser) need(e yamltext.Entry, importer, group, parent string) (*lockfile.Node, error) {
	x := &need{block: block{Entry: e}, importer: importer, group: group}
	n := &lockfile.Node{
		Key: keyOf(importers, importer, e.Key), Parent: parent, Raw: []byte(e.Text()), Data: x,
	}
	x.name = e.Key
	switch {
	case e.Item:
		return nil, fmt.Errorf("line %d: a list, expected keys", e.Line)
	case group == specifiers:
		n.Key = keyOf(importers, importer, "specifier of "+e.Key)
		x.spec, _ = yamltext.Unquote(e.Val)
		n.Version = x.spec
		return n, nil
	case p.own:
		x.ref, _ = yamltext.Unquote(e.Val)
	default:
		list, err := e.Inner()
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			switch m.Key {
			case "specifier":
				x.spec, _ = yamltext.Unquote(m.Val)
			case "version":
				x.ref, _ = yamltext.Unquote(m.Val)
			}
		}
	}
	if x.ref == "" {
		return nil, fmt.Errorf("line %d: %s has no version", e.Line, yamltext.Short(e.Key))
	}
	x.to = p.target(x.name, x.ref)
	n.Name, n.Version, n.Root = e.Key, x.ref, true
	if x.to != "" {
		id := p.parse(x.to)
		n.Version = id.version
		kind := groups[group]
		n.Edges = append(n.Edges,
			lockfile.Edge{Name: e.Key, Req: x.spec, To: p.place(x.to), Kind: kind},
			lockfile.Edge{Name: e.Key, To: keyOf("time", id.bare), Kind: lockfile.Optional})
	}
	return n, nil
}

// tree adds an entry as one node, or, depth levels down, as a head with
// entries of its own. Leaf may complete the nodes.
func tree(doc, like *lockfile.Doc, e yamltext.Entry, prefix, parent string, depth int, leaf func(*lockfile.Node, yamltext.Entry)) error {
	name := e.Key
	if prefix == "" {
		name = "#" + name
	} else {
		name = keyOf(prefix, name)
	}
	whole := e.Val != "" && e.Val[0] != '#' && e.Val != "{}" && e.Val != "[]"
	if depth == 0 || whole || e.Explicit || e.Item {
		n := &lockfile.Node{Key: name, Parent: parent, Raw: []byte(e.Text()), Data: &block{Entry: e}}
		n.Version, _ = yamltext.Unquote(e.Val)
		if e.Body != "" {
			n.Version = ""
		}
		if leaf != nil {
			leaf(n, e)
		}
		return add(doc, like, n)
	}
	list, err := e.Inner()
	if err != nil {
		return err
	}
	if err := add(doc, like, head(e, name, parent, len(list) == 0)); err != nil {
		return err
	}
	for _, c := range list {
		if err := tree(doc, like, c, strings.TrimPrefix(name, "#"), name, depth-1, leaf); err != nil {
			return err
		}
	}
	return nil
}
