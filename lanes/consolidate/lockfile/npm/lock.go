package npm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// Keys of nodes: a package has its path ("" is the project), a member of the
// file itself has '#' and its name. In version 2 the entries of the legacy tree
// are nodes of their own, without name and edges: they follow the packages.
const (
	packagesKey  = "#packages"
	legacyKey    = "#dependencies"
	legacyPrefix = legacyKey + "/"
)

// lockSyntax is the text around the members of the file.
type lockSyntax struct {
	version       int
	before, after []byte // the file up to its first brace, and behind the last
	closing       []byte
	style         jsontext.Style
}

// objectText is the Data of a node whose members are nodes of their own; its Raw is the
// text up to the brace.
type objectText struct {
	closing []byte // with the brace
	empty   bool   // closing is that of an empty object
	tail    []byte // white space between the brace and the comma
}

func syntax(d *lockfile.Doc) *lockSyntax { return d.Syntax.(*lockSyntax) }

func lockFormat(r Ranges, version int) *lockfile.Format {
	l := &lock{Ranges: r, version: version}
	f := &lockfile.Format{
		Name:      fmt.Sprintf("package-lock.json v%d", version),
		Ecosystem: Ecosystem,
		Lock:      true,
		Match: func(p string, content []byte) bool {
			return isLock(p) && (content == nil || lockVersion(content) == version)
		},
		Parse:   l.parse,
		Encode:  encode,
		Compare: l.compare,
		Combine: l.combine,
		Tool:    tool,
		Less:    newLess(),
		Nested:  func(key string) bool { return depth(key) > 1 },
		Target:  target,
		Repair:  l.repair,
		Finish:  l.finish,
		Check:   l.check,
	}
	if version == 1 {
		f.Roots = roots
	}
	return f
}

// lock is the format of one lockfileVersion.
type lock struct {
	Ranges
	version int
}

// lockVersion reads lockfileVersion. What is neither 2 nor 3 goes to the
// parser of version 1, which refuses what it does not know.
func lockVersion(content []byte) int {
	const name = `"lockfileVersion"`
	if at := bytes.Index(content, []byte(name)); at >= 0 {
		rest := bytes.TrimLeft(content[at+len(name):], " \t\r\n:")
		for _, v := range []string{"2", "3"} {
			if after, ok := bytes.CutPrefix(rest, []byte(v)); ok && (len(after) == 0 || after[0] < '0' || after[0] > '9') {
				return int(v[0] - '0')
			}
		}
	}
	return 1
}

