package tree

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Objects holds blobs.
type Objects interface {
	Blob(ctx context.Context, id git.ID) ([]byte, error)
}

// Reader reads blobs and parses files, each once.
type Reader struct {
	ctx     context.Context //nolint:containedctx // lives for one run, and lockfile.Tree has no context
	objects Objects
	formats []*lockfile.Format
	docs    map[docKey]parsed
	failed  error // see Err
}

// Err is the first error that kept a blob from being read. What was found out
// since then is of no worth: a file that cannot be read counts as broken.
func (r *Reader) Err() error { return r.failed }

func (r *Reader) read(id git.ID) ([]byte, error) {
	raw, err := r.objects.Blob(r.ctx, id)
	if err != nil && r.failed == nil {
		r.failed = err
	}
	return raw, err
}

// NewReader returns a reader for one run, which ends with its context.
func NewReader(ctx context.Context, o Objects, formats []*lockfile.Format) *Reader {
	return &Reader{ctx: ctx, objects: o, formats: formats, docs: map[docKey]parsed{}}
}

type docKey struct {
	path string
	id   git.ID
}

type parsed struct {
	doc *lockfile.Doc
	eol EOL
	err error
}

// Blob parses a blob as the format of its path, once; nil without error when no
// format reads it. Like is a relative, see lockfile.Format.Parse.
func (r *Reader) Blob(path string, id git.ID, like *lockfile.Doc) (*lockfile.Doc, EOL, error) {
	p, ok := r.docs[docKey{path, id}]
	if !ok {
		p = r.parse(path, id, like)
		r.docs[docKey{path, id}] = p
	}
	return p.doc, p.eol, p.err
}

// Parse is Blob without a memory, for what is read once.
func (r *Reader) Parse(path string, id git.ID, like *lockfile.Doc) (*lockfile.Doc, EOL, error) {
	p := r.parse(path, id, like)
	return p.doc, p.eol, p.err
}

func (r *Reader) parse(path string, id git.ID, like *lockfile.Doc) parsed {
	if format.Of(r.formats, path, nil) == nil {
		return parsed{}
	}
	raw, err := r.read(id)
	if err != nil {
		return parsed{err: err}
	}
	text, e := Normalise(raw)
	f := format.Of(r.formats, path, text)
	if f == nil {
		return parsed{eol: e}
	}
	d, err := f.Parse(text, sameFormat(like, f))
	if err != nil {
		if Marked(text) {
			err = lockfile.ErrConflictMarkers
		}
		return parsed{eol: e, err: &ParseError{path, f, err}}
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

// Known reports whether some format reads files of that path.
func (r *Reader) Known(path string) bool { return format.Of(r.formats, path, nil) != nil }

// ParseError says that a file is not what its path says.
type ParseError struct {
	path   string
	format *lockfile.Format
	err    error
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%s cannot be read as %s: %v", e.path, e.format.Name, e.err)
}

func (e *ParseError) Unwrap() error { return e.err }

// Marked reports whether a text holds the marks of an unfinished merge.
func Marked(text []byte) bool {
	has := func(mark string) bool {
		return bytes.HasPrefix(text, []byte(mark)) || bytes.Contains(text, []byte("\n"+mark))
	}
	return has("<<<<<<< ") && has("=======") && has(">>>>>>> ")
}
