// Package jsontext takes JSON text apart without losing a byte of it, so that
// a file can be changed in one member and stay as it was everywhere else.
//
// It is no decoder: values stay text. Whoever needs a value's meaning decodes
// the few bytes concerned with encoding/json.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Member is one member of an object, as text.
type Member struct {
	Key string
	// Raw runs from behind the comma (or brace) before the member to the comma
	// behind it, or to the end of the last one's value: leading white space,
	// key, colon, value, and what white space stands before that comma.
	Raw []byte
	// KeyAt, KeyEnd, ValueAt and ValueEnd are offsets into Raw: the key with its quotes, and the value.
	KeyAt, KeyEnd, ValueAt, ValueEnd int
	// Offset is where Raw begins in the text that was parsed.
	Offset int
}

// Value returns the member's value as text.
func (m Member) Value() []byte { return m.Raw[m.ValueAt:m.ValueEnd] }

// Lead returns the white space before the key.
func (m Member) Lead() []byte { return m.Raw[:m.KeyAt] }

// WithValue returns the member with another value.
func (m Member) WithValue(value []byte) Member {
	raw := make([]byte, 0, m.ValueAt+len(value)+len(m.Raw)-m.ValueEnd)
	raw = append(append(raw, m.Raw[:m.ValueAt]...), value...)
	m.Raw, m.ValueEnd = append(raw, m.Raw[m.ValueEnd:]...), len(raw)
	return m
}

// WithKey returns the member under another key.
func (m Member) WithKey(key string) Member {
	quoted := Quote(key)
	raw := make([]byte, 0, len(m.Raw)+len(quoted))
	raw = append(append(raw, m.Raw[:m.KeyAt]...), quoted...)
	raw = append(raw, m.Raw[m.KeyEnd:]...)
	longer := len(quoted) - (m.KeyEnd - m.KeyAt)
	m.Key, m.Raw = key, raw
	m.KeyEnd, m.ValueAt, m.ValueEnd = m.KeyEnd+longer, m.ValueAt+longer, m.ValueEnd+longer
	return m
}

// NewMember makes a member as a pretty printer with this leading white space would.
func NewMember(lead, key string, value []byte) Member {
	quoted := Quote(key)
	raw := make([]byte, 0, len(lead)+len(quoted)+2+len(value))
	raw = append(append(raw, lead...), quoted...)
	raw = append(append(raw, ": "...), value...)
	return Member{
		Key: key, Raw: raw,
		KeyAt: len(lead), KeyEnd: len(lead) + len(quoted),
		ValueAt: len(lead) + len(quoted) + 2, ValueEnd: len(raw),
	}
}

// Object is an object's text, taken apart. The text is Open, the members
// joined by commas, then Close.
type Object struct {
	Members []Member
	// Close is the white space before the closing brace, and the brace.
	Close []byte
	// End is the offset behind the closing brace.
	End int
}

// DuplicateError says that an object has a key twice.
type DuplicateError struct {
	Key    string
	Offset int // of the second one
}

func (e *DuplicateError) Error() string { return fmt.Sprintf("the key %q stands twice", e.Key) }

// Check returns an error with its line when text is not one JSON value.
func Check(text []byte) error {
	if valid(text) {
		return nil
	}
	// The standard decoder has the better words.
	var v json.RawMessage
	err := json.Unmarshal(text, &v)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		at := min(max(int(se.Offset)-1, 0), len(text))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte{'\n'}), err)
	}
	if err == nil {
		err = errors.New("not JSON")
	}
	return err
}

// Parse takes the object apart that begins at text[at] (white space before it
// is skipped). The text must have passed Check.
func Parse(text []byte, at int) (Object, error) {
	var o Object
	var err error
	o.Close, o.End, err = Walk(text, at, func(m Member, key []byte) error {
		m.Key = string(key)
		o.Members = append(o.Members, m)
		return nil
	})
	return o, err
}

// Walk is Parse without keeping anything: it calls f for each member of the
// object, whose Key is left to f to set from the decoded key. It returns the
// object's Close and End, or the first error of f.
func Walk(text []byte, at int, f func(m Member, key []byte) error) (closing []byte, end int, err error) {
	s, err := Scan(text, at)
	if err != nil {
		return nil, 0, err
	}
	for s.Next() {
		if err := f(s.Member(), s.Key()); err != nil {
			return nil, 0, err
		}
	}
	closing, end = s.End()
	return closing, end, s.Err()
}

