package yarn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A block is one entry of the file, as text.
type block struct {
	gap  string // what stands before it, from the end of the block above
	line string // its key line or lines, without the last newline
	keys []string
	body string // its fields, without the last newline
	at   int    // the number of its key line
}

const (
	// usualGap is what yarn writes between two blocks, usualTail behind the last.
	usualGap  = "\n\n"
	usualTail = "\n"
)

// split takes a file apart: head, blocks and tail are its whole text.
func (y *dialect) split(text string) (head string, blocks []*block, tail string, err error) {
	var cur *block
	var bodyAt, bodyEnd int // of the block being read; bodyEnd is 0 while it has no field
	closed := 0             // where the last block ended
	finish := func() error {
		if cur == nil {
			return nil
		}
		if bodyEnd == 0 {
			return fmt.Errorf("line %d: the entry %s has no fields", cur.at, strconv.Quote(cur.line))
		}
		cur.body = text[bodyAt:bodyEnd]
		closed = bodyEnd
		return nil
	}
	line := 0
	for pos := 0; pos < len(text); {
		line++
		l, next := lineAt(text, pos)
		switch {
		case strings.TrimRight(l, " \t\r") == "" || l[0] == '#':
		case l[0] == ' ':
			if cur == nil {
				return "", nil, "", fmt.Errorf("line %d: a field outside of any entry: %s", line, quoted(l))
			}
			bodyEnd = pos + len(l)
		case isMark(l):
			return "", nil, "", fmt.Errorf("line %d: %w", line, lockfile.ErrConflictMarkers)
		default:
			if err := finish(); err != nil {
				return "", nil, "", err
			}
			n := &block{gap: text[closed:pos], line: l, at: line}
			key := l
			if y.berry && strings.HasPrefix(l, "? ") { // a long key, with the colon on a line of its own
				colon, after := lineAt(text, next)
				n.line = text[pos : next+len(colon)]
				key = strings.TrimPrefix(l, "? ") + colon
				next = after
				line++
			}
			key, ok := strings.CutSuffix(strings.TrimRight(key, " \r"), ":")
			if !ok {
				return "", nil, "", fmt.Errorf("line %d: neither an entry nor a field: %s", line, quoted(l))
			}
			if n.keys, err = y.keys(key); err != nil {
				return "", nil, "", fmt.Errorf("line %d: %w", n.at, err)
			}
			blocks, cur = append(blocks, n), n
			bodyAt, bodyEnd = min(next, len(text)), 0
		}
		pos = next
	}
	if err := finish(); err != nil {
		return "", nil, "", err
	}
	if len(blocks) == 0 {
		return text, nil, usualTail, nil
	}
	head, blocks[0].gap = blocks[0].gap, usualGap
	return head, blocks, text[closed:], nil
}

// lineAt is the line that begins at pos, without its newline, and where the next begins.
func lineAt(text string, pos int) (string, int) {
	if pos >= len(text) {
		return "", len(text)
	}
	if end := strings.IndexByte(text[pos:], '\n'); end >= 0 {
		return text[pos : pos+end], pos + end + 1
	}
	return text[pos:], len(text)
}

func isMark(l string) bool {
	for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if strings.HasPrefix(l, mark) {
			return true
		}
	}
	return false
}

// quoted is a line for an error: harmless, and not too long.
func quoted(s string) string {
	if len(s) > 80 {
		s = s[:80]
	}
	return strconv.Quote(s)
}

var errNoDescriptor = errors.New("an entry without a descriptor")

// nameOf is the package of a descriptor: what stands before its range.
func nameOf(descriptor string) string {
	name, _ := descriptorOf(descriptor)
	return name
}

// descriptorOf splits name@range. A range may be missing.
func descriptorOf(descriptor string) (name, rng string) {
	if descriptor == "" {
		return "", ""
	}
	if at := strings.IndexByte(descriptor[1:], '@'); at >= 0 {
		return descriptor[:at+1], descriptor[at+2:]
	}
	return descriptor, ""
}

func lineError(line int, what string) error { return fmt.Errorf("line %d: %s", line, what) }
