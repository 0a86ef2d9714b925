package jsontext

import (
	"bytes"
	"errors"
)

// A Scanner goes through an object's members. Who scans a member's value, too,
// tells the Scanner where that ends, so that no byte is looked at twice however
// deep a text is nested.
type Scanner struct {
	text []byte
	err  error
	key  []byte

	start, keyAt, keyEnd, valueAt int
	end                           int // of the value; 0 while unknown
	next                          int // where the next member begins
	closing                       int
}

// Scan begins with the object at text[at] (white space before it is skipped).
// The text must have passed [Check].
func Scan(text []byte, at int) (*Scanner, error) {
	i := space(text, at)
	if i >= len(text) || text[i] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return &Scanner{text: text, next: i + 1}, nil
}

// Next goes to the next member. False: there is none, or an error.
func (s *Scanner) Next() bool {
	if s.valueAt > 0 {
		s.Member()
		if s.next < len(s.text) && s.text[s.next] == ',' {
			s.next++
		}
	}
	t := s.text
	s.start, s.end = s.next, 0
	k := space(t, s.start)
	if t[k] == '}' {
		s.closing, s.valueAt = k+1, 0
		return false
	}
	s.keyAt, s.keyEnd = k, str(t, k)
	s.key = t[k+1 : s.keyEnd-1]
	if bytes.IndexByte(s.key, '\\') >= 0 {
		key, err := unquote(t[k:s.keyEnd])
		if err != nil {
			s.err = err
			return false
		}
		s.key = []byte(key)
	}
	s.valueAt = space(t, space(t, s.keyEnd)+1) // behind the colon
	return true
}

// Err is what stopped Next, or nil at the object's end.
func (s *Scanner) Err() error { return s.err }

// Key is the member's decoded key. It must not be changed, and holds until Next.
func (s *Scanner) Key() []byte { return s.key }

// ValueAt is the offset of the member's value.
func (s *Scanner) ValueAt() int { return s.valueAt }

// IsObject reports whether the member's value is an object.
func (s *Scanner) IsObject() bool { return s.text[s.valueAt] == '{' }

// Head is the member's text up to its value.
func (s *Scanner) Head() []byte { return s.text[s.start:s.valueAt] }

// Leave says where the member's value ends.
func (s *Scanner) Leave(end int) { s.end = end }

// Member is the member, without its Key.
func (s *Scanner) Member() Member {
	if s.end == 0 {
		s.end = value(s.text, s.valueAt)
	}
	s.next = s.end
	if comma := space(s.text, s.end); comma < len(s.text) && s.text[comma] == ',' {
		s.next = comma
	}
	return Member{
		Raw: s.text[s.start:s.next:s.next], Offset: s.start,
		KeyAt: s.keyAt - s.start, KeyEnd: s.keyEnd - s.start,
		ValueAt: s.valueAt - s.start, ValueEnd: s.end - s.start,
	}
}

// End is the white space before the closing brace with the brace, and the
// offset behind it, once Next has returned false.
func (s *Scanner) End() (closing []byte, end int) {
	if s.err != nil {
		return nil, 0
	}
	return s.text[s.start:s.closing], s.closing
}
