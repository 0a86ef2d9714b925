// Package locktest replays sets of real pull requests against a format, for the
// format's own tests: the part of a consolidation that concerns its files, in
// memory.
package locktest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A Repo is a clone of one case of the corpus.
type Repo struct {
	Case    corpus.Case
	Formats []*lockfile.Format

	t     *testing.T
	dir   string
	blobs map[string][]byte
	files map[string]map[string][]byte // by commit
}

// Each runs f as a subtest for every case in which a pull request changes a file
// of these formats. Without the corpus the test is skipped.
func Each(t *testing.T, formats func() []*lockfile.Format, f func(t *testing.T, r *Repo)) {
	t.Helper()
	cases := corpustest.Cases(t)
	all := formats()
	for _, c := range cases {
		if !slices.ContainsFunc(c.PullRequests, func(p corpus.PullRequest) bool {
			return slices.ContainsFunc(p.Files, func(file string) bool { return of(all, file) != nil })
		}) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			r := &Repo{Case: c, Formats: formats(), t: t, dir: filepath.Join(t.TempDir(), "clone"), blobs: map[string][]byte{}, files: map[string]map[string][]byte{}}
			if err := c.Clone(t.Context(), r.dir); err != nil {
				t.Fatal(err)
			}
			f(t, r)
		})
	}
}

func of(all []*lockfile.Format, path string) *lockfile.Format {
	for _, f := range all {
		if f.Match(path, nil) {
			return f
		}
	}
	return nil
}

// Tree is a commit's files of the Repo's formats.
func (r *Repo) Tree(commit string) *Tree {
	r.t.Helper()
	files := r.files[commit]
	if files == nil {
		files = r.list(commit)
		r.files[commit] = files
	}
	return NewTree(r.t, r.Formats, files)
}

func (r *Repo) list(commit string) map[string][]byte {
	r.t.Helper()
	ids := map[string]string{}
	var missing strings.Builder
	for _, l := range strings.Split(strings.TrimSuffix(string(r.git(nil, "ls-tree", "-r", "-z", commit)), "\x00"), "\x00") {
		meta, path, _ := strings.Cut(l, "\t")
		if f := strings.Fields(meta); len(f) == 3 && of(r.Formats, path) != nil {
			ids[path] = f[2]
			if r.blobs[f[2]] == nil {
				missing.WriteString(f[2] + "\n")
			}
		}
	}
	if missing.Len() > 0 {
		r.read(missing.String())
	}
	files := map[string][]byte{}
	for path, id := range ids {
		files[path] = r.blobs[id]
	}
	return files
}

// read gets blobs, without the CR of CRLF, as the engine does.
func (r *Repo) read(ids string) {
	out := r.git([]byte(ids), "cat-file", "--batch")
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte{'\n'})
		f := strings.Fields(string(head))
		size, err := strconv.Atoi(f[len(f)-1])
		if err != nil {
			r.t.Fatalf("cat-file: %s", head)
		}
		r.blobs[f[0]] = bytes.ReplaceAll(rest[:size], []byte("\r\n"), []byte{'\n'})
		out = rest[size+1:]
	}
}

func (r *Repo) git(in []byte, args ...string) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = r.dir, bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// T is what helpers need of a test; a *rapid.T has it, too.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// A Tree is a repository's state in memory; it is a [lockfile.Tree].
type Tree struct {
	Files map[string][]byte

	t       T
	formats []*lockfile.Format
	docs    map[string]*lockfile.Doc
}

// NewTree makes a Tree of files.
func NewTree(t T, formats []*lockfile.Format, files map[string][]byte) *Tree {
	return &Tree{files, t, formats, map[string]*lockfile.Doc{}}
}

// Read implements lockfile.Tree.
func (x *Tree) Read(path string) ([]byte, bool) {
	b, ok := x.Files[path]
	return b, ok
}

