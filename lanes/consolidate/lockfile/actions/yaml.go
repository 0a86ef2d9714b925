package actions

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/docker"
)

// spans finds the references in a file. Only what the parser of YAML calls a
// value of a key is one, so that no script and no comment is ever rewritten.
func spans(content []byte) ([]cells.Span, error) {
	if err := cells.CheckText(content); err != nil {
		return nil, err
	}
	f := finder{content: content, lines: lineStarts(content)}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		f.walk(&doc, nil)
	}
	slices.SortFunc(f.found, func(a, b cells.Span) int { return a.Start - b.Start })
	out := f.found[:0]
	for _, s := range f.found {
		// An odd file could make two values seem to stand at one place.
		if len(out) == 0 || out[len(out)-1].End <= s.Start {
			out = append(out, s)
		}
	}
	return out, nil
}

type finder struct {
	content []byte
	lines   []int
	last    place // of the last value that was looked up
	found   []cells.Span
}

// deep is more keys than lead to anything that is looked for by its path.
const deep = 6

// walk goes through a document. Path is the keys that lead to n, the first deep
// of them.
func (f *finder) walk(n *yaml.Node, path []string) {
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			f.walk(c, path)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i].Value, n.Content[i+1]
		under := path
		if len(path) < deep {
			under = append(path[:len(path):len(path)], key)
		}
		if val.Kind == yaml.ScalarNode {
			f.scalar(key, under, val)
			continue
		}
		f.walk(val, under)
	}
}

// scalar takes a value that refers to something.
func (f *finder) scalar(key string, path []string, n *yaml.Node) {
	const scheme = "docker://"
	uses := key == "uses"
	if !uses && !namesImage(path) {
		return
	}
	start, ok := f.offset(n)
	if !ok {
		return
	}
	if ref, ok := strings.CutPrefix(n.Value, scheme); ok {
		f.image(ref, scheme, start+len(scheme))
	} else if uses {
		f.action(n.Value, start)
	} else {
		f.image(n.Value, "", start)
	}
}

// namesImage reports whether the value at a path is an image that a job runs in
// or beside, or that an action is.
func namesImage(path []string) bool {
	switch last := len(path) - 1; {
	case len(path) == 2:
		return path[0] == "runs" && path[1] == "image"
	case len(path) < 3 || path[0] != "jobs":
		return false
	case len(path) == 3:
		return path[last] == "container"
	case len(path) == 4:
		return path[2] == "container" && path[last] == "image"
	default:
		return len(path) == 5 && path[2] == "services" && path[last] == "image"
	}
}

func (f *finder) image(ref, scheme string, start int) {
	name, tag := docker.SplitImage(ref)
	if tag == "" {
		return
	}
	start += len(name)
	f.found = append(f.found, cells.Span{
		Start: start, End: start + len(tag), ID: scheme + name, Name: name, Version: docker.TagVersion(tag),
	})
}

func (f *finder) action(s string, start int) {
	m := action.FindStringSubmatch(s)
	if m == nil {
		return
	}
	at, end := start+len(s)-len(m[3]), start+len(s)
	if readReference(m[3]).pinned() {
		end += comment(f.content[end:])
	}
	f.found = append(f.found, cells.Span{
		Start: at, End: end, ID: m[1] + m[2], Name: m[1] + m[2],
		Version: readReference(string(f.content[at:end])).show(),
	})
}

// comment is how many bytes behind a reference belong to it: up to the version
// in the comment on its line.
func comment(rest []byte) int {
	text := bytes.TrimLeft(rest[:min(1, len(rest))], `'"`)
	text = rest[min(1, len(rest))-len(text):]
	spaces := len(text)
	text = bytes.TrimLeft(text, " \t")
	if spaces -= len(text); spaces == 0 || !bytes.HasPrefix(text, []byte("#")) {
		return 0
	}
	before := len(rest) - len(text) + 1
	line, _, _ := bytes.Cut(text[1:], []byte{'\n'})
	_, end := versionIn(string(line))
	if end == 0 {
		return 0
	}
	return before + end
}

// place is a point of the text.
type place struct{ line, column, at int }

// offset is where the text of a value starts, if it stands in the file as it is.
func (f *finder) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(f.lines) || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0, false
	}
	// A whole file can be one line, so go on from the last value.
	if n.Line != f.last.line || n.Column < f.last.column {
		f.last = place{n.Line, 1, f.lines[n.Line-1]}
	}
	for ; f.last.column < n.Column; f.last.column++ {
		_, size := utf8.DecodeRune(f.content[f.last.at:])
		f.last.at += size
	}
	at := f.last.at
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	return at, at <= len(f.content) && bytes.HasPrefix(f.content[at:], []byte(n.Value))
}

// lineStarts are the offsets of the lines as YAML counts them: it ends a line at
// more than a line feed.
func lineStarts(content []byte) []int {
	out := []int{0}
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		i += size
		switch r {
		case '\r':
			if i < len(content) && content[i] == '\n' {
				i++
			}
			fallthrough
		case '\n', '\u0085', '\u2028', '\u2029':
			out = append(out, i)
		}
	}
	return out
}
