package git_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// result is the branch that exercise writes.
const result = "refs/heads/bailiff/dependencies"

func open(t *testing.T, dir string) (*git.Clone, *git.Scratch) {
	t.Helper()
	c, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, scratch(t, c)
}

func scratch(t *testing.T, c *git.Clone) *git.Scratch {
	t.Helper()
	s, err := c.Scratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// must is for answers whose error ends the test: must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// exercise goes the whole way with the repository that gittest.Bait made, found
// at dir: every method of the package, from Open to UpdateRef. It checks answers
// through the package alone, so as not to spring a trap by itself.
func exercise(t *testing.T, dir string) git.ID {
	t.Helper()
	ctx := t.Context()
	c, s := open(t, dir)
	tips := map[string]git.ID{}
	for _, r := range must(c.Refs(ctx))(t) {
		tips[strings.TrimPrefix(strings.TrimPrefix(r.Name, "refs/heads/"), "refs/remotes/origin/")] = r.Commit
	}
	base, head := tips["main"], tips["bump"]
	if base == "" || head == "" {
		t.Fatalf("no branches main and bump among %v", tips)
	}
	must(c.Head(ctx))(t)
	must(c.CheckedOut(ctx))(t)

	fork, ok, err := s.MergeBase(ctx, base, head)
	if err != nil || !ok {
		t.Fatalf("merge base: %v, %v", ok, err)
	}
	commits := must(s.Commits(ctx, fork, head))(t)
	if len(commits) != 1 || commits[0].ID != head || commits[0].Author.Name != gittest.Dependabot.Name {
		t.Fatalf("commits %+v", commits)
	}
	if all := must(s.Commits(ctx, "", base))(t); len(all) != 2 || all[1].ID != base {
		t.Fatalf("history of main: %+v", all)
	}
	changes := must(s.Diff(ctx, fork, head))(t)
	if len(changes) != 1 || changes[0].Path != "f" || changes[0].Kind != git.Modified {
		t.Fatalf("changes %+v", changes)
	}
	contents := func(commit git.ID) []byte {
		t.Helper()
		for _, e := range must(s.Tree(ctx, commit))(t) {
			if e.Path == "f" {
				return must(s.Blob(ctx, e.ID))(t)
			}
		}
		t.Fatalf("no file in %s", commit)
		return nil
	}
	ours, theirs := contents(base), contents(head)
	marked, conflicts, err := s.MergeFile(ctx, ours, contents(fork), theirs)
	if err != nil || conflicts != 1 || !bytes.Contains(marked, []byte("<<<<<<< ours\nmain\n=======\nbump\n>>>>>>> theirs\n")) {
		t.Fatalf("merged with %d conflicts to %q, %v", conflicts, marked, err)
	}
	if _, clean, err := s.MergeTree(ctx, base, head); err != nil || clean {
		t.Fatalf("merge tree: %v, %v", clean, err)
	}
	if _, err := s.Blob(ctx, git.ID(strings.Repeat("1", len(base)))); err == nil {
		t.Fatal("read an object that is not there")
	}

	im := must(s.Import(ctx))(t)
	text := []byte("1\nmain and bump\n3\n")
	blob := must(im.Blob(text))(t)
	mark := must(im.Commit(git.CommitSpec{
		Parent: base, Author: commits[0].Author, Committer: gittest.Person, Message: "result\n",
		Changes: []git.FileChange{{Path: "f", Mode: git.ModeFile, Blob: blob}},
	}))(t)
	tip := must(im.Close())(t)[mark]
	if got := contents(tip); !bytes.Equal(got, text) {
		t.Fatalf("imported %q", got)
	}
	if err := s.Install(ctx, tip); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateRef(ctx, result, tip, ""); err != nil {
		t.Fatal(err)
	}
	// Again, as a second run does that comes to the same result.
	if err := s.Install(ctx, tip); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateRef(ctx, result, tip, tip); err != nil {
		t.Fatal(err)
	}
	// A scratch made afterwards sees only what the clone really has.
	again := must(c.Refs(ctx, "refs/heads/bailiff"))(t)
	if len(again) != 1 || again[0].Name != result || again[0].Commit != tip {
		t.Fatalf("the result is not there: %v", again)
	}
	must(scratch(t, c).Commits(ctx, base, tip))(t)
	return tip
}

func TestAnyClone(t *testing.T) {
	// In each, dir is what is opened, gitDir the folder that all working trees
	// share.
	type place struct{ dir, gitDir string }
	in := func(r *gittest.Repo) place { return place{r.Dir, r.GitDir} }
	clone := func(t *testing.T, r *gittest.Repo, flags ...string) place {
		dir := filepath.Join(t.TempDir(), "clone")
		r.Git(append([]string{"clone", "-q", "--no-local", "file://" + r.Dir, dir}, flags...)...)
		if slices.Contains(flags, "--bare") {
			return place{dir, dir}
		}
		return place{dir, filepath.Join(dir, ".git")}
	}
	odd := func(name string) func(*testing.T) place {
		return func(t *testing.T) place {
			return in(gittest.BaitIn(t, filepath.Join(t.TempDir(), name, "repo")))
		}
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T) place
	}{
		{"plain", func(t *testing.T) place { return in(gittest.Bait(t)) }},
		{"a folder below", func(t *testing.T) place {
			r := gittest.Bait(t)
			below := filepath.Join(r.Dir, "a/b")
			if err := os.MkdirAll(below, 0o755); err != nil {
				t.Fatal(err)
			}
			return place{below, r.GitDir}
		}},
		{"the .git folder", func(t *testing.T) place { r := gittest.Bait(t); return place{r.GitDir, r.GitDir} }},
		{"through a symlink", func(t *testing.T) place {
			r := gittest.Bait(t)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(r.Dir, link); err != nil {
				t.Fatal(err)
			}
			return place{link, r.GitDir}
		}},
		{"linked working tree", func(t *testing.T) place {
			r := gittest.Bait(t)
			dir := filepath.Join(t.TempDir(), "linked")
			r.Git("worktree", "add", "-q", dir, "bump")
			return place{dir, r.GitDir}
		}},
		{"git folder elsewhere, as of a submodule", func(t *testing.T) place {
			r := gittest.Bait(t)
			dir := filepath.Join(t.TempDir(), "elsewhere")
			r.Git("init", "-q", "--separate-git-dir", dir)
			return place{r.Dir, dir}
		}},
		{"bare", func(t *testing.T) place { return clone(t, gittest.Bait(t), "--bare") }},
		{"clone with remote branches only", func(t *testing.T) place { return clone(t, gittest.Bait(t)) }},
		{"without blobs to start with", func(t *testing.T) place {
			r := gittest.Bait(t)
			r.Git("config", "uploadpack.allowFilter", "true")
			p := clone(t, r, "--bare", "--filter=blob:none")
			// Fetch what is needed as git does it, one by one.
			for _, f := range []string{"main:f", "bump:f", "main~1:f"} {
				r.Git("--git-dir="+p.dir, "cat-file", "-e", f)
			}
			return p
		}},
		{"shallow, but deep enough", func(t *testing.T) place {
			return clone(t, gittest.Bait(t), "--depth=2", "--no-single-branch")
		}},
		{"packed", func(t *testing.T) place {
			r := gittest.Bait(t)
			r.Git("gc", "-q", "--prune=now")
			if _, err := os.Stat(filepath.Join(r.GitDir, "packed-refs")); err != nil {
				t.Fatal("gc packed no references:", err)
			}
			return in(r)
		}},
		{"working tree configured elsewhere", func(t *testing.T) place {
			r := gittest.Bait(t)
			r.Git("config", "core.worktree", t.TempDir())
			return in(r)
		}},
		{"bare by its configuration only", func(t *testing.T) place {
			r := gittest.Bait(t)
			r.Git("config", "core.bare", "true")
			return in(r)
		}},
		{"with grafts and replacements, which are not the history", func(t *testing.T) place {
			r := gittest.Bait(t)
			main := r.Resolve("main")
			write(t, filepath.Join(r.GitDir, "info/grafts"), string(main)+"\n")
			r.Branch("refs/replace/"+string(r.Resolve("bump")), main)
			return in(r)
		}},
		{"SHA-256", func(t *testing.T) place {
			return in(gittest.BaitIn(t, filepath.Join(t.TempDir(), "long"), "--object-format=sha256"))
		}},
		{"reftable", func(t *testing.T) place {
			r := gittest.New(t)
			if err := r.Command("init", "-q", "--ref-format=reftable", filepath.Join(t.TempDir(), "x")).Run(); err != nil {
				t.Skip("this git has no reftable")
			}
			dir := filepath.Join(t.TempDir(), "clone")
			bait := gittest.Bait(t)
			bait.Git("clone", "-q", "--ref-format=reftable", bait.Dir, dir)
			return place{dir, filepath.Join(dir, ".git")}
		}},
		{"chain of alternates, the second relative", func(t *testing.T) place {
			top := t.TempDir()
			r := gittest.BaitIn(t, filepath.Join(top, "origin"))
			for _, c := range [][3]string{{"origin", "middle", "../../origin/.git/objects"}, {"middle", "last", "../../middle/objects"}} {
				r.Git("clone", "-q", "--shared", "--mirror", filepath.Join(top, c[0]), filepath.Join(top, c[1]))
				path := filepath.Join(top, c[1], "objects/info/alternates")
				if err := os.WriteFile(path, []byte(c[2]+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return place{filepath.Join(top, "last"), filepath.Join(top, "last")}
		}},
		{"objects by a symlink", func(t *testing.T) place {
			r := gittest.Bait(t)
			elsewhere := filepath.Join(t.TempDir(), "objects")
			if err := os.Rename(filepath.Join(r.GitDir, "objects"), elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(r.GitDir, "objects")); err != nil {
				t.Fatal(err)
			}
			return in(r)
		}},
		{"caller inside of a hook of another repository", func(t *testing.T) place {
			other := gittest.New(t)
			t.Setenv("GIT_DIR", other.GitDir)
			t.Setenv("GIT_WORK_TREE", other.Dir)
			t.Setenv("GIT_INDEX_FILE", filepath.Join(other.GitDir, "index"))
			t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.GitDir, "objects"))
			t.Setenv("GIT_NAMESPACE", "x")
			return in(gittest.Bait(t))
		}},
		{"folder with a space", odd("a b")},
		{"folder with quotes", odd(`it's "quoted" \ here`)},
		{"folder with a newline", odd("a\nb")},
		{"folder that ends in a newline", odd("a\n")},
		{"folder with a colon", odd("a:b")},
		{"folder like a comment", odd("#a")},
		{"folder like an option", odd("--upload-pack=x")},
		{"folder that is no UTF-8", odd("a\xff\x80b")},
		{"folder with what a shell would take", odd("$(x); `y` *?[z]")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "caller inside of a hook of another repository" { // sets variables
				t.Parallel()
			}
			p := tt.make(t)
			before := snapshot(t, p.dir, p.gitDir)
			tip := exercise(t, p.dir)
			after := snapshot(t, p.dir, p.gitDir)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("more than a branch was written (-before +after):\n%s", diff)
			}
			check := gittest.At(t, p.dir, p.gitDir)
			if got := check.Git("rev-parse", result); got != string(tip) {
				t.Errorf("git sees %s at %s, want %s", result, got, tip)
			}
			if got := check.Git("show", result+":f"); got != "1\nmain and bump\n3" {
				t.Errorf("git reads %q from the result", got)
			}
			check.Git("fsck", "--strict", "--connectivity-only")
		})
	}
}

