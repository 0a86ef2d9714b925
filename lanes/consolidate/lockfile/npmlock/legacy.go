package npmlock

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsondoc"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// The legacy tree is the member "dependencies" of versions 1 and 2: entries
// nested as the folders are. An entry's node holds its text without the nested
// packages, which are nodes of their own.

// nest is where an entry's nested packages stand in its text.
type nest struct {
	at      int    // offset in Raw
	head    []byte // the member's text up to the brace
	closing []byte
	empty   bool // closing is that of an empty object
	tail    []byte
	before  bool // a comma stands before the member
	after   bool // a comma stands behind it
}

// sameNest reports whether the part of two entries that is not in Raw is the same.
func sameNest(a, b *lockfile.Node) bool {
	x, y := nestOf(a), nestOf(b)
	if x == nil || y == nil {
		return x == y
	}
	return x.at == y.at && x.empty == y.empty && x.before == y.before && x.after == y.after &&
		bytes.Equal(x.head, y.head) && bytes.Equal(x.closing, y.closing) && bytes.Equal(x.tail, y.tail)
}

func nestOf(n *lockfile.Node) *nest {
	if p := data(n); p != nil {
		return p.nest
	}
	return nil
}

// legacy reads the legacy tree.
func legacy(p *jsondoc.Parser, top *jsontext.Scanner, version int) error {
	s, end, err := p.Object(top, legacyKey)
	if err != nil {
		return err
	}
	prefix := ""
	if version == 2 {
		prefix = legacyPrefix
	}
	l := &legacyParser{Parser: p, room: 8*len(p.Content) + 1<<20}
	if err := l.members(s, prefix, legacyKey); err != nil {
		return err
	}
	for _, x := range l.found {
		err := p.Add(x.node, x.member, func(n *lockfile.Node, m jsontext.Member) error {
			return decodeLegacy(n, m, x.nest)
		})
		if err != nil {
			return err
		}
	}
	return end()
}

type legacyParser struct {
	*jsondoc.Parser
	found []legacyEntry // an entry before what is nested in it
	buf   []byte
	// room is how many bytes the paths may take together. Real ones take less
	// than the file; a hostile file's would take its square.
	room int
}

type legacyEntry struct {
	node   *lockfile.Node
	member jsontext.Member
	nest   *nest
}

// members reads the entries of one object. Nesting is bound by modules.MaxPath.
func (l *legacyParser) members(s *jsontext.Scanner, dir, parentKey string) error {
	for s.Next() {
		l.buf = append(l.buf[:0], dir...)
		if dir != "" && dir != legacyPrefix {
			l.buf = append(l.buf, '/')
		}
		l.buf = append(append(l.buf, "node_modules/"...), s.Key()...)
		if l.room -= len(l.buf); l.room < 0 || len(l.buf) > modules.MaxPath {
			return fmt.Errorf("line %d: packages are nested too deep", l.Line(s.ValueAt()))
		}
		if len(s.Key()) == 0 {
			return fmt.Errorf("line %d: a package without a name", l.Line(s.ValueAt()))
		}
		if !s.IsObject() {
			return fmt.Errorf("line %d: %q is not an object", l.Line(s.ValueAt()), s.Key())
		}
		key, name := l.Key(l.buf), string(s.Key())
		at := len(l.found)
		l.found = append(l.found, legacyEntry{})
		e, err := l.entry(s, key)
		if err != nil {
			return err
		}
		e.member.Key = name
		e.node = &lockfile.Node{Key: key, Parent: parentKey, Raw: e.member.Raw, Data: &pkg{nest: e.nest}}
		l.found[at] = e
	}
	return s.Err()
}

// entry reads one entry, and takes its nested packages out of its text.
func (l *legacyParser) entry(s *jsontext.Scanner, key string) (legacyEntry, error) {
	var e legacyEntry
	in, err := jsontext.Scan(l.Content, s.ValueAt())
	if err != nil {
		return e, err
	}
	var cut jsontext.Member // the member with the nested packages
	for members := 0; in.Next(); members++ {
		if string(in.Key()) != "dependencies" || !in.IsObject() {
			continue
		}
		if cut.Raw != nil {
			return e, &lockfile.DuplicateError{Key: key + " dependencies", Line: l.Line(in.ValueAt())}
		}
		head := in.Head()
		n := len(l.found)
		kids, err := jsontext.Scan(l.Content, in.ValueAt())
		if err != nil {
			return e, err
		}
		if err := l.members(kids, key, key); err != nil {
			return e, err
		}
		closing, end := kids.End()
		in.Leave(end)
		cut = in.Member()
		e.nest = &nest{head: bytes.Clone(head), closing: bytes.Clone(closing), empty: len(l.found) == n, tail: bytes.Clone(cut.Raw[cut.ValueEnd:]), before: members > 0}
	}
	if in.Err() != nil {
		return e, in.Err()
	}
	_, end := in.End()
	s.Leave(end)
	e.member = s.Member()
	if cut.Raw == nil {
		return e, nil
	}
	// Without the member, and without one of the commas beside it.
	from, to := cut.Offset, cut.Offset+len(cut.Raw)
	switch {
	case e.nest.before:
		from--
	case l.Content[to] == ',':
		to++
		e.nest.after = true
	}
	base := e.member.Offset
	raw := make([]byte, 0, len(e.member.Raw)-(to-from))
	raw = append(append(raw, l.Content[base:from]...), l.Content[to:base+len(e.member.Raw)]...)
	e.nest.at = from - base
	e.member.ValueEnd -= to - from
	e.member.Raw = raw
	return e, nil
}

