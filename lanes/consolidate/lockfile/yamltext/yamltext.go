// Package yamltext takes YAML that machines write apart, line by line, and puts
// it together again with every byte that nobody changed.
//
// It knows block mappings and sequences, comments, quotes and the explicit keys
// of js-yaml. What stands on one line in braces is one value to it.
package yamltext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// An Entry is one key of a block mapping, or one item of a block sequence,
// with the lines that belong to it. Its text is Lead + Head + Body.
type Entry struct {
	Lead string // blank lines and comments before it
	Head string // the line of the key
	Body string // the deeper lines
	Key  string // decoded; of an item, its text
	Val  string // what stands behind the colon, as written
	Line int    // of Head; 1-based
	Item bool   // of a sequence
	// Explicit keys stand behind "? ", and their value behind ": " on the next
	// line: so does js-yaml write keys of over 1024 bytes.
	Explicit bool
}

// Text is the entry as it stands in its file.
func (e *Entry) Text() string { return e.Lead + e.Head + e.Body }

// errDocuments: pnpm 11 puts a lockfile of its own configuration before the project's.
var errDocuments = errors.New("the file holds several YAML documents")

// marker reports whether a line is one that an unfinished merge leaves.
func marker(line string) bool {
	for _, m := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	return false
}

// Indent is the number of spaces that a line begins with.
func Indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// LineOf cuts the first line, with its end, off a text.
func LineOf(text string) (line, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// Split cuts a block mapping or sequence into entries. What follows the last
// one, blank lines and comments, is the tail. Line is the number of the first.
// Errors name the line; an unfinished merge is [lockfile.ErrConflictMarkers].
func Split(text string, line int) (entries []Entry, tail string, err error) {
	var lead, body strings.Builder // body: of the last entry
	in := -1                       // the indentation of the entries
	scalar := false                // inside a block scalar, where anything goes
	flush := func() {
		if n := len(entries); n > 0 {
			entries[n-1].Body += body.String()
			body.Reset()
		}
	}
	for rest := text; rest != ""; line++ {
		var l string
		l, rest = LineOf(rest)
		bare := strings.TrimSpace(l)
		at := Indent(l)
		switch {
		case bare == "":
			lead.WriteString(l)
			continue
		case bare[0] == '#' && (!scalar || at <= in):
			lead.WriteString(l)
			continue
		}
		if in < 0 {
			in = at
		}
		item := bare == "-" || strings.HasPrefix(bare, "- ")
		last := len(entries) - 1
		deeper := at > in || at == in && last >= 0 &&
			(item && !entries[last].Item || entries[last].Explicit && strings.HasPrefix(bare, ":"))
		if deeper && last >= 0 {
			body.WriteString(lead.String())
			lead.Reset()
			body.WriteString(l)
			continue
		}
		if at != in {
			return nil, "", fmt.Errorf("line %d: indented by %d spaces, expected %d", line, at, in)
		}
		flush()
		e, err := parseHead(l, item)
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", line, err)
		}
		if last >= 0 && e.Item != entries[last].Item {
			return nil, "", fmt.Errorf("line %d: a list and keys in one place", line)
		}
		e.Lead, e.Line = lead.String(), line
		lead.Reset()
		scalar = e.Val != "" && (e.Val[0] == '|' || e.Val[0] == '>') || e.Item
		entries = append(entries, e)
	}
	flush()
	return entries, lead.String(), nil
}

func parseHead(l string, item bool) (Entry, error) {
	e := Entry{Head: l, Item: item}
	s := strings.TrimLeft(l, " ")
	s = strings.TrimSuffix(s, "\n")
	switch {
	case marker(s):
		return e, lockfile.ErrConflictMarkers
	case s == "---" || strings.HasPrefix(s, "--- ") || s == "...":
		return e, errDocuments
	case item:
		e.Val = strings.TrimSpace(strings.TrimPrefix(s, "-"))
		e.Key, _ = Unquote(e.Val)
		return e, nil
	case strings.HasPrefix(s, "? "):
		e.Explicit = true
		k, ok := Unquote(strings.TrimSpace(s[2:]))
		if !ok || k == "" {
			return e, fmt.Errorf("not a key: %s", Short(s))
		}
		e.Key = k
		return e, nil
	}
	tok, val, ok := cutKey(s)
	if !ok {
		return e, fmt.Errorf("not a key with a value: %s", Short(s))
	}
	k, ok := Unquote(tok)
	if !ok || k == "" {
		return e, fmt.Errorf("not a key: %s", Short(s))
	}
	e.Key, e.Val = k, strings.TrimSpace(val)
	return e, nil
}

