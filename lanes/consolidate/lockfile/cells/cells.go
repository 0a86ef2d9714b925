// Package cells merges free text that has values in it: a workflow with its
// `uses:`, a Dockerfile with its FROM, a Cargo.toml with its requirements.
//
// The values are the cells. Each is a node; everything around them is one more
// node, [TextKey], in which a mark with the node's key stands where a cell was.
// So a new value never touches the text, and new text never touches a value:
// values merge by what they mean, and text that both sides changed in another
// way is a conflict, which is for a merge of the whole file as text to settle.
//
// A cell has a key of its own (the path of a requirement), or none: then all
// cells of one thing with one text are one node, and change together. What such
// a node is called is decided by the first version of the file; every relative
// takes the names over from it, as align.go says.
package cells

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// TextKey is the key of the text around the cells.
const TextKey = "#text"

// mark stands around a key in the text. No file that is read here holds one.
const mark = "\x00"

// A Span is a cell in a file.
type Span struct {
	// Start and End say where it is, in bytes.
	Start, End int
	// Key is the cell's own; empty: cells with one ID and one text share a node.
	Key string
	// ID is what the cell is a version of, as the file writes it before the cell.
	ID string
	// Name is the dependency's name, as users know it.
	Name string
	// Version is what users are shown. Two cells of one version are the same
	// in all that matters.
	Version string
}

// cell is the Data of a node.
type cell struct {
	id string
	// from is the key of the node that this one was split from, because the
	// file gave what was one node two values. Empty: it was not.
	from string
}

func data(n *lockfile.Node) cell {
	c, _ := n.Data.(cell)
	return c
}

// Parse takes a file apart at its spans, which are in order and do not overlap.
// Like is a relative of the file; it may be nil. The error is
// [lockfile.ErrConflictMarkers], a [lockfile.DuplicateError] for a key that
// stands twice, or says that the file is not text.
func Parse(content []byte, spans []Span, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := CheckText(content); err != nil {
		return nil, err
	}
	names := align(content, spans, like)
	var text bytes.Buffer
	text.Grow(len(content))
	d := lockfile.NewDoc(len(spans) + 1)
	cells := make([]*lockfile.Node, 0, len(spans))
	seen := map[string]bool{}
	at := 0
	for i, s := range spans {
		key := names[i].key
		text.Write(content[at:s.Start])
		text.WriteString(mark + key + mark)
		at = s.End
		if seen[key] {
			if s.Key != "" {
				return nil, &lockfile.DuplicateError{Key: key, Line: line(content, s.Start)}
			}
			continue
		}
		seen[key] = true
		cells = append(cells, reuse(like, &lockfile.Node{
			Key: key, Name: s.Name, Version: s.Version, Direct: true,
			Raw:  bytes.Clone(content[s.Start:s.End]),
			Data: cell{id: s.ID, from: names[i].from},
		}))
	}
	text.Write(content[at:])
	d.Add(reuse(like, &lockfile.Node{Key: TextKey, Raw: text.Bytes()}))
	for _, n := range cells {
		d.Add(n)
	}
	return d, nil
}

// CheckText refuses what no file with cells can be: one with the marks of an
// unfinished merge, or no text. Parse calls it; a format that has to understand
// the file first does so before.
func CheckText(content []byte) error {
	if at := bytes.IndexByte(content, mark[0]); at >= 0 {
		return fmt.Errorf("line %d: not a text file", line(content, at))
	}
	if unmerged(content) {
		return lockfile.ErrConflictMarkers
	}
	return nil
}

func reuse(like *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if like != nil {
		if old := like.Node(n.Key); old != nil && bytes.Equal(old.Raw, n.Raw) {
			return old
		}
	}
	return n
}

// unmerged reports whether a file holds the marks of an unfinished merge.
func unmerged(content []byte) bool {
	_, rest, ok := cutLine(content, "<<<<<<< ")
	if !ok {
		return false
	}
	_, _, ok = cutLine(rest, ">>>>>>> ")
	return ok
}

// cutLine cuts text around the first line that starts like this.
func cutLine(text []byte, start string) (before, after []byte, found bool) {
	if bytes.HasPrefix(text, []byte(start)) {
		return nil, text[len(start):], true
	}
	return bytes.Cut(text, []byte("\n"+start))
}

// line is the 1-based number of the line that a byte is in.
func line(content []byte, at int) int {
	return 1 + bytes.Count(content[:at], []byte{'\n'})
}

// Encode puts the cells back into their text.
func Encode(d *lockfile.Doc) ([]byte, error) {
	text := d.Node(TextKey)
	if text == nil {
		return nil, fmt.Errorf("%s: the text around the cells is missing", d.Path)
	}
	var out bytes.Buffer
	out.Grow(len(text.Raw))
	for i, part := range strings.Split(string(text.Raw), mark) {
		if i%2 == 0 {
			out.WriteString(part)
			continue
		}
		n := d.Node(part)
		if n == nil {
			return nil, fmt.Errorf("%s: nothing to put where %q was", d.Path, part)
		}
		out.Write(n.Raw)
	}
	return out.Bytes(), nil
}

// places are the keys in a file's text, as often as they stand there.
func places(d *lockfile.Doc) map[string]int {
	out := map[string]int{}
	if text := d.Node(TextKey); text != nil {
		for i, part := range strings.Split(string(text.Raw), mark) {
			if i%2 == 1 {
				out[part]++
			}
		}
	}
	return out
}
