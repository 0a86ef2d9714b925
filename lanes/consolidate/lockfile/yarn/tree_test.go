package yarn_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yarn"
)

// formats are yarn's and that of its manifests.
func formats() []*lockfile.Format { return slices.Concat(npm.Formats(), yarn.Formats()) }

func formatOf(all []*lockfile.Format, path string, content []byte) *lockfile.Format {
	for _, f := range all {
		if f.Match(path, content) {
			return f
		}
	}
	return nil
}

// A tree is a state of a repository in memory.
type tree struct {
	formats []*lockfile.Format
	text    map[string]string
	docs    map[string]*lockfile.Doc
}

func newTree(all []*lockfile.Format, text map[string]string) *tree {
	return &tree{all, text, map[string]*lockfile.Doc{}}
}

func (t *tree) Read(path string) ([]byte, bool) {
	s, ok := t.text[path]
	return []byte(s), ok
}

func (t *tree) Paths() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.text)), func(p string) bool { return formatOf(t.formats, p, nil) == nil })
}

func (t *tree) Doc(path string) *lockfile.Doc {
	d, _ := t.parse(path, nil)
	return d
}

func (t *tree) parse(path string, like *lockfile.Doc) (*lockfile.Doc, error) {
	if d, ok := t.docs[path]; ok {
		return d, nil
	}
	s, ok := t.text[path]
	f := formatOf(t.formats, path, []byte(s))
	if !ok || f == nil {
		return nil, nil
	}
	d, err := f.Parse([]byte(s), like)
	if err != nil {
		return nil, err
	}
	d.Format, d.Path = f, path
	t.docs[path] = d
	return d, nil
}

// with is the tree with one file more or in another state.
func (t *tree) with(d *lockfile.Doc) *tree {
	text, err := d.Format.Encode(d)
	if err != nil {
		panic(err)
	}
	c := newTree(t.formats, maps.Clone(t.text))
	c.text[d.Path] = string(text)
	for p, x := range t.docs {
		if p != d.Path {
			c.docs[p] = x
		}
	}
	c.docs[d.Path] = d
	return c
}

// join merges what a head did since a fork into a tree, manifests first, as the
// engine does. Files that no format reads are taken from the head.
func (t *tree) join(fork, head *tree) (*tree, []lockfile.Conflict, error) {
	now := t
	for _, locks := range []bool{false, true} {
		for _, p := range slices.Sorted(maps.Keys(head.text)) {
			if head.text[p] == fork.text[p] {
				continue
			}
			f := formatOf(t.formats, p, []byte(head.text[p]))
			if f == nil || f.Lock != locks {
				continue
			}
			f0, err := fork.parse(p, t.Doc(p))
			if err != nil {
				return nil, nil, err
			}
			h, err := head.parse(p, f0)
			if err != nil {
				return nil, nil, err
			}
			ours := now.Doc(p)
			if ours == nil && f0 == nil { // the head brings the file
				now = now.with(h)
				continue
			}
			if ours.Format != h.Format {
				return nil, []lockfile.Conflict{{Key: p, Tool: "the formats differ"}}, nil
			}
			merged, conflicts := lockfile.Apply(ours, lockfile.Diff(f0, h), t, now, true)
			if len(conflicts) > 0 {
				return nil, conflicts, nil
			}
			now = now.with(merged)
		}
	}
	return now, nil, nil
}

// problems are what Check says of every file, but for what is tolerated anyway.
func (t *tree) problems() map[string]lockfile.Problem {
	out := map[string]lockfile.Problem{}
	for _, p := range t.Paths() {
		d, err := t.parse(p, nil)
		if err != nil {
			x := lockfile.Problem{Code: lockfile.Unparsable, Path: p, Detail: err.Error()}
			out[x.ID()] = x
			continue
		}
		if d.Format.Check == nil {
			continue
		}
		for _, x := range d.Format.Check(d, t) {
			out[x.ID()] = x
		}
	}
	return out
}

// parseText parses a file of the format that reads it.
func parseText(t *testing.T, text string) *lockfile.Doc {
	t.Helper()
	d, err := newTree(formats(), map[string]string{"yarn.lock": text}).parse("yarn.lock", nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func encodeDoc(t *testing.T, d *lockfile.Doc) string {
	t.Helper()
	text, err := d.Format.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