// Short quotes a line of a file for a message.
func Short(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}

// cutKey cuts a line into key and value, both as written.
func cutKey(s string) (key, val string, ok bool) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		end := quoteEnd(s)
		if end < 0 {
			return "", "", false
		}
		rest := strings.TrimLeft(s[end:], " ")
		if rest != ":" && !strings.HasPrefix(rest, ": ") {
			return "", "", false
		}
		return s[:end], rest[1:], true
	}
	if end := strings.Index(s, ": "); end >= 0 {
		return strings.TrimRight(s[:end], " "), s[end+1:], true
	}
	if rest, ok := strings.CutSuffix(strings.TrimRight(s, " \t\r"), ":"); ok {
		return rest, "", true
	}
	return "", "", false
}

// quoteEnd is the index behind the closing quote of the scalar that s begins with.
func quoteEnd(s string) int {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q == '"':
			i++
		case s[i] == q && q == '\'' && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return -1
}

// Unquote decodes a scalar of one line. A comment behind it is dropped.
func Unquote(s string) (string, bool) {
	if s == "" {
		return "", true
	}
	switch s[0] {
	case '\'':
		end := quoteEnd(s)
		if end < 0 || !commentOnly(s[end:]) {
			return "", false
		}
		return strings.ReplaceAll(s[1:end-1], "''", "'"), true
	case '"':
		end := quoteEnd(s)
		if end < 0 || !commentOnly(s[end:]) {
			return "", false
		}
		v, err := strconv.Unquote(s[:end])
		return v, err == nil
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s), true
}

func commentOnly(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s[0] == '#'
}

// Scalar writes a value as js-yaml does: in single quotes where it would be
// read as something else.
func Scalar(s string) string {
	plain := s != "" && !strings.ContainsAny(s[:1], "@`'\"%&*!|>{}[],#?:- ") &&
		!strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ")
	if plain {
		if _, err := strconv.ParseFloat(s, 64); err != nil && s != "true" && s != "false" && s != "null" && s != "~" {
			return s
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// WithKeyValue is the entry's head line with another key or value; what is not
// changed keeps its quotes.
func (e *Entry) WithKeyValue(key, val string) string {
	in := e.Head[:Indent(e.Head)]
	if e.Explicit {
		return in + "? " + Scalar(key) + "\n"
	}
	tok, _, _ := cutKey(strings.TrimSuffix(e.Head[len(in):], "\n"))
	if key != e.Key {
		tok = Scalar(key)
	}
	old, _ := Unquote(e.Val)
	switch {
	case val == "":
		return in + tok + ":\n"
	case val == old:
		return in + tok + ": " + e.Val + "\n"
	}
	return in + tok + ": " + Scalar(val) + "\n"
}

// Inner splits an entry's body. A tail, which only blank lines at the end of
// the file can be, stays with the last entry.
func (e *Entry) Inner() ([]Entry, error) {
	if e.Val != "" && e.Val != "{}" && e.Val != "[]" && e.Val[0] != '#' {
		return nil, fmt.Errorf("line %d: %s on one line, expected entries below it", e.Line, Short(e.Key))
	}
	text := e.Body
	if e.Explicit {
		text = strings.Replace(text, ":", " ", 1)
	}
	list, tail, err := Split(text, e.Line+1)
	if err != nil {
		return nil, err
	}
	if tail != "" && len(list) > 0 {
		list[len(list)-1].Body += tail
	}
	return list, nil
}

// Conflicted looks for the marks of an unfinished merge.
func Conflicted(text string) error {
	for n := 1; text != ""; n++ {
		var l string
		l, text = LineOf(text)
		if marker(l) {
			return fmt.Errorf("line %d: %w", n, lockfile.ErrConflictMarkers)
		}
	}
	return nil
}
