package yarn

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// A member is a folder with a package.json that the lockfile is for: the
// project's root, or a workspace.
type member struct {
	dir           string // from the lockfile's folder; "." is the root
	file          string // its manifest
	name, version string
	doc           *lockfile.Doc
}

// A project is what the manifests beside a lockfile say.
type project struct {
	members     []member // the root first; none: it cannot be read
	resolutions []resolution
	berry       bool
}

// A resolution replaces the requirements that others have of a package.
type resolution struct {
	name, rng string // what is installed
	// everywhere: whoever asks for it.
	everywhere bool
	// Berry's: of whom it holds, in which version, and which requirement it
	// replaces; empty: any.
	by, byRange, req string
}

// project reads the manifests. Yarn 1 knows workspaces of the root alone, berry
// those of workspaces, too.
func (y *yarn) project(t lockfile.Tree, lock string) *project {
	p := &project{berry: y.berry}
	dir := path.Dir(lock)
	root := t.Doc(path.Join(dir, "package.json"))
	if root == nil {
		return p
	}
	p.members = []member{newMember(".", path.Join(dir, "package.json"), root)}
	p.resolutions = resolutions(root, y.berry)
	var candidates []string // folders with a manifest
	seen := map[string]bool{".": true}
	for at := 0; at < len(p.members) && (at == 0 || y.berry); at++ {
		globs := workspaces(p.members[at].doc)
		if len(globs) == 0 {
			continue
		}
		if candidates == nil {
			candidates = folders(t, dir)
		}
		for _, c := range candidates {
			rel, ok := below(c, p.members[at].dir)
			if !ok || seen[c] || !matchAny(globs, rel) {
				continue
			}
			file := path.Join(dir, c, "package.json")
			if doc := t.Doc(file); doc != nil {
				seen[c] = true
				p.members = append(p.members, newMember(c, file, doc))
			}
		}
	}
	return p
}

func newMember(dir, file string, doc *lockfile.Doc) member {
	return member{dir: dir, file: file, doc: doc, name: text(doc, "name"), version: text(doc, "version")}
}

// text is a member of a manifest that is a string.
func text(doc *lockfile.Doc, name string) string {
	s, _ := jsontext.String(npm.Member(doc, name))
	return s
}

// folders are those below dir that have a manifest, from dir.
func folders(t lockfile.Tree, dir string) []string {
	var out []string
	for _, p := range t.Paths() {
		if path.Base(p) != "package.json" {
			continue
		}
		rel, ok := below(path.Dir(p), dir)
		if ok && rel != "." && !strings.Contains("/"+rel+"/", "/node_modules/") {
			out = append(out, rel)
		}
	}
	return out
}

// below is a folder as seen from another one that it is in.
func below(p, dir string) (string, bool) {
	if dir == "." || p == dir {
		if p == dir {
			p = "."
		}
		return p, true
	}
	return strings.CutPrefix(p, dir+"/")
}

// workspaces are the patterns of a manifest's workspaces.
func workspaces(doc *lockfile.Doc) []string {
	v := npm.Member(doc, "workspaces")
	if v == nil {
		return nil
	}
	var list []string
	if json.Unmarshal(v, &list) == nil {
		return list
	}
	var object struct{ Packages []string }
	if json.Unmarshal(v, &object) == nil {
		return object.Packages
	}
	return nil
}

// roots are what the manifests lead to, beside berry's entries of workspaces.
// Without any manifest everything is needed, as far as can be seen.
func (y *yarn) roots(d *lockfile.Doc, t lockfile.Tree) []lockfile.Edge {
	p := y.project(t, d.Path)
	if y.berry {
		return p.inForce(d)
	}
	var out []lockfile.Edge
	if len(p.members) == 0 {
		d.Nodes(func(n *lockfile.Node) { out = append(out, lockfile.Edge{Name: n.Name, To: n.Key}) })
		return out
	}
	for i := range p.members {
		out = append(out, p.edges(d, i)...)
	}
	for _, r := range p.resolutions { // yarn 1 locks them whether they are used or not
		out = append(out, p.replaced(d, r)...)
	}
	return out
}

// inForce are the edges to what berry's resolutions install for those that the
// workspaces lead to.
func (p *project) inForce(d *lockfile.Doc) []lockfile.Edge {
	if len(p.resolutions) == 0 {
		return nil
	}
	var out []lockfile.Edge
	used := map[*resolution]bool{}
	seen := map[*lockfile.Node]bool{}
	var queue []*lockfile.Node
	push := func(n *lockfile.Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
	}
	d.Nodes(func(n *lockfile.Node) {
		if n.Root {
			push(n)
		}
	})
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range n.Edges {
			push(d.Target(n, e))
			if r := p.replaces(n, e); r != nil && !used[r] {
				used[r] = true
				for _, e := range p.replaced(d, *r) {
					out = append(out, e)
					push(d.Target(nil, e))
				}
			}
		}
	}
	return out
}

// edges are what a member's manifest asks for, in yarn 1's lockfile.
func (p *project) edges(d *lockfile.Doc, i int) []lockfile.Edge {
	list := classicNeeds(p.members[i].doc)
	for i, e := range list {
		list[i].To = e.Name + "@" + e.Req
		if d.Node(e.Name) != nil { // an old way to write the root's own
			list[i].To = e.Name
		}
	}
	return list
}

