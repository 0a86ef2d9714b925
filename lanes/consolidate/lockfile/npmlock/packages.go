package npmlock

import (
	"encoding/json"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// pkg is the Data of a package's entry, and of a member of the file.
type pkg struct {
	modules.Package
	member jsontext.Member
	// nest is where its nested packages stand in its text; legacy entries only.
	nest *nest
}

// data is what a node's entry says; nil for what holds packages.
func data(n *lockfile.Node) *pkg {
	p, _ := n.Data.(*pkg)
	return p
}

// decode reads a package's entry.
func decode(n *lockfile.Node, m jsontext.Member) error {
	p := &pkg{member: m}
	n.Data = p
	n.Name = modules.NameOf(n.Key)
	n.Root = modules.Inside(n.Key) < 0
	var needs [len(npm.Sections)][]byte
	var meta []byte
	_, _, err := jsontext.Walk(m.Value(), 0, func(f jsontext.Member, key []byte) error {
		v := f.Value()
		for i := range npm.Sections {
			if string(key) == npm.Sections[i].Name {
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
				if p.Alias, _ = jsontext.String(v); p.Alias != "" {
					n.Name = p.Alias
				}
			}
		case "resolved":
			p.Resolved, _ = jsontext.String(v)
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
	if p.Link {
		n.Root = true
		n.Edges = []lockfile.Edge{{To: p.Resolved}}
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
		p.Link = yes
	case "inBundle", "bundled":
		p.Bundled = yes
	case "hasShrinkwrap":
		p.Shrinkwrap = yes
	case "workspaces":
		p.Workspaces = true
	case "bundleDependencies":
		var names []string
		if yes {
			names = []string{""}
		} else if json.Unmarshal(v, &names) != nil {
			return
		}
		p.Bundles = make(map[string]bool, len(names))
		for _, name := range names {
			p.Bundles[name] = true
		}
	case "acceptDependencies":
		p.Accept = map[string]string{}
		for _, kv := range jsontext.Strings(v) {
			p.Accept[kv[0]] = kv[1]
		}
	default:
		if f := p.Flags.Of(key); f != nil {
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
func edges(needs [len(npm.Sections)][]byte, optional map[string]bool, root bool) []lockfile.Edge {
	size := 0
	for _, v := range needs {
		size += strings.Count(string(v), ":")
	}
	if size == 0 {
		return nil
	}
	out := make([]lockfile.Edge, 0, size)
	for i, s := range npm.Sections {
		if needs[i] == nil || s.Kind == lockfile.Dev && !root {
			continue
		}
		at := make(map[string]int, len(out)) // of earlier npm.Sections
		for i, e := range out {
			at[e.Name] = i
		}
		for _, kv := range jsontext.Strings(needs[i]) {
			e := lockfile.Edge{Name: kv[0], Req: kv[1], Kind: s.Kind}
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
	if p, q := data(a), data(b); p != nil && q != nil && p.Alias != q.Alias {
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
	needs := npm.IsSection(path[0]) || path[0] == "requires"
	switch {
	case len(path) == 1 && new(modules.Flags).Of(path[0]) != nil:
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
