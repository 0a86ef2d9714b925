package cargo

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// checkLock validates a Cargo.lock: what Cargo would refuse with --locked, as far
// as it can be seen without the registry.
func checkLock(r *version.Rules, d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	return append(checkEntries(d, t), checkProject(r, d, t)...)
}

// checkEntries looks at the lockfile by itself.
func checkEntries(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	var out []lockfile.Problem
	reached := d.Reached(t)
	slots := map[string]string{}
	d.Nodes(func(n *lockfile.Node) {
		c, ok := n.Data.(*crate)
		if !ok {
			return
		}
		by := c.name + "@" + c.version
		for _, e := range n.Edges {
			if d.Node(e.To) == nil {
				name, req, _ := strings.Cut(strings.TrimSuffix(e.To, " ?"), " ")
				req = cmp.Or(req, "*")
				out = append(out, lockfile.Problem{Code: lockfile.Missing, Path: d.Path, Key: n.Key, By: by, Name: name, Req: req})
			}
		}
		if !reached[n] {
			out = append(out, lockfile.Problem{Code: lockfile.Orphan, Path: d.Path, Key: n.Key, Name: c.name, Have: c.version})
		}
		s := c.name + " " + slot(c.version) + " " + place(c.source)
		if other, ok := slots[s]; ok && c.source != "" {
			out = append(out, lockfile.Problem{
				Code: lockfile.Duplicate, Path: d.Path, Key: n.Key, Name: c.name, Have: c.version,
				Detail: c.name + " is locked at " + other + " and at " + c.version + ", of which Cargo allows one",
			})
		}
		slots[s] = c.version
	})
	return out
}

// checkProject compares the lockfile with the manifests that it is for.
func checkProject(r *version.Rules, d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	p := readProject(path.Dir(d.Path), t)
	if p == nil {
		return nil
	}
	c := checker{r: r, d: d, p: p, own: map[string]*lockfile.Node{}, byName: map[string][]*lockfile.Node{}, told: map[[2]string]bool{}}
	d.Nodes(func(n *lockfile.Node) {
		x, ok := n.Data.(*crate)
		if !ok {
			return
		}
		c.byName[x.name] = append(c.byName[x.name], n)
		if x.source == "" {
			c.own[x.name] = n
		}
	})
	for _, group := range []struct {
		of     map[string]*manifest
		member bool
	}{{p.members, true}, {p.around, false}} {
		for _, file := range slices.Sorted(maps.Keys(group.of)) {
			c.manifest(group.of[file], group.member)
		}
	}
	return c.out
}

type checker struct {
	r   *version.Rules
	d   *lockfile.Doc
	p   *project
	own map[string]*lockfile.Node // packages of folders, by name
	// byName are all packages.
	byName map[string][]*lockfile.Node
	told   map[[2]string]bool // dependent's key and name of what it lacks
	out    []lockfile.Problem
}

func (c *checker) add(p lockfile.Problem) {
	p.Path = c.d.Path
	c.out = append(c.out, p)
}

// manifest checks one package. Of a member Cargo locks every dependency; of a
// package outside neither those of tests nor, unless a feature asks, optional ones.
func (c *checker) manifest(m *manifest, member bool) {
	if m.name == "" {
		return
	}
	n := c.own[m.name]
	if n == nil {
		if member {
			c.add(lockfile.Problem{
				Code: lockfile.OutOfSync, Name: m.name, Req: m.version,
				Detail: m.path + " is a member of the workspace, which the lockfile does not have",
			})
		}
		return
	}
	want := m.version
	if m.inherits {
		want = c.p.root.sharedVersion
	}
	if want != "" && want != n.Version {
		c.add(lockfile.Problem{
			Code: lockfile.OutOfSync, Key: n.Key, Name: m.name, Req: want, Have: n.Version,
			Detail: m.path + " is at version " + want + ", the lockfile has " + n.Version,
		})
	}
	asked := map[string][]need{} // by the crate's name
	leads := map[string][]*lockfile.Node{}
	for _, e := range n.Edges {
		if to := c.d.Node(e.To); to != nil {
			leads[to.Name] = append(leads[to.Name], to)
		}
	}
	for _, dep := range m.needs {
		if dep.shared {
			shared, ok := c.p.root.shared[dep.key]
			if !ok {
				return // the manifest's own problem
			}
			shared.optional, shared.dev = dep.optional, dep.dev
			dep = shared
		}
		asked[dep.name] = append(asked[dep.name], dep)
		if member || !dep.optional && !dep.dev {
			c.need(m, n, dep, leads[dep.name])
		}
	}
	if c.p.root.patched {
		return
	}
	for _, to := range c.spare(n, asked) {
		if !c.told[[2]string{n.Key, to.Name}] {
			c.add(lockfile.Problem{
				Code: lockfile.OutOfSync, Key: n.Key, By: m.name + "@" + n.Version, Name: to.Name, Have: to.Version,
				Detail: "the lockfile has " + m.name + " need " + to.Name + "@" + to.Version + ", which " + m.path + " does not ask for",
			})
		}
	}
}

