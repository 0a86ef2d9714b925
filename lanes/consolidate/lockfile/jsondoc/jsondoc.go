// Package jsondoc reads and writes a JSON file as a [lockfile.Doc]: a node a
// member of the file, and where a member holds what is merged one by one, a node
// for each of these, too. Every byte is kept.
//
// Keys are '#' and the name for a member of the file; what stands in it has a
// key of the format's own, and the member's key for Parent.
package jsondoc

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// Frame is the text around the members of a file.
type Frame struct {
	Before, After []byte // up to the first brace, and behind the last
	Closing       []byte // the white space before the last brace, and the brace
}

// Object is the Data of a node whose members are nodes of their own; its Raw is
// the text up to the brace.
type Object struct {
	closing []byte // with the brace
	empty   bool   // closing is that of an empty object
	tail    []byte // white space between the brace and the comma
}

// Parser fills a Doc. Nodes whose text stands in Like, which may be nil, are
// taken from there.
type Parser struct {
	Content []byte
	Like    *lockfile.Doc
	Doc     *lockfile.Doc
	// Same compares what of two nodes with one text is not in the text. Nil: nothing.
	Same func(old, n *lockfile.Node) bool
}

// Open checks a file's text and begins to read it. The error of a file with the
// marks of an unfinished merge is [lockfile.ErrConflictMarkers], with the line.
func Open(content []byte, like *lockfile.Doc) (*Parser, *jsontext.Scanner, error) {
	if err := jsontext.Check(content); err != nil {
		if line := conflictLine(content); line > 0 {
			err = fmt.Errorf("line %d: %w", line, lockfile.ErrConflictMarkers)
		}
		return nil, nil, err
	}
	top, err := jsontext.Scan(content, 0)
	if err != nil {
		return nil, nil, err
	}
	size := 32
	if like != nil {
		size = like.Len() + 16
	}
	return &Parser{Content: content, Like: like, Doc: lockfile.NewDoc(size)}, top, nil
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

// Line is the 1-based line of an offset.
func (p *Parser) Line(at int) int { return 1 + bytes.Count(p.Content[:at], []byte{'\n'}) }

// Key makes the bytes of a key a string, the one that Like has if it can.
func (p *Parser) Key(b []byte) string {
	if p.Like != nil {
		if old := p.Like.At(b); old != nil {
			return old.Key
		}
	}
	return string(b)
}

// Add appends a node with the text of a member: the one of Like with the same
// text, or n, completed. A key that is taken is a *lockfile.DuplicateError.
func (p *Parser) Add(n *lockfile.Node, m jsontext.Member, complete func(*lockfile.Node, jsontext.Member) error) error {
	if old := p.likeness(n); old != nil {
		n = old
	} else {
		n.Raw = bytes.Clone(n.Raw) // so that the file itself can be let go
		m.Raw = n.Raw
		if err := complete(n, m); err != nil {
			return fmt.Errorf("line %d: %q: %w", p.Line(m.Offset+m.KeyAt), n.Key, err)
		}
	}
	if !p.Doc.Add(n) {
		return &lockfile.DuplicateError{Key: n.Key, Line: p.Line(m.Offset + m.KeyAt)}
	}
	return nil
}

func (p *Parser) likeness(n *lockfile.Node) *lockfile.Node {
	if p.Like == nil {
		return nil
	}
	old := p.Like.Node(n.Key)
	if old == nil || old.Parent != n.Parent || !bytes.Equal(old.Raw, n.Raw) || p.Same != nil && !p.Same(old, n) {
		return nil
	}
	return old
}

// Object adds the node of a member whose members become nodes of their own. It
// returns a Scanner over these, and what to call behind the last.
func (p *Parser) Object(top *jsontext.Scanner, key string) (s *jsontext.Scanner, end func() error, err error) {
	if !top.IsObject() {
		return nil, nil, fmt.Errorf("%q is not an object", key[1:])
	}
	o := &Object{}
	if !p.Doc.Add(&lockfile.Node{Key: key, Raw: bytes.Clone(top.Head()), Data: o}) {
		return nil, nil, &lockfile.DuplicateError{Key: key, Line: p.Line(top.ValueAt())}
	}
	n := p.Doc.Len()
	s, err = jsontext.Scan(p.Content, top.ValueAt())
	return s, func() error {
		closing, end := s.End()
		top.Leave(end)
		m := top.Member()
		*o = Object{closing: bytes.Clone(closing), empty: p.Doc.Len() == n, tail: bytes.Clone(m.Raw[m.ValueEnd:])}
		return s.Err()
	}, err
}

// Frame is the text around the members that a Scanner has gone through.
func (p *Parser) Frame(top *jsontext.Scanner) (Frame, error) {
	if top.Err() != nil {
		return Frame{}, top.Err()
	}
	closing, end := top.End()
	return Frame{
		Before:  bytes.Clone(p.Content[:bytes.IndexByte(p.Content, '{')]),
		After:   bytes.Clone(p.Content[end:]),
		Closing: bytes.Clone(closing),
	}, nil
}

// Encoder writes a Doc.
type Encoder struct {
	Out  []byte
	Kids map[string][]*lockfile.Node // by Parent
	// Entry writes a node that stands in an object. Nil: its Raw.
	Entry func(e *Encoder, n *lockfile.Node)
	// At holds keys that are asked for; it is filled with where they are written.
	At map[string]int

	doc *lockfile.Doc
}

// NewEncoder begins to write a Doc.
func NewEncoder(d *lockfile.Doc) *Encoder {
	e := &Encoder{doc: d, Kids: map[string][]*lockfile.Node{}}
	size := 1024
	d.Nodes(func(n *lockfile.Node) {
		size += len(n.Raw) + 1
		if n.Parent != "" {
			e.Kids[n.Parent] = append(e.Kids[n.Parent], n)
		}
	})
	e.Out = make([]byte, 0, size)
	return e
}

// File writes the file.
func (e *Encoder) File(f Frame) []byte {
	e.Out = append(append(e.Out, f.Before...), '{')
	first := true
	e.doc.Nodes(func(n *lockfile.Node) {
		if n.Parent != "" {
			return
		}
		if !first {
			e.Out = append(e.Out, ',')
		}
		first = false
		e.Out = append(e.Out, n.Raw...)
		if o, ok := n.Data.(*Object); ok {
			e.Object(Lead(n.Raw), o.closing, o.empty, e.Kids[n.Key])
			e.Out = append(e.Out, o.tail...)
		}
	})
	return append(append(e.Out, f.Closing...), f.After...)
}

// Object writes an object with these members. The lead is that of the member
// whose value it is; closing was that of an empty object, or of one with members.
func (e *Encoder) Object(lead string, closing []byte, empty bool, kids []*lockfile.Node) {
	e.Out = append(e.Out, '{')
	for i, n := range kids {
		if i > 0 {
			e.Out = append(e.Out, ',')
		}
		if _, ok := e.At[n.Key]; ok {
			e.At[n.Key] = len(e.Out)
		}
		if e.Entry != nil {
			e.Entry(e, n)
		} else {
			e.Out = append(e.Out, n.Raw...)
		}
	}
	switch {
	case empty == (len(kids) == 0):
		e.Out = append(e.Out, closing...)
	case empty && strings.Contains(lead, "\n"):
		e.Out = append(append(e.Out, lead...), '}')
	default:
		e.Out = append(e.Out, '}')
	}
}

// Restore puts an object back that one side dropped with its last member, while
// the other put one in.
func Restore(m *lockfile.Merge) {
	lost := map[string][]*lockfile.Node{}
	m.Nodes(func(n *lockfile.Node) {
		if strings.HasPrefix(n.Parent, "#") && m.Node(n.Parent) == nil {
			lost[n.Parent] = append(lost[n.Parent], n)
		}
	})
	for _, key := range slices.Sorted(maps.Keys(lost)) {
		for _, d := range m.Sources() {
			n := d.Node(key)
			if n == nil {
				continue
			}
			if _, ok := n.Data.(*Object); !ok {
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

// Lead is the white space that a member's text begins with.
func Lead(raw []byte) string {
	return string(raw[:len(raw)-len(bytes.TrimLeft(raw, " \t\r\n"))])
}
