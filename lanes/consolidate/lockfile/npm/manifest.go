package npm

import (
	"bytes"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// sections of a manifest that hold requirements, later ones first in force.
var sections = []struct {
	name string
	kind lockfile.EdgeKind
}{
	{"peerDependencies", lockfile.Peer},
	{"dependencies", lockfile.Required},
	{"optionalDependencies", lockfile.Optional},
	{"devDependencies", lockfile.Dev},
}

func section(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

// manifestSyntax is the text around a manifest's members.
type manifestSyntax struct {
	before, after, closing []byte
	// sections: the text up to a section's brace, and its end.
	heads, closings map[string][]byte
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
		Less: func(a, b string) bool {
			return a[0] != '#' && b[0] != '#' && a < b
		},
	}
}

func parseManifest(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := jsontext.Check(content); err != nil {
		return nil, err
	}
	top, err := jsontext.Parse(content, 0)
	if err != nil {
		return nil, err
	}
	if err := unique(top, content); err != nil {
		return nil, err
	}
	syn := &manifestSyntax{
		before: content[:bytes.IndexByte(content, '{')], after: content[top.End:], closing: top.Close,
		heads: map[string][]byte{}, closings: map[string][]byte{},
	}
	d := lockfile.NewDoc(len(top.Members) + 16)
	d.Syntax = syn
	for _, m := range top.Members {
		key := "#" + m.Key
		if !section(m.Key) || m.Value()[0] != '{' {
			d.Add(reuse(like, &lockfile.Node{Key: key, Raw: m.Raw}, func(n *lockfile.Node) {
				m.Raw = n.Raw
				n.Data = m
			}))
			continue
		}
		o, err := jsontext.Parse(content, m.Offset+m.ValueAt)
		if err != nil {
			return nil, err
		}
		if err := unique(o, content); err != nil {
			return nil, err
		}
		head := m.Raw[:m.ValueAt]
		d.Add(&lockfile.Node{Key: key, Raw: head, Data: o.Close})
		for _, dm := range o.Members {
			d.Add(reuse(like, &lockfile.Node{Key: m.Key + "/" + dm.Key, Parent: key, Raw: dm.Raw}, func(n *lockfile.Node) {
				dm.Raw = n.Raw
				n.Data = dm
				if s, ok := jsontext.String(dm.Value()); ok {
					n.Name, n.Version, n.Direct = dm.Key, s, true
				}
			}))
		}
	}
	return d, nil
}

func encodeManifest(d *lockfile.Doc) ([]byte, error) {
	syn := d.Syntax.(*manifestSyntax)
	out := append(bytes.Clone(syn.before), '{')
	var open *lockfile.Node // the section being written
	fresh := true           // nothing written yet in the object being written
	end := func() {
		if open == nil {
			return
		}
		if fresh {
			out = append(out, '}')
		} else {
			out = append(out, open.Data.([]byte)...)
		}
		open, fresh = nil, false
	}
	d.Nodes(func(n *lockfile.Node) {
		if open != nil && n.Parent != open.Key {
			end()
		}
		if !fresh {
			out = append(out, ',')
		}
		fresh = false
		out = append(out, n.Raw...)
		if closing, ok := n.Data.([]byte); ok {
			out = append(out, '{')
			open, fresh = n, true
			_ = closing
		}
	})
	end()
	return append(append(out, syn.closing...), syn.after...), nil
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
			if n.Parent != "#"+s.name || !n.Direct {
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