// snapshot is what is in the folders, but for new objects and what belongs to
// the result's branch.
func snapshot(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if strings.Contains(path, "/bailiff") || strings.Contains(path, "/objects/pack") || strings.Contains(path, "/reftable/") {
				return nil
			}
			info, err := d.Info()
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if d.Type()&fs.ModeSymlink != 0 {
				data, err = nil, nil
			}
			files[path] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(data))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestTraps(t *testing.T) {
	for _, set := range gittest.Sets() {
		for _, trap := range set.Traps {
			t.Run("works/"+trap.Name, func(t *testing.T) {
				if !trap.Serial {
					t.Parallel()
				}
				trap.Prove(t)
			})
		}
		t.Run("avoided/"+set.Name, func(t *testing.T) {
			if !set.Serial {
				t.Parallel()
			}
			r := gittest.Bait(t)
			sprung := set.Arm(t, r)
			defer func() { // even if it went wrong because of one
				if names := sprung(); len(names) > 0 {
					t.Errorf("what the clone names was executed: %q", names)
				}
			}()
			exercise(t, r.Dir)
		})
	}
}

// TestConcurrentUse is one for the race detector.
func TestConcurrentUse(t *testing.T) {
	r := gittest.Bait(t)
	main, bump := r.Resolve("main"), r.Resolve("bump")
	c, s := open(t, r.Dir)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			changes, err := s.Diff(t.Context(), main, bump)
			if err != nil || len(changes) != 1 {
				t.Errorf("diff: %v, %v", changes, err)
				return
			}
			ours, errA := s.Blob(t.Context(), changes[0].Old)
			theirs, errB := s.Blob(t.Context(), changes[0].New)
			if string(ours) != "1\nmain\n3\n" || string(theirs) != "1\nbump\n3\n" {
				t.Errorf("read %q and %q, %v, %v", ours, theirs, errA, errB)
			}
			if _, n, err := s.MergeFile(t.Context(), ours, nil, theirs); n != 1 || err != nil {
				t.Errorf("merge: %d, %v", n, err)
			}
			if _, clean, err := s.MergeTree(t.Context(), main, bump); clean || err != nil {
				t.Errorf("merge tree: %v, %v", clean, err)
			}
			if refs, err := c.Refs(t.Context()); len(refs) != 2 || err != nil {
				t.Errorf("refs: %v, %v", refs, err)
			}
		})
	}
	all.Wait()
}

