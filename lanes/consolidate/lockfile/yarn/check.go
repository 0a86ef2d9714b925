package yarn

import (
	"bytes"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// check validates a lockfile: by itself, and against the manifests.
func (y *yarn) check(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	c := &checker{yarn: y, d: d, project: y.project(t, d.Path)}
	c.tool(t)
	if y.berry {
		c.workspaces()
		c.duplicates()
	} else {
		c.manifests()
	}
	c.entries(d.Reached(t))
	return c.out
}

type checker struct {
	*yarn
	*project
	d   *lockfile.Doc
	out []lockfile.Problem
}

func (c *checker) add(p lockfile.Problem) {
	p.Path = c.d.Path
	c.out = append(c.out, p)
}

// tool finds a lockfile that the project's yarn does not read: berry would
// write one of yarn 1 anew, and yarn 1 takes one of berry's for empty.
func (c *checker) tool(t lockfile.Tree) {
	if len(c.members) == 0 {
		return
	}
	wanted, named := strings.CutPrefix(text(c.members[0].doc, "packageManager"), "yarn@")
	first := strings.HasPrefix(wanted, "1.") || strings.HasPrefix(wanted, "0.")
	rc, ok := t.Read(path.Join(path.Dir(c.d.Path), ".yarnrc.yml"))
	switch {
	case c.berry && named && first:
		c.add(lockfile.Problem{Code: lockfile.OutOfSync, Detail: "the lockfile is of yarn 2 or later, and the project is for yarn 1"})
	case !c.berry && (named && !first || !named && ok && bytes.Contains(rc, []byte("yarnPath:"))):
		c.add(lockfile.Problem{Code: lockfile.OutOfSync, Detail: "the lockfile is of yarn 1, and the project is for yarn 2 or later"})
	}
}

// manifests compares yarn 1's lockfile with what the manifests ask for.
func (c *checker) manifests() {
	for i, m := range c.members {
		by := ""
		if i > 0 {
			by = m.name + "@" + m.version
		}
		for _, e := range c.edges(c.d, i) {
			if c.local(c.Ranges, e) || i > 0 && c.overridden(e) {
				continue
			}
			c.met(by, e.To, e, c.d.Node(e.To))
		}
	}
	c.forced()
}

// forced looks for what yarn 1's resolutions install. Their descriptors of
// others need not be locked.
func (c *checker) forced() {
	if len(c.resolutions) == 0 {
		return
	}
	locked := map[string]bool{}
	c.d.Nodes(func(n *lockfile.Node) { locked[n.Name] = true })
	for _, r := range c.resolutions {
		for _, e := range c.replaced(c.d, r) {
			if locked[r.name] {
				c.met("", e.To, e, c.d.Node(e.To))
			}
		}
	}
}

// overridden reports whether a resolution of yarn 1's may hold for an edge.
func (c *checker) overridden(e lockfile.Edge) bool {
	for _, r := range c.resolutions {
		if r.name == e.Name {
			return true
		}
	}
	return false
}

// met reports an edge that nothing meets.
func (c *checker) met(by, key string, e lockfile.Edge, to *lockfile.Node) {
	p := lockfile.Problem{Code: lockfile.Missing, Key: key, By: by, Name: e.Name, Req: e.Req}
	if to != nil {
		if to.Version == "" || to.Version == localVersion || c.Meets(e.Name, e.Req, "", to.Version) {
			return
		}
		p.Code, p.Have = lockfile.Unmet, to.Version
	}
	c.add(p)
}

// entries checks what each entry needs, and that something needs it.
func (c *checker) entries(reached map[*lockfile.Node]bool) {
	done := map[*entry]bool{}
	c.d.Nodes(func(n *lockfile.Node) {
		if n.Name == "" {
			return
		}
		if !reached[n] {
			// Yarn 1 lets it be. Berry would remove it, unless something that the
			// file does not tell of needs it: an extension of a package, which yarn
			// brings with it or .yarnrc.yml has, or a catalog.
			c.add(lockfile.Problem{Code: lockfile.Orphan, Key: n.Key, Name: n.Name, Have: n.Version, Soft: true})
			return
		}
		if e := entryOf(n); !done[e] || c.berry && patched(n.Key) != "" {
			done[e] = true
			c.needsOf(n)
		}
	})
}

func (c *checker) needsOf(n *lockfile.Node) {
	by := n.Name + "@" + n.Version
	for _, e := range n.Edges {
		to := c.d.Target(n, e)
		switch {
		case to == nil && (e.Kind == lockfile.Optional || strings.HasPrefix(e.Req, "catalog:")):
			// What yarn adds is another thing in each release, and a catalog stands
			// in another file.
		case c.berry:
			if r := c.replaces(n, e); r != nil {
				for _, e := range c.replaced(c.d, *r)[:1] {
					if c.d.Target(nil, e) == nil {
						c.met(by, n.Key, e, nil)
					}
				}
				continue
			}
			c.met(by, n.Key, e, to)
		case to == nil && c.local(c.Ranges, e), c.overridden(e):
		default:
			c.met(by, n.Key, e, to)
		}
	}
	if c.berry {
		c.peers(n)
	}
}

// peers compares what an entry's dependencies want beside them with what it
// brings. Yarn only warns.
func (c *checker) peers(n *lockfile.Node) {
	beside := map[string]*lockfile.Node{}
	for _, e := range n.Edges {
		if to := c.d.Target(n, e); to != nil && beside[e.Name] == nil {
			beside[e.Name] = to
		}
	}
	for _, e := range n.Edges {
		from := c.d.Target(n, e)
		if from == nil || from != beside[e.Name] {
			continue
		}
		for _, p := range entryOf(from).pairs("peerDependencies") {
			to := beside[p[0]]
			if to == nil || to.Version == "" || to.Version == localVersion || c.Meets(p[0], p[1], "", to.Version) {
				continue
			}
			c.add(lockfile.Problem{
				Code: lockfile.PeerUnmet, Key: from.Key, By: from.Name + "@" + from.Version,
				Name: p[0], Req: p[1], Have: to.Version, Soft: true,
			})
		}
	}
}

// duplicates finds what berry would write as one block.
func (c *checker) duplicates() {
	first := map[string]*group{}
	for _, g := range c.groups(c.d) {
		at := entryOf(g.nodes[0]).at
		if at == "" {
			continue
		}
		if first[at] == nil {
			first[at] = g
			continue
		}
		c.add(lockfile.Problem{
			Code: lockfile.Duplicate, Key: g.keys[0], Name: g.nodes[0].Name, Have: g.nodes[0].Version,
			Detail: at + " has two entries, of which yarn writes one",
		})
	}
}

// workspaces compares the entries of workspaces with their manifests.
func (c *checker) workspaces() {
	if len(c.members) == 0 {
		return
	}
	entries := map[string]*lockfile.Node{}
	c.d.Nodes(func(n *lockfile.Node) {
		if !n.Root || n.Name == "" {
			return
		}
		if dir, ok := workspaceOf(entryOf(n)); ok && n.Key == entryOf(n).at {
			entries[path.Clean(dir)] = n
		}
	})
	for _, m := range c.members {
		n := entries[m.dir]
		delete(entries, m.dir)
		if n == nil || m.name != "" && m.name != n.Name {
			c.add(lockfile.Problem{
				Code: lockfile.OutOfSync, Key: m.name + "@workspace:" + m.dir, Name: m.name,
				Detail: "the lockfile has no entry for the workspace " + m.name + " of " + m.file,
			})
			continue
		}
		c.inSync(m, n, "dependencies", berryNeeds(m.doc))
		var peers []lockfile.Edge
		eachNeed(m.doc, []section{{"peerDependencies", lockfile.Peer}}, func(e lockfile.Edge) { peers = append(peers, e) })
		c.inSync(m, n, "peerDependencies", peers)
	}
	c.d.Nodes(func(n *lockfile.Node) {
		if n.Name == "" {
			return
		}
		if dir, ok := workspaceOf(entryOf(n)); ok && entries[path.Clean(dir)] == n {
			c.add(lockfile.Problem{
				Code: lockfile.OutOfSync, Key: n.Key, Name: n.Name,
				Detail: "the lockfile has an entry for " + n.Key + ", which is no workspace",
			})
		}
	})
}

// inSync compares a section of a workspace's entry with what its manifest says.
func (c *checker) inSync(m member, n *lockfile.Node, section string, want []lockfile.Edge) {
	e := entryOf(n)
	locked := map[string]string{}
	for _, p := range e.pairs(section) {
		locked[p[0]] = p[1]
	}
	say := func(name, req, have, detail string) {
		c.add(lockfile.Problem{Code: lockfile.OutOfSync, Key: n.Key, Name: name, Req: req, Have: have, Detail: detail})
	}
	for _, w := range want {
		req := w.Req
		if section == "dependencies" && e.prefixed() {
			req = withProtocol(req)
		}
		have, ok := locked[w.Name]
		delete(locked, w.Name)
		switch {
		case !ok:
			say(w.Name, w.Req, "", m.file+" asks for "+w.Name+"@"+w.Req+", which the lockfile does not know of")
		case have != req:
			say(w.Name, w.Req, have, m.file+" asks for "+w.Name+"@"+w.Req+", the lockfile was made for "+have)
		}
	}
	for _, p := range e.pairs(section) {
		if _, left := locked[p[0]]; left {
			say(p[0], "", p[1], m.file+" does not ask for "+p[0]+"@"+p[1]+" any more")
		}
	}
}
