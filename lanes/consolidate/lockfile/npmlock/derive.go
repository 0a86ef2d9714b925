package npmlock

import (
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsondoc"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// strand removes entries of the legacy tree whose folder is gone.
func strand(m *lockfile.Merge) {
	gone := map[string]bool{}
	m.Nodes(func(n *lockfile.Node) {
		for up := n; up.Parent != ""; {
			if up = m.Node(up.Parent); up == nil {
				gone[n.Key] = true
				return
			}
		}
	})
	m.DeleteAll(gone)
}

// follow makes the legacy tree of version 2 that of the packages: where a
// package is as it was on a side, with that side's text, else written anew.
func (l *lock) follow(m *lockfile.Merge) {
	now := shadows(m.Doc)
	before, head := shadows(m.Before), shadows(m.Head())
	w := &shadowWriter{Judge: l.judge(m.Doc, m.Tree), doc: m.Doc, less: m.Format.Less}
	for _, key := range now.order {
		s, b, h := now.by[key], before.by[key], head.by[key]
		old := m.Node(key)
		var want *lockfile.Node
		asBefore, asHead := s == b, s == h
		switch {
		case asBefore && asHead: // whatever the merge made of it, or nothing
			continue
		case asHead && m.Head().Node(key) != nil:
			want = m.Head().Node(key)
		case asBefore && m.Before.Node(key) != nil:
			want = m.Before.Node(key)
		case asBefore || asHead: // a side without one
			continue
		default:
			want = w.write(key, s)
		}
		if !lockfile.Same(old, want) {
			m.Set(want, placeOf(m, key))
		}
	}
	for _, key := range slices.Clone(m.Keys()) {
		_, is := now.by[key]
		_, was := before.by[key]
		_, theirs := head.by[key]
		if strings.HasPrefix(key, legacyPrefix) && !is && (was || theirs) {
			m.Delete(key)
		}
	}
}

// placeOf is where an entry that the tree does not have yet goes.
func placeOf(m *lockfile.Merge, key string) string {
	if m.Node(key) != nil {
		return ""
	}
	return behind(m.Doc, key)
}

// shadow is what an entry of the legacy tree is made from: a package, and where
// that is a link, the folder that it leads to.
type shadow struct{ pkg, folder *lockfile.Node }

type shadowTree struct {
	by    map[string]shadow // by the key of the legacy entry
	order []string          // an entry before what is nested in it
}

// shadows are the entries that the legacy tree of a lockfile should have. What
// is nested in a folder stands below the links to it there.
func shadows(d *lockfile.Doc) shadowTree {
	kids := map[string][]*lockfile.Node{}
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent == packagesKey && modules.Inside(n.Key) >= 0 {
			dir := modules.Parent(n.Key)
			kids[dir] = append(kids[dir], n)
		}
	})
	t := shadowTree{by: make(map[string]shadow, d.Len())}
	var walk func(dir, at string, on []string)
	walk = func(dir, at string, on []string) {
		for _, n := range kids[dir] {
			key := modules.Join(at, modules.NameOf(n.Key))
			s, in := shadow{pkg: n}, n.Key
			if p := data(n); p.Link {
				in = p.Resolved
				s.folder = d.Node(in)
			}
			if slices.Contains(on, in) || len(key) > modules.MaxPath {
				continue
			}
			t.by[legacyPrefix+key] = s
			t.order = append(t.order, legacyPrefix+key)
			walk(in, key, append(on, in))
		}
	}
	walk("", "", []string{""})
	return t
}

// shadowWriter writes entries of the legacy tree as arborist does.
type shadowWriter struct {
	modules.Judge
	doc  *lockfile.Doc
	less func(a, b string) bool
	in   map[string][]*lockfile.Node // by name: the packages that need it; lazily
}

