package pnpm

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

// checker validates one lockfile.
type checker struct {
	rules
	graph
	tree lockfile.Tree
	out  []lockfile.Problem
	// replaced are names whose requirements an override replaces.
	replaced map[string]bool
}

// check reports what pnpm refuses under --frozen-lockfile, and, softly, what
// it tolerates: orphans and peers.
func (r rules) check(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	c := &checker{rules: r, graph: graphOf(d), tree: t, replaced: map[string]bool{}}
	for _, s := range []string{"overrides"} {
		for selector := range section(d, s) {
			c.replaced[target(selector)] = true
		}
	}
	c.edges()
	c.peers()
	c.orphans()
	if t == nil {
		return c.out
	}
	c.manifests()
	c.catalogs()
	c.overrides()
	return c.out
}

func (c *checker) report(p lockfile.Problem) {
	p.Path = c.Path
	c.out = append(c.out, p)
}

// target is the package that an override's selector speaks of: "b" for "a@1>b@2".
func target(selector string) string {
	if i := strings.LastIndexByte(selector, '>'); i > 0 && i+1 < len(selector) && !strings.ContainsAny(selector[i+1:i+2], "=0123456789 ") {
		selector = selector[i+1:]
	}
	if at := strings.Index(selector[min(1, len(selector)):], "@"); at >= 0 {
		selector = selector[:at+1]
	}
	return selector
}

// by names a dependent for people.
func by(n *lockfile.Node) string {
	if x := needOf(n); x != nil {
		if x.importer == root {
			return ""
		}
		return x.importer
	}
	return n.Name + "@" + n.Version
}

// edges looks whether everything that is needed is there, and is what was
// asked for.
func (c *checker) edges() {
	c.Nodes(func(n *lockfile.Node) {
		for _, e := range n.Edges {
			if strings.HasPrefix(e.To, "time"+arrow) {
				continue
			}
			if c.Node(e.To) == nil {
				req := e.Req
				if x := needOf(n); x != nil {
					req = x.ref
				}
				c.report(lockfile.Problem{Code: lockfile.Missing, Key: n.Key, By: by(n), Name: e.Name, Req: req})
			}
		}
		x := needOf(n)
		if x == nil || x.to == "" {
			return
		}
		spec := c.spec(x)
		if catalog, ok := strings.CutPrefix(spec, "catalog:"); ok {
			if spec = c.catalogSpec(catalog, x.name); spec == "" {
				c.report(lockfile.Problem{
					Code: lockfile.OutOfSync, Key: n.Key, By: by(n), Name: x.name, Req: x.spec,
					Detail: x.name + " is asked for by a catalog, which the lockfile does not have",
				})
			}
		}
		if spec != "" && !c.Meets(x.name, spec, c.parse(x.to).name, n.Version) {
			c.report(lockfile.Problem{Code: lockfile.Unmet, Key: n.Key, By: by(n), Name: x.name, Req: spec, Have: n.Version})
		}
	})
}

// spec is the requirement that the lockfile holds for an importer's entry.
func (c *checker) spec(x *need) string {
	if !c.own {
		return x.spec
	}
	if s := needOf(c.Node(keyOf(importers, x.importer, "specifier of "+x.name))); s != nil {
		return s.spec
	}
	return ""
}

func (c *checker) catalogSpec(catalog, name string) string {
	if catalog == "" {
		catalog = "default"
	}
	n := c.Node(keyOf("catalogs", catalog, name))
	if n == nil {
		return ""
	}
	for _, m := range blockOf(n).Entry.Inside() {
		if m.Key == "specifier" {
			v, _ := yamltext.Unquote(m.Val)
			return v
		}
	}
	return ""
}

// peers reports peers in a version that the package refuses, and packages
// locked for other peers than their dependents provide.
func (c *checker) peers() {
	c.Nodes(func(n *lockfile.Node) {
		x := packOf(n)
		if x == nil || !c.installed(n) {
			return
		}
		declared := peersOf(c.Doc, x)
		for _, dp := range x.deps {
			p, ok := declared[dp.name]
			if !ok || dp.to == "" {
				continue
			}
			have := c.parse(dp.to)
			req := strings.TrimPrefix(p.req, "workspace:")
			if have.name == dp.name && !c.Meets(dp.name, req, have.name, have.version) {
				c.report(lockfile.Problem{Code: lockfile.PeerUnmet, Key: n.Key, By: by(n), Name: dp.name, Req: req, Have: have.version, Soft: true})
			}
		}
	})
	for _, s := range c.stales() {
		if s.want == "" { // pnpm gives dependents a package with more peers than they have, to have one less
			continue
		}
		c.report(lockfile.Problem{
			Code: lockfile.OutOfSync, Key: s.to.Key, By: by(s.by), Name: s.to.Name, Req: s.peer + "@" + s.want, Have: s.have, Soft: true,
			Detail: s.String(),
		})
	}
}

func (c *checker) orphans() {
	reached := c.Reached(c.tree)
	c.Nodes(func(n *lockfile.Node) {
		if packOf(n) != nil && !reached[n] {
			c.report(lockfile.Problem{Code: lockfile.Orphan, Key: n.Key, Name: n.Name, Have: n.Version, Soft: true})
		}
	})
}

