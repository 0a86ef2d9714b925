package npm

import (
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// finish renews what a lockfile derives from its packages.
func (l *lock) finish(m *lockfile.Merge) {
	if l.version < 3 {
		strand(m)
	}
	if l.version == 1 || !sameGraph(m.Before, m.Doc) { // the roots of 1 are elsewhere
		sweep(m)
		renew(m)
	}
	if l.version == 2 && m.Node(legacyKey) != nil {
		l.follow(m)
	}
}

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
	w := &shadowWriter{judge: l.judge(m.Doc, m.Tree), doc: m.Doc, less: m.Format.Less}
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
	return before(m.Doc, key)
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
		if n.Parent == packagesKey && inside(n.Key) >= 0 {
			dir := parent(n.Key)
			kids[dir] = append(kids[dir], n)
		}
	})
	t := shadowTree{by: make(map[string]shadow, d.Len())}
	var walk func(dir, at string, on []string)
	walk = func(dir, at string, on []string) {
		for _, n := range kids[dir] {
			key := join(at, nameOf(n.Key))
			s, in := shadow{pkg: n}, n.Key
			if p := data(n); p.link {
				in = p.resolved
				s.folder = d.Node(in)
			}
			if slices.Contains(on, in) || len(key) > maxPath {
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
	judge
	doc  *lockfile.Doc
	less func(a, b string) bool
	in   map[string][]*lockfile.Node // by name: the packages that need it; lazily
}

// write makes the entry of a package.
func (w *shadowWriter) write(key string, s shadow) *lockfile.Node {
	path := key[len(legacyPrefix):]
	syn := syntax(w.doc)
	b := &entryWriter{colon: ":"}
	if strings.Contains(leadOf(w.doc.Node(legacyKey).Raw), "\n") {
		b.lead, b.unit, b.colon = "\n"+strings.Repeat(syn.style.Unit, 2*depth(path)), syn.style.Unit, ": "
	}
	b.open(nameOf(path))
	p := data(s.pkg)
	from, spec := w.asked(s.pkg)
	git := strings.HasPrefix(p.resolved, "git+") || strings.HasPrefix(p.resolved, "git:")
	other := isURL(spec) || strings.HasPrefix(spec, "file:")
	switch {
	case p.link:
		b.text("version", "file:"+p.resolved)
	case git:
		b.text("version", p.resolved)
	case other:
		b.text("version", spec)
	case p.alias != "":
		b.text("version", "npm:"+p.alias+"@"+s.pkg.Version)
	case s.pkg.Version != "":
		b.text("version", s.pkg.Version)
	}
	if p.resolved != "" && !p.link && !git && !other && !strings.HasPrefix(p.resolved, "file:") {
		b.text("resolved", p.resolved)
	}
	integrity, extraneous := w.rest(p)
	if integrity != "" {
		b.text("integrity", integrity)
	}
	b.yes("bundled", p.bundled)
	if !p.link {
		b.yes("dev", p.flags.dev && !extraneous)
		b.yes("devOptional", p.flags.devOptional && !extraneous)
	}
	b.yes("extraneous", extraneous)
	if git && from != "" {
		b.text("from", from)
	}
	if !p.link {
		b.yes("optional", p.flags.optional && !extraneous)
		b.yes("peer", p.flags.peer && !extraneous)
	}
	n := s.pkg
	if s.folder != nil {
		n = s.folder
	}
	w.requires(b, n)
	b.close()
	m := located(b.out, nameOf(path))
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
		if !peer(e) && e.Name != "" {
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
		b.text(e.Name, w.effective(n, e))
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
	name := nameOf(t.Key)
	for _, n := range w.in[name] {
		for _, e := range n.Edges {
			if e.Name != name || target(w.doc, n, e) != t || !w.met(w.doc, n, e, t) {
				continue
			}
			if best == nil || depth(n.Key) < depth(best.Key) || depth(n.Key) == depth(best.Key) && w.less(nameOf(n.Key), nameOf(best.Key)) {
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
