package pnpm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// An entry is one key of a block mapping, or one item of a block sequence,
// with the lines that belong to it. Its text is lead + head + body.
type entry struct {
	lead string // blank lines and comments before it
	head string // the line of the key
	body string // the deeper lines
	key  string // decoded; of an item, its text
	val  string // what stands behind the colon, as written
	line int    // of head; 1-based
	item bool   // of a sequence
	// explicit keys stand behind "? ", and their value behind ": " on the next
	// line: so does js-yaml write keys of over 1024 bytes.
	explicit bool
}

func (e *entry) text() string { return e.lead + e.head + e.body }

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

// indent is the number of spaces that a line begins with.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// lineOf cuts the first line, with its end, off a text.
func lineOf(text string) (line, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// split cuts a block mapping or sequence into entries. What follows the last
// one, blank lines and comments, is the tail. Line is the number of the first.
func split(text string, line int) (entries []entry, tail string, err error) {
	var lead, body strings.Builder // body: of the last entry
	in := -1                       // the indentation of the entries
	scalar := false                // inside a block scalar, where anything goes
	flush := func() {
		if n := len(entries); n > 0 {
			entries[n-1].body += body.String()
			body.Reset()
		}
	}
	for rest := text; rest != ""; line++ {
		var l string
		l, rest = lineOf(rest)
		bare := strings.TrimSpace(l)
		at := indent(l)
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
			(item && !entries[last].item || entries[last].explicit && strings.HasPrefix(bare, ":"))
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
		if last >= 0 && e.item != entries[last].item {
			return nil, "", fmt.Errorf("line %d: a list and keys in one place", line)
		}
		e.lead, e.line = lead.String(), line
		lead.Reset()
		scalar = e.val != "" && (e.val[0] == '|' || e.val[0] == '>') || e.item
		entries = append(entries, e)
	}
	flush()
	return entries, lead.String(), nil
}

func parseHead(l string, item bool) (entry, error) {
	e := entry{head: l, item: item}
	s := strings.TrimLeft(l, " ")
	s = strings.TrimSuffix(s, "\n")
	switch {
	case marker(s):
		return e, lockfile.ErrConflictMarkers
	case s == "---" || strings.HasPrefix(s, "--- ") || s == "...":
		return e, errDocuments
	case item:
		e.val = strings.TrimSpace(strings.TrimPrefix(s, "-"))
		e.key, _ = unquote(e.val)
		return e, nil
	case strings.HasPrefix(s, "? "):
		e.explicit = true
		k, ok := unquote(strings.TrimSpace(s[2:]))
		if !ok || k == "" {
			return e, fmt.Errorf("not a key: %s", short(s))
		}
		e.key = k
		return e, nil
	}
	tok, val, ok := cutKey(s)
	if !ok {
		return e, fmt.Errorf("not a key with a value: %s", short(s))
	}
	k, ok := unquote(tok)
	if !ok || k == "" {
		return e, fmt.Errorf("not a key: %s", short(s))
	}
	e.key, e.val = k, strings.TrimSpace(val)
	return e, nil
}

// short quotes a line of a file for a message.
func short(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}

// cutKey cuts a line into key and value, both as written.
func cutKey(s string) (key, val string, ok bool) {
	end := 0
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		end = quoteEnd(s)
		if end < 0 {
			return "", "", false
		}
		rest := strings.TrimLeft(s[end:], " ")
		if rest != ":" && !strings.HasPrefix(rest, ": ") {
			return "", "", false
		}
		return s[:end], rest[1:], true
	}
	if end = strings.Index(s, ": "); end >= 0 {
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

// unquote decodes a scalar of one line. A comment behind it is dropped.
func unquote(s string) (string, bool) {
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

// scalar writes a value as js-yaml does: in single quotes where it would be
// read as something else.
func scalar(s string) string {
	plain := s != "" && !strings.ContainsAny(s[:1], "@`'\"%&*!|>{}[],#?:- ") &&
		!strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ")
	if plain {
		if _, err := strconv.ParseFloat(s, 64); err != nil && s != "true" && s != "false" && s != "null" && s != "~" {
			return s
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// withKeyValue is the entry's head line with another key or value; what is not
// changed keeps its quotes.
func (e *entry) withKeyValue(key, val string) string {
	in := e.head[:indent(e.head)]
	if e.explicit {
		return in + "? " + scalar(key) + "\n"
	}
	tok, _, _ := cutKey(strings.TrimSuffix(e.head[len(in):], "\n"))
	if key != e.key {
		tok = scalar(key)
	}
	old, _ := unquote(e.val)
	switch {
	case val == "":
		return in + tok + ":\n"
	case val == old:
		return in + tok + ": " + e.val + "\n"
	}
	return in + tok + ": " + scalar(val) + "\n"
}