// write makes the entry of a package.
func (w *shadowWriter) write(key string, s shadow) *lockfile.Node {
	path := key[len(legacyPrefix):]
	syn := syntax(w.doc)
	b := &entryWriter{colon: ":"}
	if strings.Contains(jsondoc.Lead(w.doc.Node(legacyKey).Raw), "\n") {
		b.lead, b.unit, b.colon = "\n"+strings.Repeat(syn.style.Unit, 2*modules.Depth(path)), syn.style.Unit, ": "
	}
	b.open(modules.NameOf(path))
	p := data(s.pkg)
	from, spec := w.asked(s.pkg)
	git := strings.HasPrefix(p.Resolved, "git+") || strings.HasPrefix(p.Resolved, "git:")
	other := modules.IsURL(spec) || strings.HasPrefix(spec, "file:")
	switch {
	case p.Link:
		b.text("version", "file:"+p.Resolved)
	case git:
		b.text("version", p.Resolved)
	case other:
		b.text("version", spec)
	case p.Alias != "":
		b.text("version", "npm:"+p.Alias+"@"+s.pkg.Version)
	case s.pkg.Version != "":
		b.text("version", s.pkg.Version)
	}
	if p.Resolved != "" && !p.Link && !git && !other && !strings.HasPrefix(p.Resolved, "file:") {
		b.text("resolved", p.Resolved)
	}
	integrity, extraneous := w.rest(p)
	if integrity != "" {
		b.text("integrity", integrity)
	}
	b.yes("bundled", p.Bundled)
	if !p.Link {
		b.yes("dev", p.Flags.Dev && !extraneous)
		b.yes("devOptional", p.Flags.DevOptional && !extraneous)
	}
	b.yes("extraneous", extraneous)
	if git && from != "" {
		b.text("from", from)
	}
	if !p.Link {
		b.yes("optional", p.Flags.Optional && !extraneous)
		b.yes("peer", p.Flags.Peer && !extraneous)
	}
	n := s.pkg
	if s.folder != nil {
		n = s.folder
	}
	w.requires(b, n)
	b.close()
	m := located(b.out, modules.NameOf(path))
	x := &lockfile.Node{Key: key, Parent: parentKey(w.doc, key), Raw: m.Raw}
	if decodeLegacy(x, m, nil) != nil {
		return nil // what was just written is an object
	}
	return x
}

// rest reads of a package's entry what the model does not hold.
func (w *shadowWriter) rest(p *pkg) (integrity string, extraneous bool) {
	o, err := jsontext.Parse(p.member.Value(), 0)
	if err != nil {
		return "", false
	}
	if m, ok := o.Get("integrity"); ok {
		integrity, _ = jsontext.String(m.Value())
	}
	m, ok := o.Get("extraneous")
	return integrity, ok && string(m.Value()) == "true"
}

// requires writes what a package needs, but not its peers: npm 6 would miss them.
func (w *shadowWriter) requires(b *entryWriter, n *lockfile.Node) {
	if len(n.Edges) == 0 {
		return
	}
	var needs []lockfile.Edge
	for _, e := range n.Edges {
		if !modules.IsPeer(e) && e.Name != "" {
			needs = append(needs, e)
		}
	}
	slices.SortFunc(needs, func(x, y lockfile.Edge) int {
		switch {
		case w.less(x.Name, y.Name):
			return -1
		case w.less(y.Name, x.Name):
			return 1
		}
		return 0
	})
	b.open("requires")
	for _, e := range needs {
		b.text(e.Name, w.Effective(n, e))
	}
	b.close()
}

// asked is the request that a package answers, as name@requirement, and the
// requirement alone: of all valid ones that from the highest folder.
func (w *shadowWriter) asked(t *lockfile.Node) (from, spec string) {
	if w.in == nil {
		w.in = map[string][]*lockfile.Node{}
		w.doc.Nodes(func(n *lockfile.Node) {
			for _, e := range n.Edges {
				if e.Name != "" && n.Parent == packagesKey {
					w.in[e.Name] = append(w.in[e.Name], n)
				}
			}
		})
	}
	var best *lockfile.Node
	name := modules.NameOf(t.Key)
	for _, n := range w.in[name] {
		for _, e := range n.Edges {
			if e.Name != name || modules.Target(w.doc, n, e) != t || !w.Met(w.doc, n, e, t) {
				continue
			}
			if best == nil || modules.Depth(n.Key) < modules.Depth(best.Key) || modules.Depth(n.Key) == modules.Depth(best.Key) && w.less(modules.NameOf(n.Key), modules.NameOf(best.Key)) {
				best, from, spec = n, name+"@"+e.Req, e.Req
			}
		}
	}
	return from, spec
}

// entryWriter writes an entry line by line.
type entryWriter struct {
	out               []byte
	lead, unit, colon string
	level             int
	some              bool // the object being written has members
}

func (b *entryWriter) key(name string) {
	if b.some {
		b.out = append(b.out, ',')
	}
	b.newline()
	b.out = append(append(b.out, jsontext.Quote(name)...), b.colon...)
	b.some = true
}

func (b *entryWriter) newline() {
	b.out = append(b.out, b.lead...)
	if b.lead != "" {
		b.out = append(b.out, strings.Repeat(b.unit, b.level)...)
	}
}

func (b *entryWriter) text(name, value string) {
	b.key(name)
	b.out = append(b.out, jsontext.Quote(value)...)
}

func (b *entryWriter) yes(name string, is bool) {
	if is {
		b.key(name)
		b.out = append(b.out, "true"...)
	}
}

// open begins an object.
func (b *entryWriter) open(name string) {
	b.key(name)
	b.out, b.some = append(b.out, '{'), false
	b.level++
}

// close ends the object being written.
func (b *entryWriter) close() {
	b.level--
	if b.some {
		b.newline()
	}
	b.out, b.some = append(b.out, '}'), true
}
