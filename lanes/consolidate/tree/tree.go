// Package tree holds states of a repository that share all they have in common:
// a commit, and the files that differ from it. Files of known formats are parsed
// once and written when their text is asked for.
package tree

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A File is one path of a Tree. It is known by its blob, by its text, or by
// its Doc, of which the text is made when it is asked for.
type File struct {
	Mode git.Mode
	ID   git.ID // empty when only the merge knows the file
	Raw  []byte // of a text merge
	Doc  *lockfile.Doc
	EOL  EOL
}

// A Tree is the state of the repository at one point of the consolidation: the
// base, and the files that differ from it. Trees are not changed once made.
type Tree struct {
	*Reader
	base  map[string]git.Entry
	order []git.Entry      // of base, by the bytes of their paths
	known []string         // paths of base that some format reads, sorted
	files map[string]*File // nil: deleted
}

// New is the tree of a commit, whose entries come in git's order.
func New(r *Reader, entries []git.Entry) *Tree {
	t := &Tree{Reader: r, base: make(map[string]git.Entry, len(entries)), order: entries, files: map[string]*File{}}
	for _, e := range entries {
		t.base[e.Path] = e
		if format.Of(r.formats, e.Path, nil) != nil {
			t.known = append(t.known, e.Path)
		}
	}
	slices.Sort(t.known)
	return t
}

// Child is a tree that can be changed without changing t.
func (t *Tree) Child() *Tree {
	c := *t
	c.files = maps.Clone(t.files)
	return &c
}

// File returns a path as it is here, or nil.
func (t *Tree) File(path string) *File {
	if f, ok := t.files[path]; ok {
		return f
	}
	e, ok := t.base[path]
	if !ok {
		return nil
	}
	return &File{Mode: e.Mode, ID: e.ID}
}

// Set makes a path what f says; nil deletes it. Only for a child just made.
func (t *Tree) Set(path string, f *File) { t.files[path] = f }

// Changed are the files that differ from the commit's; nil ones are deleted.
// The caller must not change the map.
func (t *Tree) Changed() map[string]*File { return t.files }

// Entry returns a path as the commit has it.
func (t *Tree) Entry(path string) (git.Entry, bool) {
	e, ok := t.base[path]
	return e, ok
}

// Files calls f for each path of the tree, in no order.
func (t *Tree) Files(f func(path string)) {
	for p := range t.base {
		if x, ok := t.files[p]; !ok || x != nil {
			f(p)
		}
	}
	for p, x := range t.files {
		if _, ok := t.base[p]; !ok && x != nil {
			f(p)
		}
	}
}

// Parsed returns a path's Doc; nil when there is none or no format reads it.
func (t *Tree) Parsed(path string) (*lockfile.Doc, EOL, error) {
	f := t.File(path)
	switch {
	case f == nil || !f.Mode.IsRegular():
		return nil, EOL{}, nil
	case f.Doc != nil:
		return f.Doc, f.EOL, nil
	case f.ID == "":
		text, e := Normalise(f.Raw)
		fm := format.Of(t.formats, path, text)
		if fm == nil {
			return nil, e, nil
		}
		var like *lockfile.Doc // the base: some formats take their keys from it
		if b, ok := t.base[path]; ok {
			like, _, _ = t.Reader.Blob(path, b.ID, nil)
		}
		d, err := fm.Parse(text, sameFormat(like, fm))
		if err != nil {
			return nil, e, &ParseError{path, fm, err}
		}
		d.Format, d.Path = fm, path
		return d, e, nil
	}
	return t.Reader.Blob(path, f.ID, nil)
}

// Content returns a path's bytes as they would be committed.
func (t *Tree) Content(path string) ([]byte, error) {
	f := t.File(path)
	switch {
	case f == nil || !f.Mode.IsRegular():
		return nil, nil
	case f.ID != "":
		return t.read(f.ID)
	case f.Raw != nil:
		return f.Raw, nil
	}
	text, err := f.Doc.Format.Encode(f.Doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f.EOL.Restore(text), nil
}

// Read, Doc and Paths make the tree a lockfile.Tree.

// Read returns a file without byte order mark and CRLF.
func (t *Tree) Read(path string) ([]byte, bool) {
	raw, err := t.Content(path)
	if err != nil || raw == nil {
		return nil, false
	}
	text, _ := Normalise(raw)
	return text, true
}

// Doc returns the parsed file of a known format.
func (t *Tree) Doc(path string) *lockfile.Doc {
	d, _, err := t.Parsed(path)
	if err != nil {
		return nil
	}
	return d
}

// Paths are the files of known formats, sorted.
func (t *Tree) Paths() []string {
	out := slices.Clone(t.known)
	changed := false
	for p, f := range t.files {
		_, inBase := t.base[p]
		if f != nil && !inBase && format.Of(t.formats, p, nil) != nil {
			out = append(out, p)
			changed = true
		}
	}
	if changed {
		slices.Sort(out)
	}
	return slices.DeleteFunc(out, func(p string) bool { f, ok := t.files[p]; return ok && f == nil })
}