// Paths implements lockfile.Tree.
func (x *Tree) Paths() []string {
	var out []string
	for p := range x.Files {
		if of(x.formats, p) != nil {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// Doc implements lockfile.Tree. A file that does not parse fails the test.
func (x *Tree) Doc(path string) *lockfile.Doc { return x.doc(path, nil) }

func (x *Tree) doc(path string, like *lockfile.Doc) *lockfile.Doc {
	x.t.Helper()
	if d, ok := x.docs[path]; ok {
		return d
	}
	content, ok := x.Files[path]
	f := of(x.formats, path)
	if !ok || f == nil {
		return nil
	}
	d, err := f.Parse(content, like)
	if err != nil {
		x.t.Fatalf("%s: %v", path, err)
	}
	d.Format, d.Path = f, path
	x.docs[path] = d
	return d
}

// set returns a Tree in which a file is another one.
func (x *Tree) set(d *lockfile.Doc) *Tree {
	x.t.Helper()
	text, err := d.Format.Encode(d)
	if err != nil {
		x.t.Fatalf("%s: %v", d.Path, err)
	}
	c := NewTree(x.t, x.formats, map[string][]byte{})
	for p, b := range x.Files {
		c.Files[p] = b
	}
	for p, doc := range x.docs {
		c.docs[p] = doc
	}
	c.Files[d.Path], c.docs[d.Path] = text, d
	return c
}

// Problems checks all files, or a fresh reading of them.
func (x *Tree) Problems() map[string]lockfile.Problem {
	fresh := NewTree(x.t, x.formats, x.Files)
	out := map[string]lockfile.Problem{}
	for _, p := range fresh.Paths() {
		if d := fresh.Doc(p); d.Format.Check != nil {
			for _, problem := range d.Format.Check(d, fresh) {
				out[problem.ID()] = problem
			}
		}
	}
	return out
}

// A Fold is what came of merging a set.
type Fold struct {
	Tree      *Tree
	Merged    []int
	Conflicts map[int][]lockfile.Conflict // by pull request
}

// Fold merges what the case's pull requests did to the files of the formats, one
// after the other, into main.
func (r *Repo) Fold() Fold { return r.FoldIn(r.Case.PullRequests) }

// FoldIn is Fold in an order of the caller's.
func (r *Repo) FoldIn(prs []corpus.PullRequest) Fold {
	r.t.Helper()
	base := r.Tree(r.Case.MainCommit)
	out := Fold{Tree: base, Conflicts: map[int][]lockfile.Conflict{}}
	for _, pr := range prs {
		t, conflicts := r.merge(base, out.Tree, r.Tree(pr.MergeBase), r.Tree(pr.Commit), pr)
		if len(conflicts) > 0 {
			out.Conflicts[pr.Number] = conflicts
			continue
		}
		out.Tree = t
		out.Merged = append(out.Merged, pr.Number)
	}
	return out
}

func (r *Repo) merge(base, was, fork, head *Tree, pr corpus.PullRequest) (*Tree, []lockfile.Conflict) {
	files := slices.DeleteFunc(slices.Clone(pr.Files), func(p string) bool { return of(r.Formats, p) == nil })
	slices.SortStableFunc(files, func(a, b string) int {
		return rank(of(r.Formats, a)) - rank(of(r.Formats, b)) // locks last
	})
	now := was
	for _, p := range files {
		if fork.Files[p] == nil || head.Files[p] == nil || was.Files[p] == nil {
			r.t.Logf("#%d: %s is added or removed", pr.Number, p)
			continue
		}
		f := fork.doc(p, base.Doc(p))
		h := head.doc(p, f)
		d, conflicts := lockfile.Apply(was.Doc(p), lockfile.Diff(f, h), was, now, true)
		if len(conflicts) > 0 {
			return nil, conflicts
		}
		now = now.set(d)
	}
	return now, nil
}

func rank(f *lockfile.Format) int {
	if f.Lock {
		return 1
	}
	return 0
}

// Apply merges what a head made of a fork into a tree, in all files of the tree's
// formats that both have.
func Apply(t T, into, fork, head *Tree) (*Tree, []lockfile.Conflict) {
	t.Helper()
	var files []string
	for _, p := range fork.Paths() {
		if into.Files[p] != nil && head.Files[p] != nil && string(fork.Files[p]) != string(head.Files[p]) {
			files = append(files, p)
		}
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(of(into.formats, a)) - rank(of(into.formats, b)) })
	now := into
	for _, p := range files {
		f := fork.doc(p, into.Doc(p))
		d, conflicts := lockfile.Apply(into.Doc(p), lockfile.Diff(f, head.doc(p, f)), into, now, true)
		if len(conflicts) > 0 {
			return nil, conflicts
		}
		now = now.set(d)
	}
	return now, nil
}
