package npmlock

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// envOut names a folder that TestCorpus writes every result tree to, so that
// the package manager can be asked about it by hand.
const envOut = "BAILIFF_NPM_RESULTS"

// formats are those of the files that a project has.
func formats() []*lockfile.Format { return slices.Concat(npm.Formats(), Formats()) }

// repo is a clone of a case.
type repo struct {
	t     testing.TB
	dir   string
	blobs map[string][]byte
}

// clones gives every case of the corpus in which an npm file is changed.
func clones(t *testing.T, f func(t *testing.T, c corpus.Case, r repo)) {
	t.Helper()
	if testing.Short() {
		t.Skip("the corpus takes its time")
	}
	cases := corpustest.Cases(t)
	for _, c := range cases {
		if !slices.ContainsFunc(c.PullRequests, func(p corpus.PullRequest) bool { return slices.ContainsFunc(p.Files, isNpm) }) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			r := repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), blobs: map[string][]byte{}}
			if err := c.Clone(t.Context(), r.dir); err != nil {
				t.Fatal(err)
			}
			r.load()
			f(t, c, r)
		})
	}
}

func isNpm(p string) bool { return path.Base(p) == "package.json" || isLock(p) }

// list are the npm files of a commit, with their blobs.
func (r repo) list(rev string) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(r.git("ls-tree", "-r", rev)), "\n") {
		meta, p, _ := strings.Cut(line, "\t")
		if isNpm(p) || path.Base(p) == ".npmrc" {
			out[p] = strings.Fields(meta)[2]
		}
	}
	return out
}

// files are the npm files of a commit.
func (r repo) files(rev string) map[string][]byte {
	r.t.Helper()
	out := map[string][]byte{}
	for p, id := range r.list(rev) {
		out[p] = r.blob(id)
	}
	return out
}

func (r repo) blob(id string) []byte { return r.blobs[id] }

