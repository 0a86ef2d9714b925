package golang

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A line is one directive of a go.mod: its text in pieces, and what it says.
// Keys are the verb and what it speaks of: "require golang.org/x/mod", "go".
type line struct {
	verb string
	// lead are the comments and empty lines before it.
	lead string
	// pre is the line up to the version, post what is behind it: the mark, a
	// comment, and the line's end. A line without a version is all pre.
	pre, version, post string
	// indirect is the mark of a require.
	indirect bool
	// target is what a replace leads to, without its version; of the module
	// line it is the module.
	target string
	// old is the version that a replace is for; empty: all.
	old string
}

func (l *line) text() string { return l.lead + l.pre + l.version + l.post }

// A block is "require (" with what is before it; close is its last line, with
// the comments before that.
type block struct{ open, close string }

const (
	blockKey = "#block " // and the verb, and its number among the verb's blocks
	tailKey  = "#tail"   // what is behind the last directive
)

func modFormat() *lockfile.Format {
	f := mergedByLine()
	f.Name, f.Match, f.Parse = "go.mod", named("go.mod"), parseMod
	f.Keep = func(n *lockfile.Node) bool { return lineOf(n).verb == "require" }
	f.Settle, f.Check, f.Notes, f.Reads = settleMod, checkMod, notesMod, readsMod
	return f
}

func workFormat() *lockfile.Format {
	f := mergedByLine()
	f.Name, f.Match, f.Parse = "go.work", named("go.work"), parseWork
	return f
}

func mergedByLine() *lockfile.Format {
	return &lockfile.Format{
		Ecosystem: Ecosystem,
		Encode:    encodeMod,
		Compare:   compareLines,
		Decide:    decideLine,
		Less:      lessLine,
		Finish:    finishMod,
	}
}

// lineOf returns a node's directive; an empty one for structure.
func lineOf(n *lockfile.Node) *line {
	if n != nil {
		if l, ok := n.Data.(*line); ok {
			return l
		}
	}
	return &line{}
}

// asWritten accepts versions and leaves them as they are: they are written
// back from the file's own text.
func asWritten(_, v string) (string, error) {
	if module.CanonicalVersion(v) == "" {
		return "", fmt.Errorf("%s is no version of a module", strconv.Quote(v))
	}
	return v, nil
}

func parseMod(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := unmarked(content); err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", content, asWritten)
	if err != nil {
		return nil, plain(err)
	}
	said := map[*modfile.Line]*line{}
	for _, r := range f.Require {
		said[r.Syntax] = &line{indirect: r.Indirect}
	}
	addReplaces(said, f.Replace)
	if f.Module != nil {
		said[f.Module.Syntax] = &line{target: f.Module.Mod.Path}
	}
	return split(content, f.Syntax, said, like)
}

func parseWork(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := unmarked(content); err != nil {
		return nil, err
	}
	f, err := modfile.ParseWork("go.work", content, asWritten)
	if err != nil {
		return nil, plain(err)
	}
	said := map[*modfile.Line]*line{}
	addReplaces(said, f.Replace)
	return split(content, f.Syntax, said, like)
}

func addReplaces(said map[*modfile.Line]*line, list []*modfile.Replace) {
	for _, r := range list {
		said[r.Syntax] = &line{target: r.New.Path, old: r.Old.Version}
	}
}

// plain gives the first of the parser's errors, with its line.
func plain(err error) error {
	var list modfile.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		e := list[0]
		return fmt.Errorf("line %d: %w", e.Pos.Line, e.Err)
	}
	return err
}

// splitter cuts a file into consecutive pieces.
type splitter struct {
	text string
	at   int // start of the piece to come
	doc  *lockfile.Doc
	like *lockfile.Doc
	said map[*modfile.Line]*line
}

// split makes a node of each directive and block. Together their texts are the file.
func split(content []byte, syn *modfile.FileSyntax, said map[*modfile.Line]*line, like *lockfile.Doc) (*lockfile.Doc, error) {
	s := &splitter{text: string(content), doc: lockfile.NewDoc(bytes.Count(content, []byte{'\n'}) + 1), like: like, said: said}
	blocks := map[string]int{}
	for _, stmt := range syn.Stmt {
		switch x := stmt.(type) {
		case *modfile.Line:
			if err := s.line(x, x.Token, "", false); err != nil {
				return nil, err
			}
		case *modfile.LineBlock:
			verb := strings.Join(x.Token, " ")
			key := blockKey + verb + " " + strconv.Itoa(blocks[verb])
			blocks[verb]++
			if err := s.block(x, key); err != nil {
				return nil, err
			}
		}
	}
	tail := s.text[s.at:]
	s.doc.Add(reuse(like, &lockfile.Node{Key: tailKey, Raw: []byte(tail)}))
	return s.doc, nil
}