// parse takes a lockfile apart.
func (l *lock) parse(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := check(content); err != nil {
		return nil, err
	}
	top, err := jsontext.Scan(content, 0)
	if err != nil {
		return nil, err
	}
	size := 16
	if like != nil {
		size = like.Len() + 16
	}
	p := &parser{content: content, like: like, legacyV2: l.version == 2, doc: lockfile.NewDoc(size)}
	syn := &lockSyntax{version: l.version}
	found := false
	for top.Next() {
		key := string(top.Key())
		switch {
		case key == "packages" && l.version >= 2:
			found = true
			err = p.packages(top)
		case key == "dependencies" && l.version <= 2:
			err = p.legacy(top)
		default:
			m := top.Member()
			if key == "lockfileVersion" && string(m.Value()) != fmt.Sprint(l.version) {
				return nil, fmt.Errorf("lockfileVersion %s is not known", clip(m.Value()))
			}
			err = p.add(&lockfile.Node{Key: "#" + key, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
				n.Data = &pkg{member: m}
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
		if syn.style.Unit == "" {
			syn.style = jsontext.StyleOf(jsontext.Object{Members: []jsontext.Member{top.Member()}})
		}
	}
	if top.Err() != nil {
		return nil, top.Err()
	}
	if l.version >= 2 && !found {
		return nil, errors.New(`the member "packages" is missing`)
	}
	closing, end := top.End()
	syn.closing, syn.after = bytes.Clone(closing), bytes.Clone(content[end:])
	syn.before = bytes.Clone(content[:bytes.IndexByte(content, '{')])
	p.doc.Syntax = syn
	return p.doc, nil
}

func clip(b []byte) string { return string(b[:min(len(b), 20)]) }

// check returns an error when content is no JSON.
func check(content []byte) error {
	err := jsontext.Check(content)
	if err == nil {
		return nil
	}
	if line := conflictLine(content); line > 0 {
		return fmt.Errorf("line %d: %w", line, lockfile.ErrConflictMarkers)
	}
	return err
}

// conflictLine is the line of the first mark of an unfinished merge, or 0.
func conflictLine(content []byte) int {
	if bytes.HasPrefix(content, []byte("<<<<<<< ")) {
		return 1
	}
	if at := bytes.Index(content, []byte("\n<<<<<<< ")); at >= 0 {
		return 2 + bytes.Count(content[:at], []byte{'\n'})
	}
	return 0
}

// parser fills a Doc. Nodes whose text stands in like are taken from there.
type parser struct {
	content  []byte
	like     *lockfile.Doc
	legacyV2 bool
	doc      *lockfile.Doc
}

// key makes the bytes of a key a string, the one that like has if it can.
func (p *parser) key(b []byte) string {
	if p.like != nil {
		if old := p.like.At(b); old != nil {
			return old.Key
		}
	}
	return string(b)
}

// add appends a node: the one of like with the same text, or n, completed.
func (p *parser) add(n *lockfile.Node, m jsontext.Member, complete func(*lockfile.Node, jsontext.Member) error) error {
	if p.like != nil {
		if old := p.like.Node(n.Key); old != nil && old.Parent == n.Parent && bytes.Equal(old.Raw, n.Raw) && sameNest(old, n) {
			n = old
			complete = nil
		}
	}
	if complete != nil {
		n.Raw = bytes.Clone(n.Raw) // so that the file itself can be let go
		m.Raw = n.Raw
		if err := complete(n, m); err != nil {
			return fmt.Errorf("line %d: %q: %w", p.line(m.Offset+m.KeyAt), n.Key, err)
		}
	}
	if !p.doc.Add(n) {
		return &lockfile.DuplicateError{Key: n.Key, Line: p.line(m.Offset + m.KeyAt)}
	}
	return nil
}

func (p *parser) line(at int) int { return 1 + bytes.Count(p.content[:at], []byte{'\n'}) }

// open adds the node of an object of the file that holds packages, and returns
// what ends it.
func (p *parser) open(top *jsontext.Scanner, key string) (s *jsontext.Scanner, end func() error, err error) {
	if !top.IsObject() {
		return nil, nil, fmt.Errorf("%q is not an object", key[1:])
	}
	sec := &objectText{}
	if !p.doc.Add(&lockfile.Node{Key: key, Raw: bytes.Clone(top.Head()), Data: sec}) {
		return nil, nil, &lockfile.DuplicateError{Key: key, Line: p.line(top.ValueAt())}
	}
	n := p.doc.Len()
	s, err = jsontext.Scan(p.content, top.ValueAt())
	return s, func() error {
		closing, end := s.End()
		top.Leave(end)
		m := top.Member()
		*sec = objectText{closing: bytes.Clone(closing), empty: p.doc.Len() == n, tail: bytes.Clone(m.Raw[m.ValueEnd:])}
		return s.Err()
	}, err
}

// packages reads the object with one entry a path.
func (p *parser) packages(top *jsontext.Scanner) error {
	s, end, err := p.open(top, packagesKey)
	if err != nil {
		return err
	}
	for s.Next() {
		key := p.key(s.Key())
		m := s.Member()
		switch {
		case len(key) > maxPath:
			return fmt.Errorf("line %d: a path is longer than %d bytes", p.line(m.Offset+m.KeyAt), maxPath)
		case inside(key) == len(key):
			return fmt.Errorf("line %d: a package without a name", p.line(m.Offset+m.KeyAt))
		}
		m.Key = key
		if err := p.add(&lockfile.Node{Key: key, Parent: packagesKey, Raw: m.Raw}, m, decode); err != nil {
			return err
		}
	}
	return end()
}

// encoder writes a Doc.
type encoder struct {
	out  []byte
	doc  *lockfile.Doc
	kids map[string][]*lockfile.Node // by Parent
	at   map[string]int              // keys asked for, and where they are written
}

func encode(d *lockfile.Doc) ([]byte, error) { return newEncoder(d).file(), nil }

func newEncoder(d *lockfile.Doc) *encoder {
	e := &encoder{doc: d, kids: map[string][]*lockfile.Node{}}
	size := 1024
	d.Nodes(func(n *lockfile.Node) {
		size += len(n.Raw) + 1
		if n.Parent != "" {
			e.kids[n.Parent] = append(e.kids[n.Parent], n)
		}
	})
	e.out = make([]byte, 0, size)
	return e
}

func (e *encoder) file() []byte {
	syn := syntax(e.doc)
	e.out = append(append(e.out, syn.before...), '{')
	e.members()
	return append(append(e.out, syn.closing...), syn.after...)
}

// members writes the members of the file.
func (e *encoder) members() {
	first := true
	e.doc.Nodes(func(n *lockfile.Node) {
		if n.Parent != "" {
			return
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		s, ok := n.Data.(*objectText)
		if !ok {
			e.out = append(e.out, n.Raw...)
			return
		}
		e.out = append(e.out, n.Raw...)
		e.object(leadOf(n.Raw), s.closing, s.empty, e.kids[n.Key])
		e.out = append(e.out, s.tail...)
	})
}

// object writes the members of a section or of an entry's nested packages. The
// lead is that of the member whose value it is; closing was that of an empty
// object, or of one with members.
func (e *encoder) object(lead string, closing []byte, empty bool, kids []*lockfile.Node) {
	e.out = append(e.out, '{')
	for i, n := range kids {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if _, ok := e.at[n.Key]; ok {
			e.at[n.Key] = len(e.out)
		}
		e.legacy(n)
	}
	switch {
	case empty == (len(kids) == 0):
		e.out = append(e.out, closing...)
	case empty && strings.Contains(lead, "\n"):
		e.out = append(append(e.out, lead...), '}')
	default:
		e.out = append(e.out, '}')
	}
}

// objects puts an object back that one side dropped with its last member, while
// the other put one in.
func objects(m *lockfile.Merge) {
	lost := map[string][]*lockfile.Node{}
	m.Nodes(func(n *lockfile.Node) {
		if strings.HasPrefix(n.Parent, "#") && !strings.HasPrefix(n.Parent, legacyPrefix) && m.Node(n.Parent) == nil {
			lost[n.Parent] = append(lost[n.Parent], n)
		}
	})
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		for _, d := range m.Sources() {
			n := d.Node(key)
			if n == nil {
				continue
			}
			m.Set(n, m.Behind(d, key))
			behind := key
			for _, kid := range lost[key] { // they stand where nothing told their place
				m.Delete(kid.Key)
				m.Set(kid, behind)
				behind = kid.Key
			}
			break
		}
	}
}

// leadOf is the white space that a member's text begins with.
func leadOf(raw []byte) string {
	return string(raw[:len(raw)-len(bytes.TrimLeft(raw, " \t\r\n"))])
}
