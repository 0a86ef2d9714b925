package docker

import (
	"regexp"
	"strings"
)

// lexer walks over the instructions of a Dockerfile. It knows what an
// instruction must not be looked for in: comments, lines that go on with the one
// before, and here-documents.
type lexer struct {
	text   string
	at     int  // of the next line
	escape byte // ends a line that goes on
	start  int  // of the instruction's first line
	end    int
	begun  bool // behind the parser directives
}

func newLexer(text string) *lexer { return &lexer{text: text, escape: '\\'} }

// word is a word of an instruction's first line.
type word struct {
	text string
	at   int
}

var (
	// directive is a comment before all else that steers the parser.
	directive = regexp.MustCompile(`^[ \t]*#[ \t]*([A-Za-z0-9]+)[ \t]*=[ \t]*(.*?)[ \t\r]*$`)
	heredoc   = regexp.MustCompile(`^\d*<<(-?)(?:"([^"<]+)"|'([^'<]+)'|([^<"']+))$`)
)

// line takes the next line, without its end.
func (l *lexer) line() string {
	rest := l.text[l.at:]
	l.start = l.at
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		l.at += i + 1
		return rest[:i]
	}
	l.at = len(l.text)
	return rest
}

// next goes to the next instruction.
func (l *lexer) next() bool {
	for l.at < len(l.text) {
		s := l.line()
		switch trimmed := strings.TrimLeft(s, " \t"); {
		case strings.TrimSpace(s) == "":
			l.begun = true
		case trimmed[0] == '#':
			l.directive(s)
		default:
			l.begun = true
			start := l.start
			l.end = start + len(s)
			l.skip(s)
			l.start = start
			return true
		}
	}
	return false
}

// directive reads a comment, which may be a directive as long as only such come
// before it.
func (l *lexer) directive(s string) {
	m := directive.FindStringSubmatch(s)
	if m == nil || l.begun {
		l.begun = true
		return
	}
	if strings.EqualFold(m[1], "escape") && (m[2] == "`" || m[2] == "\\") {
		l.escape = m[2][0]
	}
}

// skip goes past the lines that belong to an instruction beside its first.
func (l *lexer) skip(s string) {
	var docs []document
	first, _, _ := strings.Cut(strings.TrimLeft(s, " \t"), " ")
	mayHold := holdsDocuments[strings.ToUpper(first)]
	for {
		if mayHold {
			docs = append(docs, documents(s)...)
		}
		if !l.goesOn(s) || l.at >= len(l.text) {
			break
		}
		s = l.line()
		for t := strings.TrimSpace(s); (t == "" || t[0] == '#') && l.at < len(l.text); t = strings.TrimSpace(s) {
			s = l.line()
		}
	}
	for _, d := range docs {
		for l.at < len(l.text) {
			s := strings.TrimSuffix(l.line(), "\r")
			if d.tabs {
				s = strings.TrimLeft(s, "\t")
			}
			if s == d.end {
				break
			}
		}
	}
}

func (l *lexer) goesOn(s string) bool {
	s = strings.TrimRight(s, " \t\r")
	return s != "" && s[len(s)-1] == l.escape
}

// document is a here-document: the line that ends it, and whether tabs before
// that are ignored.
type document struct {
	end  string
	tabs bool
}

// holdsDocuments are the instructions in which the sign of a here-document means
// one.
var holdsDocuments = map[string]bool{"RUN": true, "COPY": true, "ADD": true, "ONBUILD": true}

// documents finds the here-documents that a line opens.
func documents(s string) []document {
	if !strings.Contains(s, "<<") {
		return nil
	}
	var out []document
	for _, w := range strings.Fields(s) {
		if m := heredoc.FindStringSubmatch(w); m != nil {
			out = append(out, document{end: m[2] + m[3] + m[4], tabs: m[1] != ""})
		}
	}
	return out
}

// words are those of the instruction's first line; there is one at least.
func (l *lexer) words() []word {
	var out []word
	line := l.text[l.start:l.end]
	if l.goesOn(line) {
		line = line[:strings.LastIndexByte(line, l.escape)]
	}
	for i := 0; i < len(line); {
		n := strings.IndexAny(line[i:], " \t\r")
		if n < 0 {
			n = len(line) - i
		}
		if n > 0 {
			out = append(out, word{line[i : i+n], l.start + i})
		}
		i += n + 1
	}
	if len(out) == 0 {
		return []word{{}}
	}
	return out
}
