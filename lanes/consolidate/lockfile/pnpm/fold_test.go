package pnpm

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// formats are this package's and the manifests they read.
func formats() []*lockfile.Format { return append(Formats(), npm.Formats()...) }

func formatOf(all []*lockfile.Format, path string, content []byte) *lockfile.Format {
	for _, f := range all {
		if f.Match(path, content) {
			return f
		}
	}
	return nil
}

// files is a tree in memory.
type files struct {
	all  []*lockfile.Format
	docs map[string]*lockfile.Doc
}

func (f *files) Read(path string) ([]byte, bool) {
	d := f.docs[path]
	if d == nil {
		return nil, false
	}
	b, err := d.Format.Encode(d)
	return b, err == nil
}
func (f *files) Doc(path string) *lockfile.Doc { return f.docs[path] }
func (f *files) Paths() []string               { return slices.Sorted(maps.Keys(f.docs)) }
func (f *files) clone() *files                 { return &files{f.all, maps.Clone(f.docs)} }

// problems of a file, by ID.
func (f *files) problems(path string) map[string]lockfile.Problem {
	out := map[string]lockfile.Problem{}
	if d := f.docs[path]; d != nil && d.Format.Check != nil {
		for _, p := range d.Format.Check(d, f) {
			out[p.ID()] = p
		}
	}
	return out
}

func parse(t testing.TB, all []*lockfile.Format, path string, content []byte, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	f := formatOf(all, path, content)
	if f == nil {
		t.Fatalf("%s: no format", path)
	}
	if like != nil && like.Format != f {
		like = nil
	}
	d, err := f.Parse(content, like)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d.Format, d.Path = f, path
	return d
}

func treeOf(t testing.TB, all []*lockfile.Format, texts map[string]string, like *files) *files {
	t.Helper()
	out := &files{all, map[string]*lockfile.Doc{}}
	for path, text := range texts {
		if formatOf(all, path, []byte(text)) == nil {
			continue
		}
		var l *lockfile.Doc
		if like != nil {
			l = like.docs[path]
		}
		out.docs[path] = parse(t, all, path, []byte(text), l)
	}
	return out
}

// merge brings a head's changes into ours, manifests first.
func merge(ours, fork, head *files, keep bool) (*files, []lockfile.Conflict) {
	out := ours.clone()
	was := ours.clone()
	paths := head.Paths()
	slices.SortStableFunc(paths, func(a, b string) int { return lockLast(head.docs[a]) - lockLast(head.docs[b]) })
	for _, p := range paths {
		h, f, o := head.docs[p], fork.docs[p], ours.docs[p]
		if f == nil || o == nil {
			continue
		}
		patch := lockfile.Diff(f, h)
		if len(patch.Changes) == 0 {
			continue
		}
		d, conflicts := lockfile.Apply(o, patch, was, out, keep)
		if len(conflicts) > 0 {
			return nil, conflicts
		}
		out.docs[p] = d
	}
	return out, nil
}

func lockLast(d *lockfile.Doc) int {
	if d.Format.Lock {
		return 1
	}
	return 0
}

// cases are the corpus's that hold a pnpm lockfile; the test is skipped where
// there is no corpus.
func cases(t *testing.T) []corpus.Case {
	t.Helper()
	all := corpustest.Cases(t)
	return slices.DeleteFunc(all, func(c corpus.Case) bool { return !slices.Contains(c.Ecosystems, "pnpm") })
}

// readTree reads the npm and pnpm files of a commit.
func readTree(t *testing.T, clone, commit string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := corpus.WriteTree(t.Context(), clone, commit, dir); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if name := e.Name(); name != "package.json" && !strings.HasPrefix(name, "pnpm-") && name != ".npmrc" {
			return nil
		}
		b, err := os.ReadFile(p)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
