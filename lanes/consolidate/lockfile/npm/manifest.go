package npm

import (
	"bytes"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// sections are the members of a manifest, and of a package's entry in a
// lockfile, that hold requirements. Of a name in two of them the later one
// counts, as in arborist's loader.
var sections = [...]struct {
	name string
	kind lockfile.EdgeKind
}{
	{"peerDependencies", lockfile.Peer},
	{"dependencies", lockfile.Required},
	{"optionalDependencies", lockfile.Optional},
	{"devDependencies", lockfile.Dev},
}

func isSection(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

// manifestSyntax is the text around a manifest's members.
type manifestSyntax struct{ before, after, closing []byte }

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
		Repair:    objects,
		Less:      newLess(),
	}
}

func parseManifest(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := check(content); err != nil {
		return nil, err
	}
	top, err := jsontext.Scan(content, 0)
	if err != nil {
		return nil, err
	}
	p := &parser{content: content, like: like, doc: lockfile.NewDoc(32)}
	for top.Next() {
		if key := string(top.Key()); isSection(key) && top.IsObject() {
			err = p.requirements(top, key)
		} else {
			m := top.Member()
			err = p.add(&lockfile.Node{Key: "#" + key, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
				n.Data = m
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
	}
	if top.Err() != nil {
		return nil, top.Err()
	}
	closing, end := top.End()
	p.doc.Syntax = &manifestSyntax{
		before: bytes.Clone(content[:bytes.IndexByte(content, '{')]), after: bytes.Clone(content[end:]), closing: bytes.Clone(closing),
	}
	return p.doc, nil
}

// requirements reads one section of a manifest.
func (p *parser) requirements(top *jsontext.Scanner, section string) error {
	s, end, err := p.open(top, "#"+section)
	if err != nil {
		return err
	}
	for s.Next() {
		m := s.Member()
		m.Key = string(s.Key())
		err := p.add(&lockfile.Node{Key: section + "/" + m.Key, Parent: "#" + section, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
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
	syn := d.Syntax.(*manifestSyntax)
	e := newEncoder(d)
	e.out = append(append(e.out, syn.before...), '{')
	e.members()
	return append(append(e.out, syn.closing...), syn.after...), nil
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
	for _, s := range sections {
		m.Nodes(func(n *lockfile.Node) {
			if n.Parent != "#"+s.name || !n.Direct || n.Name == "" {
				return
			}
			e := lockfile.Edge{Name: n.Name, Req: n.Version, Kind: s.kind}
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
