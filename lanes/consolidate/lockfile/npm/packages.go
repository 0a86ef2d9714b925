package npm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// Keys of nodes: a package has its path ("" is the project), a member of the
// file itself has '#' and its name.
const packagesKey = "#packages"

// pkg is what a package's entry says, beside its name, version and edges.
type pkg struct {
	member  jsontext.Member
	flags   flags
	link    bool   // a symbolic link to To
	to      string // path of a link's target
	bundled bool   // came inside its parent's archive
	fresh   bool   // its text was made by the merge
}

func data(n *lockfile.Node) *pkg {
	p, _ := n.Data.(*pkg)
	return p
}

// packagesSyntax is the text around the packages.
type packagesSyntax struct {
	before, after []byte // the file up to its first brace, and behind the last
	closeTop      []byte
	closePkgs     []byte
	headPkgs      []byte // up to the brace of the packages object
	style         jsontext.Style
}

func packagesFormat(r Ranges) *lockfile.Format {
	return &lockfile.Format{
		Name:      "package-lock.json v3",
		Ecosystem: Ecosystem,
		Lock:      true,
		Match: func(p string, content []byte) bool {
			return isLock(p) && (content == nil || lockVersion(content) == 3)
		},
		Parse:   parsePackages,
		Encode:  encodePackages,
		Compare: func(a, b *lockfile.Node) (int, bool) { return r.Compare(a.Version, b.Version) },
		Combine: r.combine,
		Less:    newLess(),
		Target:  target,
		Repair:  r.repair,
		Finish:  finish,
		Check:   r.check,
	}
}

// lockVersion reads lockfileVersion; 0 when there is none.
func lockVersion(content []byte) int {
	at := bytes.Index(content, []byte(`"lockfileVersion"`))
	if at < 0 {
		return 0
	}
	rest := bytes.TrimLeft(content[at+len(`"lockfileVersion"`):], " \t\r\n:")
	if len(rest) == 0 || rest[0] < '0' || rest[0] > '9' {
		return 0
	}
	return int(rest[0] - '0')
}

func parsePackages(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
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
	syn := &packagesSyntax{
		before: bytes.Clone(content[:bytes.IndexByte(content, '{')]), after: bytes.Clone(content[top.End:]),
		closeTop: bytes.Clone(top.Close), style: jsontext.StyleOf(top),
	}
	pm, ok := top.Get("packages")
	if !ok {
		return nil, errors.New(`the member "packages" is missing`)
	}
	pkgs, err := jsontext.Parse(content, pm.Offset+pm.ValueAt)
	if err != nil {
		return nil, fmt.Errorf("packages: %w", err)
	}
	if err := unique(pkgs, content); err != nil {
		return nil, err
	}
	syn.closePkgs, syn.headPkgs = bytes.Clone(pkgs.Close), bytes.Clone(pm.Raw[:pm.ValueAt])
	d := lockfile.NewDoc(len(top.Members) + len(pkgs.Members))
	d.Syntax = syn
	for _, m := range top.Members {
		if m.Key != "packages" {
			d.Add(reuse(like, &lockfile.Node{Key: "#" + m.Key, Raw: m.Raw}, func(n *lockfile.Node) {
				m.Raw = n.Raw
				n.Data = &pkg{member: m}
			}))
			continue
		}
		d.Add(&lockfile.Node{Key: packagesKey})
		for _, pm := range pkgs.Members {
			var bad error
			d.Add(reuse(like, &lockfile.Node{Key: pm.Key, Parent: packagesKey, Raw: pm.Raw}, func(n *lockfile.Node) {
				bad = decode(n, pm)
			}))
			if bad != nil {
				return nil, fmt.Errorf("packages: %q: %w", pm.Key, bad)
			}
		}
	}
	return d, nil
}

// reuse returns the node of like with the same text, or n, completed.
func reuse(like *lockfile.Doc, n *lockfile.Node, complete func(*lockfile.Node)) *lockfile.Node {
	if like != nil {
		if old := like.Node(n.Key); old != nil && old.Parent == n.Parent && bytes.Equal(old.Raw, n.Raw) {
			return old
		}
	}
	n.Raw = bytes.Clone(n.Raw) // so that the file itself can be let go
	complete(n)
	return n
}

func unique(o jsontext.Object, content []byte) error {
	var dup *jsontext.DuplicateError
	if errors.As(o.Unique(), &dup) {
		return &lockfile.DuplicateError{Key: dup.Key, Line: 1 + bytes.Count(content[:dup.Offset], []byte{'\n'})}
	}
	return nil
}