// manifests compares what the lockfile was made for with the manifests.
func (c *checker) manifests() {
	locked := map[string]map[string]*need{}
	c.Nodes(func(n *lockfile.Node) {
		if blockOf(n).holds && (n.Parent == "#"+importers || n.Key == keyOf(importers, root, "#"+specifiers)) {
			locked[strings.TrimPrefix(n.Key, importers+arrow)] = map[string]*need{}
		}
	})
	delete(locked, keyOf(root, "#"+specifiers))
	c.Nodes(func(n *lockfile.Node) {
		if x := needOf(n); x != nil && x.group != specifiers {
			if locked[x.importer] == nil {
				locked[x.importer] = map[string]*need{}
			}
			locked[x.importer][x.name] = x
		}
	})
	peers := c.setting("autoInstallPeers")
	links := c.setting("excludeLinksFromLockfile")
	// A .pnpmfile.cjs may change what the manifests ask for.
	soft := c.Node("#pnpmfileChecksum") != nil
	for _, importer := range slices.Sorted(maps.Keys(locked)) {
		file := manifestOf(c.Path, importer)
		m := c.tree.Doc(file)
		if m == nil {
			continue
		}
		dir := importer
		if dir == root {
			dir = ""
		}
		wants := asks(m, peers)
		say := func(name, want, have string) {
			c.report(lockfile.Problem{
				Code: lockfile.OutOfSync, Key: keyOf(importers, importer, name), By: dir, Name: name, Req: want, Have: have, Soft: soft,
				Detail: file + " asks for " + name + "@" + orNone(want) + ", the lockfile was made for " + orNone(have),
			})
		}
		for _, name := range slices.Sorted(maps.Keys(wants)) {
			want, x := wants[name], locked[importer][name]
			switch {
			case c.replaced[name], links && strings.HasPrefix(want.req, "link:"), c.ignored(name, want):
			case x == nil:
				say(name, want.req, "")
			case c.spec(x) != want.req:
				say(name, want.req, c.spec(x))
			case x.group != want.group:
				say(name, want.group, x.group)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(locked[importer])) {
			if _, ok := wants[name]; !ok && c.spec(locked[importer][name]) != "" {
				say(name, "", c.spec(locked[importer][name]))
			}
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (c *checker) setting(name string) bool {
	n := c.Node(keyOf("settings", name))
	return n != nil && n.Version == "true"
}

// ignored reports whether the project leaves an optional dependency out.
func (c *checker) ignored(name string, a ask) bool {
	return a.group == "optionalDependencies" && c.Node("#ignoredOptionalDependencies") != nil &&
		c.Node(keyOf("ignoredOptionalDependencies", name)) != nil
}

func (c *checker) workspace() *lockfile.Doc {
	return c.tree.Doc(path.Join(path.Dir(c.Path), "pnpm-workspace.yaml"))
}

// catalogs compares the catalogs that the lockfile was made for with the workspace's.
func (c *checker) catalogs() {
	w := c.workspace()
	if w == nil {
		return
	}
	now := catalogs(w)
	c.Nodes(func(n *lockfile.Node) {
		catalog, ok := strings.CutPrefix(n.Parent, "catalogs"+arrow)
		if !ok {
			return
		}
		name := blockOf(n).Key
		was, want := c.catalogSpec(catalog, name), now[[2]string{catalog, name}]
		if was != want {
			c.report(lockfile.Problem{
				Code: lockfile.OutOfSync, Key: n.Key, Name: name, Req: want, Have: was,
				Detail: "the catalog " + catalog + " asks for " + name + "@" + orNone(want) + ", the lockfile was made for " + orNone(was),
			})
		}
	})
}

// overrides compares the overrides that the lockfile was made for with the
// project's: those of the workspace file or, before pnpm 10, of the manifest.
func (c *checker) overrides() {
	w, m := c.workspace(), c.tree.Doc(manifestOf(c.Path, root))
	if m == nil {
		return
	}
	locked, inFile := section(c.Doc, "overrides"), section(w, "overrides")
	inManifest, ok := manifestOverrides(m)
	if !ok {
		return
	}
	both := maps.Clone(inManifest)
	maps.Copy(both, inFile)
	for _, want := range []map[string]string{inManifest, inFile, both} {
		if sameOverrides(locked, want) {
			return
		}
	}
	for _, k := range slices.Sorted(maps.Keys(both)) {
		if have, ok := locked[k]; !ok || !sameOverride(have, both[k]) {
			c.outOfSync(k, both[k], have)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(locked)) {
		if _, ok := both[k]; !ok {
			c.outOfSync(k, "", locked[k])
		}
	}
}

func (c *checker) outOfSync(selector, want, have string) {
	c.report(lockfile.Problem{
		Code: lockfile.OutOfSync, Key: keyOf("overrides", selector), Name: selector, Req: want, Have: have,
		Detail: fmt.Sprintf("the project overrides %s with %s, the lockfile was made for %s", selector, orNone(want), orNone(have)),
	})
}

// manifestOverrides are the overrides of package.json; false when they are not
// plain text.
func manifestOverrides(m *lockfile.Doc) (map[string]string, bool) {
	out := map[string]string{}
	if v := npm.Member(m, "resolutions"); v != nil {
		if json.Unmarshal(v, &out) != nil {
			return nil, false
		}
	}
	if v := npm.Member(m, "pnpm"); v != nil {
		var p struct{ Overrides map[string]string }
		if json.Unmarshal(v, &p) != nil {
			return nil, false
		}
		maps.Copy(out, p.Overrides)
	}
	return out, true
}

func sameOverrides(locked, want map[string]string) bool {
	return maps.EqualFunc(locked, want, sameOverride)
}

// sameOverride: what refers to a requirement elsewhere is taken for met.
func sameOverride(locked, want string) bool {
	return locked == want || strings.HasPrefix(want, "$") || strings.HasPrefix(want, "catalog:")
}
