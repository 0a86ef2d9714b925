package npm

import (
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsondoc"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// Sections are the members of a manifest, and of a package's entry in a
// lockfile, that hold requirements. Of a name in two of them the later one
// counts, as in arborist's loader.
var Sections = [...]struct {
	Name string
	Kind lockfile.EdgeKind
}{
	{"peerDependencies", lockfile.Peer},
	{"dependencies", lockfile.Required},
	{"optionalDependencies", lockfile.Optional},
	{"devDependencies", lockfile.Dev},
}

// IsSection reports whether a member holds requirements.
func IsSection(name string) bool {
	for _, s := range Sections {
		if s.Name == name {
			return true
		}
	}
	return false
}

// Keys: "#scripts" for a member, "dependencies/react" for a requirement.
func manifestFormat(r Ranges) *lockfile.Format {
	return &lockfile.Format{
		Name:      "package.json",
		Ecosystem: Ecosystem,
		Match:     func(p string, _ []byte) bool { return path.Base(p) == "package.json" },
		Parse:     parseManifest,
		Encode:    encodeManifest,
		Compare:   func(a, b *lockfile.Node) (int, bool) { return r.CompareReqs(a.Version, b.Version) },
		Combine:   r.combineManifest,
		Repair:    jsondoc.Restore,
		Less:      NewLess(),
	}
}

func parseManifest(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	p, top, err := jsondoc.Open(content, like)
	if err != nil {
		return nil, err
	}
	for top.Next() {
		if key := string(top.Key()); IsSection(key) && top.IsObject() {
			err = requirements(p, top, key)
		} else {
			m := top.Member()
			err = p.Add(&lockfile.Node{Key: "#" + key, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
				n.Data = m
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
	}
	frame, err := p.Frame(top)
	p.Doc.Syntax = frame
	return p.Doc, err
}

// requirements reads one section of a manifest.
func requirements(p *jsondoc.Parser, top *jsontext.Scanner, section string) error {
	s, end, err := p.Object(top, "#"+section)
	if err != nil {
		return err
	}
	for s.Next() {
		m := s.Member()
		m.Key = string(s.Key())
		err := p.Add(&lockfile.Node{Key: section + "/" + m.Key, Parent: "#" + section, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
			n.Data = m
			if s, ok := jsontext.String(m.Value()); ok {
				n.Name, n.Version, n.Direct = m.Key, s, true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return end()
}

func encodeManifest(d *lockfile.Doc) ([]byte, error) {
	return jsondoc.NewEncoder(d).File(d.Syntax.(jsondoc.Frame)), nil
}

// combineManifest merges a member that holds no requirement, key by key.
func (r Ranges) combineManifest(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	o, okO := ours.Data.(jsontext.Member)
	t, okT := theirs.Data.(jsontext.Member)
	if !okO || !okT {
		return ours, ours.Parent == "" // a section's head: only white space differs
	}
	var b []byte
	if before != nil {
		if bm, ok := before.Data.(jsontext.Member); ok {
			b = bm.Value()
		}
	}
	v, conflicts := jsontext.Merge3(b, o.Value(), t.Value(), func(path []string, before, ours, theirs []byte) ([]byte, bool) {
		a, okA := jsontext.String(ours)
		b, okB := jsontext.String(theirs)
		if c, ok := r.CompareReqs(a, b); okA && okB && ok && c != 0 {
			if c < 0 {
				return theirs, true
			}
			return ours, true
		}
		return nil, false
	})
	if len(conflicts) > 0 {
		return nil, false
	}
	m := o.WithValue(v)
	c := *ours
	c.Raw, c.Data = m.Raw, m
	if s, ok := jsontext.String(v); ok && c.Parent != "" {
		c.Version = s
	}
	return &c, true
}

// Needs are a manifest's requirements, as npm reads them: of a name in two
// sections the stronger one.
func Needs(m *lockfile.Doc) []lockfile.Edge {
	at := map[string]int{}
	var out []lockfile.Edge
	for _, s := range Sections {
		m.Nodes(func(n *lockfile.Node) {
			if n.Parent != "#"+s.Name || !n.Direct || n.Name == "" {
				return
			}
			e := lockfile.Edge{Name: n.Name, Req: n.Version, Kind: s.Kind}
			if i, ok := at[n.Name]; ok {
				out[i] = e
				return
			}
			at[n.Name] = len(out)
			out = append(out, e)
		})
	}
	return out
}

// Member returns the text of a member that is no section, or nil.
func Member(m *lockfile.Doc, name string) []byte {
	n := m.Node("#" + name)
	if n == nil {
		return nil
	}
	jm, ok := n.Data.(jsontext.Member)
	if !ok {
		return nil
	}
	return jm.Value()
}

// Overridden are the names that a manifest's overrides or resolutions speak of.
func Overridden(m *lockfile.Doc) map[string]bool {
	out := map[string]bool{}
	var walk func(v []byte)
	walk = func(v []byte) {
		o, err := jsontext.Parse(v, 0)
		if err != nil {
			return
		}
		for _, x := range o.Members {
			out[bareName(x.Key)] = true
			walk(x.Value())
		}
	}
	for _, name := range []string{"overrides", "resolutions"} {
		if v := Member(m, name); v != nil {
			walk(v)
		}
	}
	return out
}

// bareName is the package that a pattern of an override ends in: "b" for
// "a/**/b", "@s/b" for "@s/b@^1".
func bareName(pattern string) string {
	if at := strings.LastIndexByte(pattern, '@'); at > 0 {
		pattern = pattern[:at]
	}
	parts := strings.Split(pattern, "/")
	name := parts[len(parts)-1]
	if len(parts) > 1 && strings.HasPrefix(parts[len(parts)-2], "@") {
		name = parts[len(parts)-2] + "/" + name
	}
	return name
}