// rootEdges are what the root's manifest asks for.
func (p *project) rootEdges(d *lockfile.Doc) []lockfile.Edge {
	if len(p.members) == 0 {
		return nil
	}
	return p.edges(d, 0)
}

// replaced are the edges to what a resolution installs.
func (p *project) replaced(d *lockfile.Doc, r resolution) []lockfile.Edge {
	if !p.berry {
		return []lockfile.Edge{{Name: r.name, Req: r.rng, To: r.name + "@" + r.rng}}
	}
	top := ""
	if len(p.members) > 0 {
		top = p.members[0].name + "@workspace:."
	}
	prefixed := (&entry{meta: metaIn(d)}).prefixed()
	return needs(r.name, r.rng, top, prefixed)
}

// governed are the packages whose descriptors a resolution decides.
func (p *project) governed() map[string]bool {
	out := map[string]bool{}
	for _, r := range p.resolutions {
		out[r.name] = true
	}
	return out
}

// local is the workspace that meets a requirement instead of a package from a
// registry.
func (p *project) local(r npm.Ranges, e lockfile.Edge) bool {
	return slices.ContainsFunc(p.members[min(1, len(p.members)):], func(m member) bool {
		return m.name == e.Name && m.version != "" && !strings.ContainsAny(e.Req, ":/") && r.Meets(e.Name, e.Req, "", m.version)
	})
}

// section is one of a manifest's, with the kind of its edges.
type section struct {
	name string
	kind lockfile.EdgeKind
}

// classicNeeds are a manifest's requirements as yarn 1 reads them: of a name in
// several sections the first that says something, under the first.
func classicNeeds(doc *lockfile.Doc) []lockfile.Edge {
	sections := []section{
		{"optionalDependencies", lockfile.Optional}, {"dependencies", lockfile.Required}, {"devDependencies", lockfile.Dev},
	}
	at := map[string]int{}
	var out []lockfile.Edge
	eachNeed(doc, sections, func(e lockfile.Edge) {
		i, ok := at[e.Name]
		switch {
		case !ok:
			at[e.Name] = len(out)
			out = append(out, e)
		case out[i].Req == "" || out[i].Req == "*":
			out[i].Req = e.Req
		}
	})
	return out
}

// berryNeeds are a manifest's requirements as berry reads them: of a name in
// several sections the last.
func berryNeeds(doc *lockfile.Doc) []lockfile.Edge {
	sections := []section{
		{"dependencies", lockfile.Required}, {"optionalDependencies", lockfile.Optional}, {"devDependencies", lockfile.Dev},
	}
	at := map[string]int{}
	var out []lockfile.Edge
	eachNeed(doc, sections, func(e lockfile.Edge) {
		if i, ok := at[e.Name]; ok {
			out[i] = e
			return
		}
		at[e.Name] = len(out)
		out = append(out, e)
	})
	return out
}

func eachNeed(doc *lockfile.Doc, sections []section, f func(lockfile.Edge)) {
	for _, s := range sections {
		doc.Nodes(func(n *lockfile.Node) {
			if n.Parent == "#"+s.name && n.Direct {
				f(lockfile.Edge{Name: n.Name, Req: n.Version, Kind: s.kind})
			}
		})
	}
}

// resolutions reads the root's.
func resolutions(doc *lockfile.Doc, berry bool) []resolution {
	var out []resolution
	for _, kv := range jsontext.Strings(npm.Member(doc, "resolutions")) {
		parts := splitPath(kv[0])
		if len(parts) == 0 {
			continue
		}
		last := parts[len(parts)-1]
		if !berry {
			all := len(parts) == 1 || len(parts) == 2 && parts[0] == "**"
			out = append(out, resolution{name: last, rng: kv[1], everywhere: all})
			continue
		}
		r := resolution{rng: kv[1]}
		r.name, r.req = descriptorOf(last)
		if len(parts) > 1 {
			r.by, r.byRange = descriptorOf(parts[len(parts)-2])
		}
		r.everywhere = r.by == "" && r.req == ""
		out = append(out, r)
	}
	return out
}

// splitPath takes a pattern such as a/@s/b apart into packages. A slash within
// a range belongs to it.
func splitPath(pattern string) []string {
	var out []string
	scope := ""
	for p := range strings.SplitSeq(pattern, "/") {
		switch {
		case scope == "" && strings.HasPrefix(p, "@"):
			scope = p + "/"
			continue
		case scope == "" && len(out) > 0 && strings.Contains(out[len(out)-1], ":"):
			out[len(out)-1] += "/" + p
			continue
		}
		out = append(out, scope+p)
		scope = ""
	}
	return out
}

// replaces returns the resolution that holds for a requirement of berry's, or nil.
func (p *project) replaces(by *lockfile.Node, e lockfile.Edge) *resolution {
	for i, r := range p.resolutions {
		if r.name != e.Name || r.req != "" && withProtocol(r.req) != withProtocol(e.Req) {
			continue
		}
		if r.by != "" {
			name, ref := descriptorOf(entryOf(by).at)
			if r.by != name || r.byRange != "" && withProtocol(r.byRange) != ref {
				continue
			}
		}
		return &p.resolutions[i]
	}
	return nil
}