// decode reads a package's entry.
func decode(n *lockfile.Node, m jsontext.Member) error {
	m.Raw = n.Raw
	o, err := jsontext.Parse(m.Value(), 0)
	if err != nil {
		return err
	}
	p := &pkg{member: m}
	n.Data = p
	n.Name = nameOf(n.Key)
	n.Root = !strings.Contains(n.Key, "node_modules/")
	optionalPeers := map[string]bool{}
	if meta, ok := o.Get("peerDependenciesMeta"); ok {
		var v map[string]struct{ Optional bool }
		if json.Unmarshal(meta.Value(), &v) == nil {
			for name, x := range v {
				optionalPeers[name] = x.Optional
			}
		}
	}
	need := map[string]lockfile.Edge{}
	var order []string
	add := func(kind lockfile.EdgeKind, section string) {
		dm, ok := o.Get(section)
		if !ok {
			return
		}
		for _, kv := range jsontext.Strings(dm.Value()) {
			k := kind
			if k == lockfile.Peer && optionalPeers[kv[0]] {
				k = lockfile.PeerOptional
			}
			if _, ok := need[kv[0]]; !ok {
				order = append(order, kv[0])
			}
			need[kv[0]] = lockfile.Edge{Name: kv[0], Req: kv[1], Kind: k}
		}
	}
	// Later ones win, as in npm's own loader.
	add(lockfile.Peer, "peerDependencies")
	add(lockfile.Required, "dependencies")
	add(lockfile.Optional, "optionalDependencies")
	if n.Root {
		add(lockfile.Dev, "devDependencies")
	}
	for _, m := range o.Members {
		s, _ := jsontext.String(m.Value())
		yes := string(m.Value()) == "true"
		switch m.Key {
		case "version":
			if n.Key != "" {
				n.Version = s
			}
		case "name":
			if !n.Root {
				n.Name = s
			}
		case "resolved":
			p.to = s
		case "link":
			p.link = yes
		case "inBundle":
			p.bundled = yes
		default:
			p.flags.read(m.Key, yes)
		}
	}
	if p.link {
		n.Root = true
		n.Edges = []lockfile.Edge{{To: p.to}}
		return nil
	}
	for _, name := range order {
		n.Edges = append(n.Edges, need[name])
	}
	return nil
}

// nameOf is the package name that a path ends in.
func nameOf(key string) string {
	if i := strings.LastIndex(key, "node_modules/"); i >= 0 {
		return key[i+len("node_modules/"):]
	}
	if key == "" {
		return "."
	}
	return key
}

func encodePackages(d *lockfile.Doc) ([]byte, error) {
	syn := d.Syntax.(*packagesSyntax)
	size := 1024
	d.Nodes(func(n *lockfile.Node) { size += len(n.Raw) + 1 })
	out := make([]byte, 0, size)
	out = append(append(out, syn.before...), '{')
	first, firstPkg := true, true
	var open bool
	closePkgs := func() {
		if open {
			if firstPkg {
				out = append(out, '}')
			} else {
				out = append(out, syn.closePkgs...)
			}
			open = false
		}
	}
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent != packagesKey {
			closePkgs()
			if !first {
				out = append(out, ',')
			}
			first = false
			if n.Key == packagesKey {
				out = append(append(out, syn.headPkgs...), '{')
				open = true
				return
			}
		} else {
			if !firstPkg {
				out = append(out, ',')
			}
			firstPkg = false
		}
		out = append(out, n.Raw...)
	})
	closePkgs()
	return append(append(out, syn.closeTop...), syn.after...), nil
}

// combine merges two entries of one version member by member.
func (r Ranges) combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	var b []byte
	if before != nil {
		b = data(before).member.Value()
	}
	o := data(ours).member
	v, conflicts := jsontext.Merge3(b, o.Value(), data(theirs).member.Value(), r.resolveMember)
	if len(conflicts) > 0 {
		return nil, false
	}
	return withValue(ours, v)
}

// resolveMember settles what both sides changed in one package's entry: the
// higher requirement; flags are derived and renewed later.
func (r Ranges) resolveMember(path []string, _, ours, theirs []byte) ([]byte, bool) {
	if len(path) == 1 && isFlag(path[0]) {
		return ours, true
	}
	o, okO := jsontext.String(ours)
	t, okT := jsontext.String(theirs)
	if len(path) == 2 && strings.HasSuffix(path[0], "ependencies") {
		switch {
		case ours == nil:
			return theirs, true
		case theirs == nil:
			return ours, true
		case okO && okT:
			if c, ok := r.CompareReqs(o, t); ok {
				if c < 0 {
					return theirs, true
				}
				return ours, true
			}
		}
	}
	return nil, false
}

func withValue(n *lockfile.Node, v []byte) (*lockfile.Node, bool) {
	m := data(n).member.WithValue(v)
	c := &lockfile.Node{Key: n.Key, Parent: n.Parent, Raw: m.Raw}
	if n.Parent == "" {
		c.Data = &pkg{member: m}
		return c, true
	}
	if decode(c, m) != nil {
		return nil, false
	}
	return c, true
}