// lineEnd is the offset behind the line that holds offset at.
func (s *splitter) lineEnd(at int) int {
	if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s.text)
}

func (s *splitter) block(x *modfile.LineBlock, key string) error {
	openEnd := x.LParen.Pos.Byte + 1
	if x.RParen.Pos.Line != x.LParen.Pos.Line {
		openEnd = s.lineEnd(openEnd)
	}
	b := &block{open: s.text[s.at:openEnd]}
	s.at = openEnd
	// The node is added before its lines and completed behind them.
	n := &lockfile.Node{Key: key, Data: b}
	first := s.at
	for _, l := range x.Line {
		s.at = s.lineEnd(l.End.Byte)
	}
	b.close = s.text[s.at:s.lineEnd(x.RParen.Pos.Byte)]
	n.Raw = []byte(b.open + b.close)
	s.doc.Add(reuse(s.like, n))
	s.at = first
	for _, l := range x.Line {
		if err := s.line(l, append(x.Token[:len(x.Token):len(x.Token)], l.Token...), key, true); err != nil {
			return err
		}
	}
	s.at = s.lineEnd(x.RParen.Pos.Byte)
	return nil
}

func (s *splitter) line(x *modfile.Line, tokens []string, parent string, nested bool) error {
	l := s.said[x]
	if l == nil {
		l = &line{}
	}
	l.verb = tokens[0]
	end := s.lineEnd(x.End.Byte)
	start := strings.LastIndexByte(s.text[:x.Start.Byte], '\n') + 1
	l.lead, l.pre = s.text[s.at:start], s.text[start:end]
	s.at = end

	n := &lockfile.Node{Key: key(tokens), Parent: parent, Data: l}
	if v := s.version(x, tokens, l); v != "" {
		l.pre, l.version, l.post = s.text[start:x.End.Byte-len(v)], v, s.text[x.End.Byte:end]
		n.Version = unquote(v)
	}
	switch l.verb {
	case "require", "replace":
		n.Name = unquote(tokens[1])
	case "go", "toolchain":
		n.Name = l.verb
	}
	n.Root = n.Name != ""
	n.Direct = l.verb == "require" && !l.indirect
	if nested {
		n.Edges = []lockfile.Edge{{To: parent}}
	}
	n.Raw = []byte(l.text())
	if !s.doc.Add(reuse(s.like, n)) {
		return &lockfile.DuplicateError{Key: n.Key, Line: x.Start.Line}
	}
	return nil
}

// key names what a directive speaks of.
func key(tokens []string) string {
	verb, args := tokens[0], tokens[1:]
	switch verb {
	case "module", "go", "toolchain":
		return verb
	case "require":
		args = args[:1]
	case "replace":
		args = args[:slices.Index(args, "=>")]
	case "godebug":
		name, _, _ := strings.Cut(args[0], "=")
		return verb + " " + name
	}
	for _, a := range args {
		verb += " " + unquote(a)
	}
	return verb
}

// version is the last token of a directive that has a version to compare, as
// it stands in the text; empty when there is none.
func (s *splitter) version(x *modfile.Line, tokens []string, l *line) string {
	last := unquote(tokens[len(tokens)-1])
	switch l.verb {
	case "require", "go", "toolchain":
	case "replace":
		if last == l.target {
			return ""
		}
	default:
		return ""
	}
	src := s.text[x.Start.Byte:x.End.Byte]
	if v := src[strings.LastIndexAny(src, " \t\r")+1:]; unquote(v) == last {
		return v
	}
	return ""
}

func unquote(s string) string {
	if s != "" && (s[0] == '"' || s[0] == '`') {
		if t, err := strconv.Unquote(s); err == nil {
			return t
		}
	}
	return s
}

func encodeMod(d *lockfile.Doc) ([]byte, error) {
	inside := map[string][]*lockfile.Node{}
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent != "" {
			inside[n.Parent] = append(inside[n.Parent], n)
		}
	})
	var out []byte
	write := func(text string) {
		if text != "" && len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, text...)
	}
	d.Nodes(func(n *lockfile.Node) {
		b, ok := n.Data.(*block)
		switch {
		case n.Parent != "":
		case ok && len(inside[n.Key]) == 0 && !strings.HasSuffix(b.open, "\n"):
			write(b.open + b.close) // ( and ) on one line
		case ok:
			write(b.open)
			for _, l := range inside[n.Key] {
				write(string(l.Raw))
			}
			write(b.close)
			delete(inside, n.Key)
		default:
			write(string(n.Raw))
		}
	})
	for parent, lines := range inside {
		if d.Node(parent) == nil {
			return nil, fmt.Errorf("%s has lost the block that it stands in", lines[0].Key)
		}
	}
	return out, nil
}
