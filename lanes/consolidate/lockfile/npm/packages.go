package npm

import (
	"encoding/json"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// pkg is what a package's entry says, beside its name, version and edges.
type pkg struct {
	member jsontext.Member
	flags  flags
	// alias is the package's own name where its folder has another.
	alias string
	// resolved is where it comes from; of a link the path that it leads to.
	resolved string
	link     bool
	bundled  bool // came inside an archive of a package above it
	// shrinkwrap says that it brings a lockfile of its own, which npm follows below it.
	shrinkwrap bool
	workspaces bool
	// bundles are the dependencies that its own archive holds; "" is in it for all.
	bundles map[string]bool
	// accept are requirements that do as well, by name.
	accept map[string]string
	// nest is where its nested packages stand in its text; legacy entries only.
	nest *nest
}

// data is what a node's entry says; nil for a section.
func data(n *lockfile.Node) *pkg {
	p, _ := n.Data.(*pkg)
	return p
}

// decode reads a package's entry.
func decode(n *lockfile.Node, m jsontext.Member) error {
	p := &pkg{member: m}
	n.Data = p
	n.Name = nameOf(n.Key)
	n.Root = inside(n.Key) < 0
	var needs [len(sections)][]byte
	var meta []byte
	_, _, err := jsontext.Walk(m.Value(), 0, func(f jsontext.Member, key []byte) error {
		v := f.Value()
		for i := range sections {
			if string(key) == sections[i].name {
				needs[i] = v
				return nil
			}
		}
		switch string(key) {
		case "version":
			if n.Key != "" {
				n.Version, _ = jsontext.String(v)
			}
		case "name":
			if !n.Root {
				if p.alias, _ = jsontext.String(v); p.alias != "" {
					n.Name = p.alias
				}
			}
		case "resolved":
			p.resolved, _ = jsontext.String(v)
		case "peerDependenciesMeta":
			meta = v
		default:
			p.field(string(key), v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.link {
		n.Root = true
		n.Edges = []lockfile.Edge{{To: p.resolved}}
		return nil
	}
	n.Edges = edges(needs, optionalPeers(meta), n.Root)
	return nil
}

// field reads what both kinds of entries say of a package.
func (p *pkg) field(key string, v []byte) {
	yes := string(v) == "true"
	switch key {
	case "link":
		p.link = yes
	case "inBundle", "bundled":
		p.bundled = yes
	case "hasShrinkwrap":
		p.shrinkwrap = yes
	case "workspaces":
		p.workspaces = true
	case "bundleDependencies":
		var names []string
		if yes {
			names = []string{""}
		} else if json.Unmarshal(v, &names) != nil {
			return
		}
		p.bundles = make(map[string]bool, len(names))
		for _, name := range names {
			p.bundles[name] = true
		}
	case "acceptDependencies":
		p.accept = map[string]string{}
		for _, kv := range jsontext.Strings(v) {
			p.accept[kv[0]] = kv[1]
		}
	default:
		if f := p.flags.of(key); f != nil {
			*f = yes
		}
	}
}

func optionalPeers(meta []byte) map[string]bool {
	if meta == nil {
		return nil
	}
	out := map[string]bool{}
	// What is not an object says nothing, as in arborist.
	_, _, _ = jsontext.Walk(meta, 0, func(m jsontext.Member, key []byte) error {
		if m.Value()[0] == '{' {
			o, err := jsontext.Parse(m.Value(), 0)
			if x, ok := o.Get("optional"); err == nil && ok && string(x.Value()) == "true" {
				out[string(key)] = true
			}
		}
		return nil
	})
	return out
}

// edges are the requirements of a package; root says that it is a folder of
// the project, whose development dependencies count.
func edges(needs [len(sections)][]byte, optional map[string]bool, root bool) []lockfile.Edge {
	size := 0
	for _, v := range needs {
		size += strings.Count(string(v), ":")
	}
	if size == 0 {
		return nil
	}
	out := make([]lockfile.Edge, 0, size)
	for i, s := range sections {
		if needs[i] == nil || s.kind == lockfile.Dev && !root {
			continue
		}
		at := make(map[string]int, len(out)) // of earlier sections
		for i, e := range out {
			at[e.Name] = i
		}
		for _, kv := range jsontext.Strings(needs[i]) {
			e := lockfile.Edge{Name: kv[0], Req: kv[1], Kind: s.kind}
			if e.Name == "" {
				continue // an edge without a name is a link's
			}
			if e.Kind == lockfile.Peer && optional[e.Name] {
				e.Kind = lockfile.PeerOptional
			}
			if i, ok := at[e.Name]; ok {
				out[i] = e
			} else {
				out = append(out, e)
			}
		}
	}
	return out
}

// compare orders the versions of two packages. Two packages that only share
// their folder's name have none.
func (l *lock) compare(a, b *lockfile.Node) (int, bool) {
	if p, q := data(a), data(b); p != nil && q != nil && p.alias != q.alias {
		return 0, false
	}
	return l.Compare(a.Version, b.Version)
}

// combine merges two entries of one version member by member.
func (l *lock) combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	o, t := data(ours), data(theirs)
	if o == nil || t == nil || strings.HasPrefix(ours.Key, legacyPrefix) {
		return ours, true // white space, or made again from the packages
	}
	var b []byte
	if before != nil && data(before) != nil {
		b = data(before).member.Value()
	}
	v, conflicts := jsontext.Merge3(b, o.member.Value(), t.member.Value(), l.resolveMember)
	if len(conflicts) > 0 {
		return nil, false
	}
	return withValue(ours, v)
}

// tool says why two entries of one version cannot be combined: they are two
// packages, and whoever picks one by guess may pick the wrong one.
func tool(_, ours, theirs *lockfile.Node) string {
	if p, q := data(ours), data(theirs); p == nil || q == nil || ours.Name == "" || ours.Version != theirs.Version {
		return ""
	}
	return "two pull requests lock " + ours.Version + " of it, but not the same package: its address, checksum or needs differ"
}

// resolveMember settles what both sides changed in one package's entry: the
// higher requirement; flags are derived and renewed later.
func (l *lock) resolveMember(path []string, before, ours, theirs []byte) ([]byte, bool) {
	needs := isSection(path[0]) || path[0] == "requires"
	switch {
	case len(path) == 1 && new(flags).of(path[0]) != nil:
		return ours, true
	case len(path) == 1 && needs && (ours == nil || theirs == nil):
		return l.resolveDropped(path[0], before, ours, theirs)
	case len(path) != 2 || !needs:
		return nil, false
	case ours == nil:
		return theirs, true
	case theirs == nil:
		return ours, true
	}
	o, okO := jsontext.String(ours)
	t, okT := jsontext.String(theirs)
	if c, ok := l.CompareReqs(o, t); ok && okO && okT {
		if c < 0 {
			return theirs, true
		}
		return ours, true
	}
	return nil, false
}

// resolveDropped merges an object that one side dropped with its last member.
func (l *lock) resolveDropped(member string, before, ours, theirs []byte) ([]byte, bool) {
	none := []byte("{}")
	if ours == nil {
		ours = none
	} else {
		theirs = none
	}
	v, conflicts := jsontext.Merge3(before, ours, theirs, func(path []string, before, ours, theirs []byte) ([]byte, bool) {
		return l.resolveMember(append([]string{member}, path...), before, ours, theirs)
	})
	if o, err := jsontext.Parse(v, 0); err == nil && len(o.Members) == 0 {
		v = nil
	}
	return v, len(conflicts) == 0
}

// withValue is a node with another value of its member.
func withValue(n *lockfile.Node, v []byte) (*lockfile.Node, bool) {
	m := data(n).member.WithValue(v)
	c := &lockfile.Node{Key: n.Key, Parent: n.Parent, Raw: m.Raw}
	switch n.Parent {
	case "":
		c.Data = &pkg{member: m}
		return c, true
	case packagesKey:
		return c, decode(c, m) == nil
	}
	return c, decodeLegacy(c, m, nil) == nil
}