// Unique returns a *DuplicateError when two members have one key.
func (o Object) Unique() error {
	seen := make(map[string]struct{}, len(o.Members))
	for _, m := range o.Members {
		if _, ok := seen[m.Key]; ok {
			return &DuplicateError{m.Key, m.Offset + m.KeyAt}
		}
		seen[m.Key] = struct{}{}
	}
	return nil
}

// Get returns the member with a key.
func (o Object) Get(key string) (Member, bool) {
	for _, m := range o.Members {
		if m.Key == key {
			return m, true
		}
	}
	return Member{}, false
}

// Append writes the object with these members to dst.
func Append(dst []byte, members []Member, closing []byte) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.Raw...)
	}
	if len(members) == 0 {
		return append(dst, '}')
	}
	return append(dst, closing...)
}

// String returns the string that text is, if it is one.
func String(text []byte) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	s, err := unquote(text)
	return s, err == nil
}

// Strings returns the members of an object whose values are strings, in order.
func Strings(text []byte) [][2]string {
	o, err := Parse(text, 0)
	if err != nil {
		return nil
	}
	out := make([][2]string, 0, len(o.Members))
	for _, m := range o.Members {
		if s, ok := String(m.Value()); ok {
			out = append(out, [2]string{m.Key, s})
		}
	}
	return out
}

// Quote writes a string as package managers do: no HTML escapes.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// Indent returns the text of a value with every line's leading indentation
// moved from one member's depth and unit to another's.
func Indent(value []byte, from, to Style, fromDepth, toDepth int) []byte {
	if (from == to && fromDepth == toDepth) || bytes.IndexByte(value, '\n') < 0 {
		return value
	}
	lines := bytes.Split(value, []byte{'\n'})
	for i, l := range lines[1:] {
		depth := 0
		for from.Unit != "" && bytes.HasPrefix(l, []byte(from.Unit)) {
			l = l[len(from.Unit):]
			depth++
		}
		pad := bytes.Repeat([]byte(to.Unit), max(depth-fromDepth+toDepth, 0))
		lines[i+1] = append(pad, l...)
	}
	return bytes.Join(lines, []byte{'\n'})
}

// Style is how a file is indented.
type Style struct{ Unit string }

// StyleOf reads the indentation from an object's first member.
func StyleOf(o Object) Style {
	if len(o.Members) == 0 {
		return Style{"  "}
	}
	lead := o.Members[0].Lead()
	return Style{string(lead[bytes.LastIndexByte(lead, '\n')+1:])}
}

func space(t []byte, i int) int {
	for i < len(t) && (t[i] == ' ' || t[i] == '\n' || t[i] == '\t' || t[i] == '\r') {
		i++
	}
	return i
}

// str returns the offset behind the string that begins at i.
func str(t []byte, i int) int {
	for i++; i < len(t); {
		j := bytes.IndexByte(t[i:], '"')
		if j < 0 {
			return len(t)
		}
		j += i
		n := 0
		for k := j - 1; k >= i && t[k] == '\\'; k-- {
			n++
		}
		i = j + 1
		if n%2 == 0 {
			return i
		}
	}
	return len(t)
}

// value returns the offset behind the value that begins at i.
func value(t []byte, i int) int {
	if i >= len(t) {
		return len(t)
	}
	switch t[i] {
	case '"':
		return str(t, i)
	case '{', '[':
		depth := 0
		for i < len(t) {
			switch t[i] {
			case '"':
				i = str(t, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(t)
	}
	for i < len(t) && t[i] != ',' && t[i] != '}' && t[i] != ']' && t[i] > ' ' {
		i++
	}
	return i
}

func unquote(t []byte) (string, error) {
	if bytes.IndexByte(t, '\\') < 0 {
		return string(t[1 : len(t)-1]), nil
	}
	var s string
	if err := json.Unmarshal(t, &s); err != nil {
		return "", fmt.Errorf("string %s: %w", strconv.Quote(string(t)), err)
	}
	return s, nil
}