// decodeLegacy reads an entry of the legacy tree. Which of its needs are
// optional only the flags of their targets tell.
func decodeLegacy(n *lockfile.Node, m jsontext.Member, nested *nest) error {
	p := &pkg{member: m, nest: nested}
	p.Vague = true
	n.Data = p
	own := !strings.HasPrefix(n.Key, legacyPrefix) // a package; in version 2 only its shadow
	if own {
		n.Name = modules.NameOf(n.Key)
	}
	_, _, err := jsontext.Walk(m.Value(), 0, func(f jsontext.Member, key []byte) error {
		v := f.Value()
		switch string(key) {
		case "version":
			n.Version, _ = jsontext.String(v)
			if alias, ver := npm.Alias(n.Version); alias != "" {
				p.Alias, n.Version = alias, ver
				if own {
					n.Name = alias
				}
			}
		case "resolved":
			p.Resolved, _ = jsontext.String(v)
		case "requires":
			if !own || v[0] != '{' {
				return nil
			}
			for _, kv := range jsontext.Strings(v) {
				if kv[0] != "" {
					n.Edges = append(n.Edges, lockfile.Edge{Name: kv[0], Req: kv[1]})
				}
			}
		case "link", "bundleDependencies", "acceptDependencies", "workspaces": // not in this tree
		default:
			p.field(string(key), v)
		}
		return nil
	})
	return err
}

// roots are the needs of the project, which version 1 leaves to the manifest.
// Without one, everything on the top level is needed.
func roots(d *lockfile.Doc, t lockfile.Tree) []lockfile.Edge {
	if m := modules.Manifest(d, t, ""); m != nil {
		return append(npm.Needs(m), strays(d)...)
	}
	var out []lockfile.Edge
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent == legacyKey {
			out = append(out, lockfile.Edge{Name: modules.NameOf(n.Key)})
		}
	})
	return append(out, strays(d)...)
}

// strays are packages of version 1 that no entry says to need: peers, and all
// of a file that is older than "requires".
func strays(d *lockfile.Doc) []lockfile.Edge {
	ancient := d.Node("#requires") == nil
	var out []lockfile.Edge
	d.Nodes(func(n *lockfile.Node) {
		if p := data(n); n.Parent != "" && (ancient || p.Flags.Peer) {
			out = append(out, lockfile.Edge{To: n.Key})
		}
	})
	return out
}

// entry writes an entry, of the legacy tree with what is nested in it.
func entry(e *jsondoc.Encoder, n *lockfile.Node) {
	kids, in := e.Kids[n.Key], nestOf(n)
	if len(kids) == 0 && (in == nil || !in.empty) {
		e.Out = append(e.Out, n.Raw...)
		return
	}
	if in == nil {
		in = newNest(n)
	}
	e.Out = append(e.Out, n.Raw[:in.at]...)
	if in.before {
		e.Out = append(e.Out, ',')
	}
	e.Out = append(e.Out, in.head...)
	e.Object(jsondoc.Lead(in.head), in.closing, in.empty, kids)
	e.Out = append(e.Out, in.tail...)
	if in.after {
		e.Out = append(e.Out, ',')
	}
	e.Out = append(e.Out, n.Raw[in.at:]...)
}

// newNest is where an entry that had no nested packages gets them: at its end.
func newNest(n *lockfile.Node) *nest {
	m := data(n).member
	in := &nest{empty: true, closing: []byte{'}'}, head: []byte(`"dependencies":`)}
	o, err := jsontext.Parse(m.Raw, m.ValueAt)
	if err != nil || len(o.Members) == 0 {
		in.at = m.ValueAt + 1
		return in
	}
	last := o.Members[len(o.Members)-1]
	in.at, in.before = last.Offset+last.ValueEnd, true
	in.head = append(bytes.Clone(last.Lead()), in.head...)
	if bytes.IndexByte(last.Lead(), '\n') >= 0 {
		in.head = append(in.head, ' ')
	}
	return in
}
