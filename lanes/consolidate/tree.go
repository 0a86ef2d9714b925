package consolidate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// objects is what the engine needs of a repository.
type objects interface {
	Blob(ctx context.Context, id git.ID) ([]byte, error)
	MergeFile(ctx context.Context, ours, base, theirs []byte) (merged []byte, conflicts int, err error)
}

// eol is how a file's text is stored, apart from its meaning.
type eol struct{ bom, crlf bool }

var bom = []byte("\xef\xbb\xbf")

// normalise strips what formats need not know: a byte order mark, and CRLF
// where the whole file has it.
func normalise(raw []byte) ([]byte, eol) {
	var e eol
	if bytes.HasPrefix(raw, bom) {
		raw, e.bom = raw[len(bom):], true
	}
	if n := bytes.Count(raw, []byte("\r\n")); n > 0 && n == bytes.Count(raw, []byte{'\n'}) {
		raw, e.crlf = bytes.ReplaceAll(raw, []byte("\r\n"), []byte{'\n'}), true
	}
	return raw, e
}

func (e eol) restore(text []byte) []byte {
	if e.crlf {
		text = bytes.ReplaceAll(text, []byte{'\n'}, []byte("\r\n"))
	}
	if e.bom {
		text = append(bytes.Clone(bom), text...)
	}
	return text
}

// A file is one path of a tree. It is known by its blob, by its text, or by
// its Doc, of which the text is made when it is asked for.
type file struct {
	mode git.Mode
	id   git.ID // empty when only the merge knows the file
	raw  []byte // of a text merge
	doc  *lockfile.Doc
	eol  eol
	how  Method
}

// reader reads blobs and parses files, each once.
type reader struct {
	ctx     context.Context //nolint:containedctx // lives for one run, and lockfile.Tree has no context
	objects objects
	formats []*lockfile.Format
	docs    map[docKey]parsed
}

type docKey struct {
	path string
	id   git.ID
}

type parsed struct {
	doc *lockfile.Doc
	eol eol
	err error
}

// doc parses a blob as the format of its path; nil without error when no
// format reads it.
func (r *reader) doc(path string, id git.ID, like *lockfile.Doc) (*lockfile.Doc, eol, error) {
	p, ok := r.docs[docKey{path, id}]
	if !ok {
		if p = r.parse(path, id, like); ctxErr(p.err) == nil {
			r.docs[docKey{path, id}] = p
		}
	}
	return p.doc, p.eol, p.err
}

func ctxErr(err error) error {
	if err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	return nil
}

func (r *reader) parse(path string, id git.ID, like *lockfile.Doc) parsed {
	if format.Of(r.formats, path, nil) == nil {
		return parsed{}
	}
	raw, err := r.objects.Blob(r.ctx, id)
	if err != nil {
		return parsed{err: err}
	}
	text, e := normalise(raw)
	f := format.Of(r.formats, path, text)
	if f == nil {
		return parsed{eol: e}
	}
	d, err := f.Parse(text, sameFormat(like, f))
	if err != nil {
		if marked(text) {
			err = lockfile.ErrConflictMarkers
		}
		return parsed{eol: e, err: &parseError{path, f, err}}
	}
	d.Format, d.Path = f, path
	return parsed{doc: d, eol: e}
}

// sameFormat keeps a relative from lending nodes to another format.
func sameFormat(like *lockfile.Doc, f *lockfile.Format) *lockfile.Doc {
	if like == nil || like.Format != f {
		return nil
	}
	return like
}

// parseError says that a file is not what its path says.
type parseError struct {
	path   string
	format *lockfile.Format
	err    error
}

func (e *parseError) Error() string {
	return fmt.Sprintf("%s cannot be read as %s: %v", e.path, e.format.Name, e.err)
}

func (e *parseError) Unwrap() error { return e.err }

// marked reports whether a text holds the marks of an unfinished merge.
func marked(text []byte) bool {
	has := func(mark string) bool {
		return bytes.HasPrefix(text, []byte(mark)) || bytes.Contains(text, []byte("\n"+mark))
	}
	return has("<<<<<<< ") && has("=======") && has(">>>>>>> ")
}

// A tree is the state of the repository at one point of the consolidation: the
// base, and the files that differ from it. Trees are not changed once made.
type tree struct {
	*reader
	base  map[string]git.Entry
	known []string         // paths of base that some format reads, sorted
	files map[string]*file // nil: deleted
}

func newTree(r *reader, entries []git.Entry) *tree {
	t := &tree{reader: r, base: make(map[string]git.Entry, len(entries)), files: map[string]*file{}}
	for _, e := range entries {
		t.base[e.Path] = e
		if format.Of(r.formats, e.Path, nil) != nil {
			t.known = append(t.known, e.Path)
		}
	}
	slices.Sort(t.known)
	return t
}

// child is a tree that can be changed without changing t.
func (t *tree) child() *tree {
	c := *t
	c.files = maps.Clone(t.files)
	return &c
}

// file returns a path as it is here, or nil.
func (t *tree) file(path string) *file {
	if f, ok := t.files[path]; ok {
		return f
	}
	e, ok := t.base[path]
	if !ok {
		return nil
	}
	return &file{mode: e.Mode, id: e.ID}
}

// parsed returns a path's Doc; nil when there is none or no format reads it.
func (t *tree) parsed(path string) (*lockfile.Doc, eol, error) {
	f := t.file(path)
	switch {
	case f == nil || !f.mode.IsRegular():
		return nil, eol{}, nil
	case f.doc != nil:
		return f.doc, f.eol, nil
	case f.id == "":
		text, e := normalise(f.raw)
		fm := format.Of(t.formats, path, text)
		if fm == nil {
			return nil, e, nil
		}
		var like *lockfile.Doc // the base: some formats take their keys from it
		if b, ok := t.base[path]; ok {
			like, _, _ = t.doc(path, b.ID, nil)
		}
		d, err := fm.Parse(text, sameFormat(like, fm))
		if err != nil {
			return nil, e, &parseError{path, fm, err}
		}
		d.Format, d.Path = fm, path
		return d, e, nil
	}
	return t.reader.doc(path, f.id, nil)
}

// content returns a path's bytes as they would be committed.
func (t *tree) content(path string) ([]byte, error) {
	f := t.file(path)
	switch {
	case f == nil || !f.mode.IsRegular():
		return nil, nil
	case f.id != "":
		return t.objects.Blob(t.ctx, f.id)
	case f.raw != nil:
		return f.raw, nil
	}
	text, err := f.doc.Format.Encode(f.doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f.eol.restore(text), nil
}

// Read, Doc and Paths make the tree a lockfile.Tree.

// Read returns a file without byte order mark and CRLF.
func (t *tree) Read(path string) ([]byte, bool) {
	raw, err := t.content(path)
	if err != nil || raw == nil {
		return nil, false
	}
	text, _ := normalise(raw)
	return text, true
}

// Doc returns the parsed file of a known format.
func (t *tree) Doc(path string) *lockfile.Doc {
	d, _, err := t.parsed(path)
	if err != nil {
		return nil
	}
	return d
}

// Paths are the files of known formats, sorted.
func (t *tree) Paths() []string {
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
