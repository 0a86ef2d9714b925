package modules

import (
	"bytes"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// Judge says whether edges are met, by the settings of a project.
type Judge struct {
	npm.Ranges
	overrides map[string][]override
	noPeers   bool // legacy-peer-deps: npm looks at no peers
}

// override replaces the requirement of a name, wherever it stands.
type override struct {
	key   string // of which requirements; "*" for all
	value string
	// below is the package that it holds below; "" everywhere.
	below string
}

// NewJudge reads the settings of the project that a lockfile belongs to.
func NewJudge(r npm.Ranges, d *lockfile.Doc, t lockfile.Tree) Judge {
	j := Judge{Ranges: r}
	if t == nil {
		return j
	}
	if rc, ok := t.Read(path.Join(path.Dir(d.Path), ".npmrc")); ok {
		for line := range bytes.Lines(rc) {
			k, v, _ := strings.Cut(string(line), "=")
			if strings.TrimSpace(k) == "legacy-peer-deps" {
				j.noPeers = strings.TrimSpace(v) == "true"
			}
		}
	}
	m := Manifest(d, t, "")
	if m == nil {
		return j
	}
	if v := npm.Member(m, "overrides"); v != nil {
		j.overrides = map[string][]override{}
		j.read(v, m, "")
	}
	return j
}

// read collects overrides. Those below others hold only there.
func (j *Judge) read(v []byte, m *lockfile.Doc, below string) {
	o, err := jsontext.Parse(v, 0)
	if err != nil {
		return
	}
	for _, x := range o.Members {
		name, key := x.Key, "*"
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			name, key = name[:at], name[at+1:]
		}
		add := func(v []byte) {
			s, ok := jsontext.String(v)
			if !ok {
				return
			}
			if ref, ok := strings.CutPrefix(s, "$"); ok {
				s = requirement(m, ref)
			}
			if s == "" {
				s = key
			}
			j.overrides[name] = append(j.overrides[name], override{key, s, below})
		}
		if x.Value()[0] != '{' {
			add(x.Value())
			continue
		}
		if in, err := jsontext.Parse(x.Value(), 0); err == nil {
			if self, ok := in.Get("."); ok {
				add(self.Value())
			}
		}
		j.read(x.Value(), m, name)
	}
}

// requirement is what a manifest asks of a name, in the order in which npm
// looks up "$name" in overrides.
func requirement(m *lockfile.Doc, name string) string {
	for i := range npm.Sections {
		if n := m.Node(npm.Sections[len(npm.Sections)-1-i].Name + "/" + name); n != nil && n.Version != "" {
			return n.Version
		}
	}
	return ""
}

// Met reports whether what an edge leads to satisfies it. A missing package
// satisfies only an optional peer: npm ci refuses a lockfile without an
// optional dependency, too (npm/cli#4828).
func (j Judge) Met(d *lockfile.Doc, n *lockfile.Node, e lockfile.Edge, t *lockfile.Node) bool {
	if t == nil {
		return e.Kind == lockfile.PeerOptional || j.noPeers && e.Kind == lockfile.Peer
	}
	if e.Name == "" {
		return true
	}
	if IsPeer(e) && !n.Root && Parent(t.Key) == n.Key {
		return false // inside its dependent, a peer is none
	}
	rules := j.overrides[e.Name]
	if len(rules) == 0 || Of(t).Bundled {
		return j.meets(d, n, e, e.Req, t)
	}
	if len(rules) == 1 && rules[0].below == "" && rules[0].key == "*" {
		return j.meets(d, n, e, j.Effective(n, e), t)
	}
	// Which rule holds here only npm's walk through all dependents tells.
	for _, r := range rules {
		if j.meets(d, n, e, r.value, t) {
			return true
		}
	}
	return j.meets(d, n, e, e.Req, t)
}

// Effective is the requirement of an edge with what overrides it in any case.
func (j Judge) Effective(n *lockfile.Node, e lockfile.Edge) string {
	r := j.overrides[e.Name]
	if len(r) == 1 && (r[0].below == "" || r[0].below == NameOf(n.Key)) && r[0].key == "*" && r[0].value != "*" {
		return r[0].value
	}
	return e.Req
}

// Overridden is what replaces a requirement of the project's own in any case;
// "" when nothing does.
func (j Judge) Overridden(e lockfile.Edge) string {
	r := j.overrides[e.Name]
	if len(r) == 1 && r[0].below == "" && r[0].key == "*" && r[0].value != "*" {
		return r[0].value
	}
	return ""
}

// IgnoresPeers reports whether npm looks at no peers here.
func (j Judge) IgnoresPeers() bool { return j.noPeers }

// Manifest is the parsed package.json of a folder of the project, or nil.
func Manifest(d *lockfile.Doc, t lockfile.Tree, folder string) *lockfile.Doc {
	if t == nil {
		return nil
	}
	return t.Doc(path.Join(path.Dir(d.Path), folder, "package.json"))
}

// meets compares a package with a requirement.
func (j Judge) meets(d *lockfile.Doc, n *lockfile.Node, e lockfile.Edge, req string, t *lockfile.Node) bool {
	p := Of(t)
	if p.Link {
		t = Linked(d, t)
		if strings.Contains(req, ":") || t.Version == "" {
			return true
		}
	} else if IsURL(req) {
		for _, from := range []string{p.Resolved, t.Version} {
			if IsURL(from) {
				return from == req || strings.Contains(req, "#")
			}
		}
	}
	name := ""
	if strings.HasPrefix(req, "npm:") {
		name = p.Alias
	}
	if t.Version == "" || j.Meets(e.Name, req, name, t.Version) {
		return true
	}
	accept, ok := Of(n).Accept[e.Name]
	return ok && j.Meets(e.Name, accept, "", t.Version)
}

// IsURL reports whether npm downloads a requirement from this very address.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}
