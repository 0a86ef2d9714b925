package npmlock

import (
	"bytes"
	"path"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// checker collects what npm ci would refuse.
type checker struct {
	modules.Judge
	doc  *lockfile.Doc
	tree lockfile.Tree
	out  []lockfile.Problem
	mine map[*lockfile.Node]bool // lazily: see isMine
}

// check validates a lockfile: against its own edges, and against the manifests,
// as npm ci does. Soft is what that lets pass.
func (l *lock) check(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	c := &checker{Judge: l.judge(d, t), doc: d, tree: t}
	if l.version == 1 {
		if m := modules.Manifest(d, t, ""); m != nil {
			project := &lockfile.Node{Root: true, Data: &pkg{}}
			for _, e := range npm.Needs(m) {
				c.edge(project, e, lockfile.OutOfSync)
			}
		}
	}
	reached := d.Reached(t)
	d.Nodes(func(n *lockfile.Node) {
		p := data(n)
		switch {
		case n.Name == "" || p.Shrinkwrap || modules.Outside(n.Key):
		case !reached[n]:
			c.out = append(c.out, lockfile.Problem{Code: lockfile.Orphan, Path: d.Path, Key: n.Key, Name: n.Key, Have: n.Version, Soft: true})
		case n.Root && !p.Link:
			c.folder(n)
		default:
			for _, e := range n.Edges {
				if !p.Bundles[""] && !p.Bundles[e.Name] {
					c.edge(n, e, lockfile.Unmet)
				}
			}
		}
	})
	c.lines()
	return c.out
}

// edge checks one need. Code is what it is called when it is not met.
func (c *checker) edge(n *lockfile.Node, e lockfile.Edge, code lockfile.Code) {
	t := modules.Target(c.doc, n, e)
	if c.Met(c.doc, n, e, t) || t != nil && modules.Owner(c.doc, t.Key) != "" && !data(t).Bundled {
		return
	}
	p := lockfile.Problem{Code: code, Path: c.doc.Path, Key: n.Key, Name: e.Name, Req: c.Effective(n, e)}
	if n.Key != "" {
		p.By = n.Name + "@" + n.Version
	}
	switch {
	case e.Name == "":
		p.Code, p.Name, p.Detail = lockfile.Missing, e.To, n.Key+" links to "+e.To+", which is not there"
	case t == nil && code == lockfile.Unmet:
		p.Code = lockfile.Missing
	case t != nil:
		p.Have = modules.Linked(c.doc, t).Version
		if modules.IsPeer(e) {
			p.Code = lockfile.PeerUnmet
			p.Soft = e.Kind == lockfile.PeerOptional || !c.isMine(n)
		}
	}
	c.out = append(c.out, p)
}

// isMine reports whether a package was asked for by the project, or is a peer
// of such a one: only then npm refuses when its peers do not fit.
func (c *checker) isMine(n *lockfile.Node) bool {
	if n.Root {
		return true
	}
	if c.mine == nil {
		c.mine = map[*lockfile.Node]bool{}
		var queue []*lockfile.Node
		push := func(n *lockfile.Node) {
			if n != nil && !c.mine[n] {
				c.mine[n] = true
				queue = append(queue, n)
			}
		}
		c.doc.Nodes(func(n *lockfile.Node) {
			if n.Root {
				for _, e := range n.Edges {
					push(modules.Target(c.doc, n, e))
				}
			}
		})
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			for _, e := range n.Edges {
				if modules.IsPeer(e) {
					push(modules.Target(c.doc, n, e))
				}
			}
		}
	}
	return c.mine[n]
}

// folder checks the project itself, or a workspace. Its needs are those of its
// manifest; that the lockfile's copy of them reads otherwise is no more than untidy.
func (c *checker) folder(n *lockfile.Node) {
	m := modules.Manifest(c.doc, c.tree, n.Key)
	if m == nil {
		for _, e := range n.Edges {
			c.edge(n, e, lockfile.Unmet)
		}
		return
	}
	file := path.Join(path.Dir(c.doc.Path), n.Key, "package.json")
	locked := make(map[string]lockfile.Edge, len(n.Edges))
	for _, e := range n.Edges {
		locked[e.Name] = e
	}
	for _, e := range npm.Needs(m) {
		before := len(c.out)
		have, ok := locked[e.Name]
		same := ok && have.Req == e.Req
		code := lockfile.Unmet
		if !same {
			code = lockfile.OutOfSync
		}
		c.edge(n, e, code)
		if !same && len(c.out) == before && !(c.IgnoresPeers() && modules.IsPeer(e)) {
			c.out = append(c.out, lockfile.Problem{
				Code: lockfile.OutOfSync, Path: c.doc.Path, Key: n.Key, Name: e.Name, Req: e.Req, Have: have.Req, Soft: true,
				Detail: file + " asks for " + e.Name + "@" + e.Req + ", the lockfile was made for " + orNone(have.Req),
			})
		}
		delete(locked, e.Name)
	}
	for _, e := range n.Edges {
		if _, ok := locked[e.Name]; ok {
			c.out = append(c.out, lockfile.Problem{
				Code: lockfile.OutOfSync, Path: c.doc.Path, Key: n.Key, Name: e.Name, Have: e.Req, Soft: true,
				Detail: "the lockfile was made for " + e.Name + "@" + e.Req + ", which " + file + " does not ask for",
			})
		}
	}
	if n.Key == "" {
		c.direct(m)
	}
}

// direct checks that overrides leave alone what the project itself asks for:
// npm refuses the manifest otherwise.
func (c *checker) direct(m *lockfile.Doc) {
	for _, e := range npm.Needs(m) {
		if over := c.Overridden(e); over != "" && over != e.Req {
			c.out = append(c.out, lockfile.Problem{
				Code: lockfile.OutOfSync, Path: c.doc.Path, Name: e.Name, Req: e.Req, Have: over,
				Detail: "package.json asks for " + e.Name + "@" + e.Req + " and overrides it with " + over,
			})
		}
	}
}

// lines finds where the entries concerned stand in the file.
func (c *checker) lines() {
	if len(c.out) == 0 {
		return
	}
	e := newEncoder(c.doc)
	e.At = make(map[string]int, len(c.out))
	for _, p := range c.out {
		e.At[p.Key] = -1
	}
	text := e.File(syntax(c.doc).frame)
	line, from := 1, 0
	lineOf := func(at int) int { // mostly asked in order
		if at < from {
			line, from = 1, 0
		}
		line, from = line+bytes.Count(text[from:at], []byte{'\n'}), at
		return line
	}
	for i := range c.out {
		p := &c.out[i]
		n := c.doc.Node(p.Key)
		at := e.At[p.Key]
		if n == nil || at < 0 {
			continue
		}
		in := data(n).member.KeyAt
		if need := bytes.Index(n.Raw, []byte(jsontext.Quote(p.Name)+":")); need > 0 && nestOf(n) == nil {
			in = need
		}
		p.Line = lineOf(min(at+in, len(text)))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