// spare are the crates that n leads to and that no dependency is left for: each
// dependency leads to one crate, so that one for each is looked for.
func (c *checker) spare(n *lockfile.Node, asked map[string][]need) []*lockfile.Node {
	var out []*lockfile.Node
	taken := map[*need]*lockfile.Node{}
	for _, e := range n.Edges {
		to := c.d.Node(e.To)
		if to != nil && !c.assign(to, asked, taken, map[*need]bool{}) {
			out = append(out, to)
		}
	}
	return out
}

// assign finds a dependency for a crate, by moving others if it must.
func (c *checker) assign(to *lockfile.Node, asked map[string][]need, taken map[*need]*lockfile.Node, seen map[*need]bool) bool {
	deps := asked[to.Name]
	for i := range deps {
		dep := &deps[i]
		if seen[dep] || !c.meets(to, *dep) {
			continue
		}
		seen[dep] = true
		if old := taken[dep]; old == nil || c.assign(old, asked, taken, seen) {
			taken[dep] = to
			return true
		}
	}
	return false
}

// meets reports whether a locked crate is what a dependency asks for.
func (c *checker) meets(to *lockfile.Node, dep need) bool {
	return to.Name == dep.name && c.from(to, dep) && c.satisfies(dep.req, to.Version)
}

func (c *checker) satisfies(req, ver string) bool {
	if req == "" {
		return true
	}
	ok, known := c.r.Satisfies(req, ver)
	return ok || !known
}

// from reports whether a locked crate can come from where a dependency says.
func (c *checker) from(to *lockfile.Node, dep need) bool {
	source := to.Data.(*crate).source
	switch {
	case c.p.root.patched:
		return true
	case dep.path != "" && !dep.git:
		return source == ""
	case dep.git:
		return strings.HasPrefix(source, "git+")
	}
	return source != "" && !strings.HasPrefix(source, "git+")
}

// need reports a dependency that nothing meets of what n leads to: locked at a
// version that it refuses, locked but for others, or not at all.
func (c *checker) need(m *manifest, n *lockfile.Node, dep need, leads []*lockfile.Node) {
	meets := func(to *lockfile.Node) bool { return c.meets(to, dep) }
	if slices.ContainsFunc(leads, meets) || dep.name == m.name { // its own tests may need itself
		return
	}
	p := lockfile.Problem{Code: lockfile.Missing, Key: n.Key, By: m.name + "@" + n.Version, Name: dep.name, Req: cmp.Or(dep.req, "*")}
	switch {
	case len(leads) > 0:
		p.Code, p.Have = lockfile.Unmet, leads[len(leads)-1].Version
	case slices.ContainsFunc(c.byName[dep.name], meets):
		p.Code = lockfile.OutOfSync
		p.Detail = m.path + " asks for " + dep.name + "@" + p.Req + ", the lockfile was made without"
	}
	c.told[[2]string{n.Key, dep.name}] = true
	c.add(p)
}

// checkManifest finds what a manifest takes from its workspace and what is not
// there.
func checkManifest(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	m := readManifest(d.Path, t)
	if m == nil || !slices.ContainsFunc(m.needs, func(n need) bool { return n.shared }) {
		return nil
	}
	root := workspaceOf(m, t)
	if root == nil {
		return nil
	}
	var out []lockfile.Problem
	for _, n := range m.needs {
		if _, ok := root.shared[n.key]; n.shared && !ok {
			out = append(out, lockfile.Problem{
				Code: lockfile.Missing, Path: d.Path, Key: n.key, Name: n.name,
				Detail: d.Path + " takes " + n.key + " from the workspace, and " + root.path + " does not have it",
			})
		}
	}
	return out
}

// workspaceOf finds the manifest of the workspace that a package is in: in the
// nearest folder that has one. Nil: it cannot be told.
func workspaceOf(m *manifest, t lockfile.Tree) *manifest {
	for dir := path.Dir(m.path); ; dir = path.Dir(dir) {
		file := path.Join(dir, manifestFile)
		if root := readManifest(file, t); root != nil && root.workspace {
			return root
		}
		if dir == "." || dir == "/" {
			return nil
		}
	}
}