// TestTidy sees to it that nothing is left behind, neither files nor processes.
func TestTidy(t *testing.T) {
	tmp := t.TempDir()
	r := gittest.Bait(t)
	t.Setenv("TMPDIR", tmp)
	c, s := open(t, r.Dir)
	if _, err := s.Commit(t.Context(), r.Resolve("main")); err != nil {
		t.Fatal(err)
	}
	im := must(s.Import(t.Context()))(t)
	pids := []int{s.ReaderPID(), im.PID()}
	must(c.Refs(t.Context()))(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := im.Blob(nil); err == nil {
		t.Error("the importer outlived its scratch")
	}
	for name, call := range map[string]func(context.Context) error{
		"Blob":   func(ctx context.Context) error { _, err := s.Blob(ctx, r.Resolve("main")); return err },
		"Diff":   func(ctx context.Context) error { _, err := s.Diff(ctx, "", r.Resolve("main")); return err },
		"Import": func(ctx context.Context) error { _, err := s.Import(ctx); return err },
		"MergeFile": func(ctx context.Context) error {
			_, _, err := s.MergeFile(ctx, []byte("1"), []byte("2"), []byte("3"))
			return err
		},
	} {
		if err := call(t.Context()); err == nil {
			t.Errorf("%s works on a closed scratch", name)
		}
	}
}