// load reads all blobs at once.
func (r repo) load() {
	all := r.git("cat-file", "--batch-all-objects", "--batch")
	for len(all) > 0 {
		head, rest, _ := strings.Cut(all, "\n")
		var id, kind string
		var size int
		if _, err := fmt.Sscan(head, &id, &kind, &size); err != nil {
			r.t.Fatal(err)
		}
		if kind == "blob" {
			r.blobs[id] = []byte(strings.ReplaceAll(rest[:size], "\r\n", "\n"))
		}
		all = rest[size+1:]
	}
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// tree is a repository's state in memory.
type tree struct {
	t       testing.TB
	formats []*lockfile.Format
	files   map[string][]byte
	docs    map[string]*lockfile.Doc
}

func newTree(t testing.TB, formats []*lockfile.Format, files map[string][]byte) *tree {
	return &tree{t, formats, files, map[string]*lockfile.Doc{}}
}

func (x *tree) Read(p string) ([]byte, bool) { b, ok := x.files[p]; return b, ok }

func (x *tree) Paths() []string {
	var out []string
	for p := range x.files {
		if isNpm(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func (x *tree) Doc(p string) *lockfile.Doc { return x.doc(p, nil) }

func (x *tree) doc(p string, like *lockfile.Doc) *lockfile.Doc {
	if d, ok := x.docs[p]; ok {
		return d
	}
	content, ok := x.files[p]
	if !ok || !isNpm(p) {
		return nil
	}
	d := parse(x.t, x.formats, p, content, like)
	x.docs[p] = d
	return d
}

// with is the tree with other files.
func (x *tree) with(docs map[string]*lockfile.Doc) *tree {
	out := newTree(x.t, x.formats, map[string][]byte{})
	for p, b := range x.files {
		out.files[p] = b
	}
	for p, d := range x.docs {
		out.docs[p] = d
	}
	for p, d := range docs {
		b, err := d.Format.Encode(d)
		if err != nil {
			x.t.Fatal(err)
		}
		out.files[p], out.docs[p] = b, d
	}
	return out
}

// problems are the problems of all files, by what is wrong.
func (x *tree) problems() map[string]lockfile.Problem {
	out := map[string]lockfile.Problem{}
	for _, p := range x.Paths() {
		d := x.Doc(p)
		if d.Format.Check == nil {
			continue
		}
		for _, q := range d.Format.Check(d, x) {
			// Stricter than ID, which forgives what was as bad before.
			id := strings.Join([]string{string(q.Code), q.Path, q.By, q.Name, q.Req, q.Have, q.Detail}, "\n")
			out[id] = q
		}
	}
	return out
}

func parse(t testing.TB, formats []*lockfile.Format, p string, content []byte, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	for _, f := range formats {
		if f.Match(p, content) {
			d, err := f.Parse(content, like)
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			d.Format, d.Path = f, p
			return d
		}
	}
	t.Fatalf("no format reads %s", p)
	return nil
}

// step merges one head's change of the npm files into ours.
func step(ours, fork, head *tree, files []string) (*tree, []lockfile.Conflict) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b string) int { // manifests first
		return strings.Compare(path.Base(b), path.Base(a))
	})
	was, out := ours, ours
	for _, p := range files {
		if ours.files[p] == nil || fork.files[p] == nil || head.files[p] == nil {
			continue
		}
		o := out.Doc(p)
		f := fork.doc(p, o)
		patch := lockfile.Diff(f, head.doc(p, f))
		d, conflicts := lockfile.Apply(o, patch, was, out, true)
		if len(conflicts) > 0 {
			return nil, conflicts
		}
		out = out.with(map[string]*lockfile.Doc{p: d})
	}
	return out, nil
}

// Every case in one clone of it.
func TestCorpus(t *testing.T) {
	formats := formats()
	clones(t, func(t *testing.T, c corpus.Case, r repo) {
		t.Run("every byte comes back", func(t *testing.T) { everyByte(t, formats, c, r) })
		t.Run("the legacy tree comes out of the packages", func(t *testing.T) { everyLegacyTree(t, formats, c, r) })
		t.Run("the base", func(t *testing.T) { base(t, formats, c, r) })
		t.Run("one head alone", func(t *testing.T) { everyHead(t, formats, c, r) })
		t.Run("the whole set", func(t *testing.T) { wholeSet(t, formats, c, r) })
	})
}

// broken are bases that are not in order by themselves: what npm ci refuses, and
// what it only warns of.
// Asking npm confirms each.
var broken = map[string][]string{
	"axiomantic__spellbook__2026-04-06-f78ad72": {
		"peer_unmet (soft): vite@8.0.0 needs esbuild@^0.27.0, has 0.21.5",
		"peer_unmet: @types/react-dom@19.2.3 needs @types/react@^19.2.0, has 18.3.28",
		"peer_unmet: react-dom@19.2.4 needs react@^19.2.4, has 18.3.1",
	},
	"axiomantic__spellbook__2026-05-01-c8df8d4": {
		"unmet: @opencode-ai/plugin@1.3.13 needs @opencode-ai/sdk@1.3.13, has 1.2.27",
	},
	"axiomantic__spellbook__2026-05-18-be81446": {
		"peer_unmet (soft): vega-embed@6.5.1 needs vega@^5.8.0, has 6.2.0",
		"peer_unmet: eslint-plugin-react-hooks@7.0.1 needs eslint@^3.0.0 || ^4.0.0 || ^5.0.0 || ^6.0.0 || ^7.0.0 || ^8.0.0-0 || ^9.0.0, has 10.2.1",
		"peer_unmet: vega-embed@6.29.0 needs vega@^5.21.0, has 6.2.0",
		"peer_unmet: vega-lite@5.23.0 needs vega@^5.24.0, has 6.2.0",
	},
	"bors-ng__bors-ng__2020-03-22-a9af976": {
		"out_of_sync:  needs @babel/core@^7.8.7, has 7.8.6",
		"out_of_sync:  needs @babel/preset-env@^7.8.7, has 7.7.7",
		"out_of_sync:  needs terser-webpack-plugin@^2.3.5, has 2.3.2",
		"out_of_sync:  needs webpack-cli@^3.3.11, has 3.3.10",
		"out_of_sync:  needs webpack@^4.42.0, has 4.41.5",
	},
}

func base(t *testing.T, formats []*lockfile.Format, c corpus.Case, r repo) {
	var got []string
	for _, p := range newTree(t, formats, r.files(c.MainCommit)).problems() {
		word := string(p.Code)
		if p.Soft {
			word += " (soft)"
		}
		got = append(got, fmt.Sprintf("%s: %s needs %s@%s, has %s", word, p.By, p.Name, p.Req, p.Have))
	}
	slices.Sort(got)
	if !slices.Equal(got, broken[c.ID]) {
		t.Errorf("%q", got)
	}
}

// incompatible are pull requests of the corpus that no other mends: each of
// them alone already is what npm ci refuses.
var incompatible = map[string][]int{
	"axiomantic__spellbook__2026-04-06-f78ad72":  {149}, // eslint 10, which a plugin does not take
	"axiomantic__spellbook__2026-05-01-c8df8d4":  {248},
	"axiomantic__spellbook__2026-05-18-be81446":  {277},
	"dorny__test-reporter__2025-06-29-18430db":   {596}, // a plugin 8 that wants its parser 8
	"fabriziosalmi__wildbox__2026-07-21-67706f7": {151}, // react 19 beside react-dom 18
	"fabriziosalmi__wildbox__2026-08-03-1f25cc2": {151},
}

// wholeSet merges all pull requests of a case, one after the other, and those
// that did not fit once more.
func wholeSet(t *testing.T, formats []*lockfile.Format, c corpus.Case, r repo) {
	base := newTree(t, formats, r.files(c.MainCommit))
	known := base.problems()
	ours := base
	merged, all := 0, 0
	touched := map[string]bool{}
	later := c.PullRequests
	for round := range 2 {
		var left []corpus.PullRequest
		for _, pr := range later {
			files := slices.DeleteFunc(slices.Clone(pr.Files), func(p string) bool { return !isNpm(p) })
			if len(files) == 0 {
				continue
			}
			if round == 0 {
				all++
			}
			fork, head := newTree(t, formats, r.files(pr.MergeBase)), newTree(t, formats, r.files(pr.Commit))
			next, conflicts := step(ours, fork, head, files)
			if len(conflicts) > 0 {
				t.Errorf("%d (%s) conflicts: %+v", pr.Number, pr.Title, conflicts)
				continue
			}
			alone := head.problems()
			var bad []lockfile.Problem
			for id, p := range next.problems() {
				_, before := known[id]
				if q, ok := alone[id]; !before && !(ok && q.Soft) {
					bad = append(bad, p)
				}
			}
			if len(bad) > 0 {
				left = append(left, pr)
				for _, p := range bad {
					t.Logf("round %d, %d (%s): %s", round, pr.Number, pr.Title, p)
				}
				continue
			}
			ours = next
			merged++
			for id, p := range alone { // tolerated by npm, and so here
				if p.Soft {
					known[id] = p
				}
			}
			for _, f := range files {
				touched[path.Dir(f)] = true
			}
		}
		later = left
	}
	var left []int
	for _, pr := range later {
		left = append(left, pr.Number)
	}
	if !slices.Equal(left, incompatible[c.ID]) {
		t.Errorf("left out %v, want %v", left, incompatible[c.ID])
	}
	t.Logf("%d of %d merged", merged, all)
	if out := os.Getenv(envOut); out != "" {
		write(t, filepath.Join(out, c.ID), ours.files, touched)
	}
}

// everyHead merges each pull request into its own fork, which must give its own
// files, and into itself, which must change nothing.
func everyHead(t *testing.T, formats []*lockfile.Format, c corpus.Case, r repo) {
	for _, pr := range c.PullRequests {
		fork, head := newTree(t, formats, r.files(pr.MergeBase)), newTree(t, formats, r.files(pr.Commit))
		for _, ours := range []*tree{fork, head} {
			got, conflicts := step(ours, fork, head, pr.Files)
			if len(conflicts) > 0 {
				t.Errorf("%d: %v", pr.Number, conflicts)
				continue
			}
			for p, want := range head.files {
				if isNpm(p) && string(got.files[p]) != string(want) && fork.files[p] != nil {
					t.Errorf("%d: %s is not the head's: %s", pr.Number, p, firstDifference(want, got.files[p]))
				}
			}
		}
	}
}

func write(t *testing.T, dir string, files map[string][]byte, touched map[string]bool) {
	for p, b := range files {
		at := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for d := range touched {
		list = append(list, d)
	}
	slices.Sort(list)
	if err := os.WriteFile(filepath.Join(dir, ".touched"), []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
