package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRefs(t *testing.T) {
	r := gittest.New(t)
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	two := r.Commit("dependabot/npm_and_yarn/x-2.0.0", "main", gittest.Files{"f": "2"})
	r.Git("tag", "-a", "-m", "x", "v1", "main")
	r.Git("tag", "-a", "-m", "x", "v1-again", "v1")
	r.Git("tag", "of-a-tree", "main^{tree}")
	r.Git("tag", "-a", "-m", "x", "of-a-blob", "main:f")
	r.Branch("refs/remotes/origin/main", two)
	r.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	r.Git("symbolic-ref", "refs/remotes/origin/dangling", "refs/remotes/origin/gone")
	r.Git("pack-refs", "--all")
	for _, name := range []string{"-x", "--upload-pack=y", "--end-of-options", "$(touch)", "it's", "\xff\xfe", "ünï", "x\r", "esc\x1b2J"} {
		r.Branch(name, one)
	}
	r.Branch("main", two) // the loose one counts
	// Debris that is no reference.
	write(t, filepath.Join(r.GitDir, "refs/heads/x.lock"), string(one)+"\n")
	write(t, filepath.Join(r.GitDir, "refs/heads/empty"), "")
	write(t, filepath.Join(r.GitDir, "refs/heads/empty\r"), "")
	write(t, filepath.Join(r.GitDir, "refs/heads/text\r"), "--help\n")
	r.Branch("nowhere", git.ID(strings.Repeat("1", 40)))

	c := must(git.Open(t.Context(), r.Dir))(t)
	want := []git.Ref{
		{Name: "refs/heads/$(touch)", Commit: one},
		{Name: "refs/heads/--end-of-options", Commit: one},
		{Name: "refs/heads/--upload-pack=y", Commit: one},
		{Name: "refs/heads/-x", Commit: one},
		{Name: "refs/heads/dependabot/npm_and_yarn/x-2.0.0", Commit: two},
		{Name: "refs/heads/it's", Commit: one},
		{Name: "refs/heads/main", Commit: two},
		{Name: "refs/heads/ünï", Commit: one},
		{Name: "refs/heads/\xff\xfe", Commit: one},
		{Name: "refs/remotes/origin/HEAD", Commit: two, Symref: "refs/remotes/origin/main"},
		{Name: "refs/remotes/origin/main", Commit: two},
		{Name: "refs/tags/v1", Commit: one},
		{Name: "refs/tags/v1-again", Commit: one},
		{Name: "refs/heads/esc\x1b2J", Commit: one},
		{Name: "refs/heads/x\r", Commit: one},
	}
	if diff := cmp.Diff(want, must(c.Refs(t.Context()))(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	some := must(c.Refs(t.Context(), "refs/remotes/", "refs/heads/dependabot"))(t)
	if len(some) != 3 {
		t.Errorf("by prefix: %v", some)
	}
	if odd := must(c.Refs(t.Context(), "refs/heads/"))(t); odd[len(odd)-1].Name != "refs/heads/x\r" {
		t.Errorf("by prefix: %v", odd)
	}
	for _, bad := range []string{"--contains=x", "heads", "refs/heads/*"} {
		if _, err := c.Refs(t.Context(), bad); !errors.Is(err, git.ErrBadRef) {
			t.Errorf("prefix %q: %v", bad, err)
		}
	}
}

// TestPackedRefsOfWindows: an editor there gave every line a carriage return, and
// git no longer knows a single name.
func TestPackedRefsOfWindows(t *testing.T) {
	r := gittest.New(t)
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	r.Branch("side", one)
	r.Git("pack-refs", "--all")
	path := filepath.Join(r.GitDir, "packed-refs")
	text := must(os.ReadFile(path))(t)
	write(t, path, strings.ReplaceAll(string(text), "\n", "\r\n"))
	if out := r.Git("for-each-ref"); strings.Contains(out, string(one)) {
		t.Skip("this git copes:", out)
	}
	c := must(git.Open(t.Context(), r.Dir))(t)
	want := []git.Ref{{Name: "refs/heads/main\r", Commit: one}, {Name: "refs/heads/side\r", Commit: one}}
	if diff := cmp.Diff(want, must(c.Refs(t.Context()))(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPackedRefsBeyondReading: the words must name the clone's file, not one of
// a folder that is gone by then.
func TestPackedRefsBeyondReading(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": "1"})
	write(t, filepath.Join(r.GitDir, "packed-refs"), "nonsense\n")
	c := must(git.Open(t.Context(), r.Dir))(t)
	_, err := c.Refs(t.Context())
	if err == nil || !strings.Contains(err.Error(), "packed-refs") || strings.Contains(err.Error(), "bailiff-git-") {
		t.Errorf("got %v", err)
	}
}

func TestHead(t *testing.T) {
	r := gittest.New(t)
	head := func(dir string) git.Ref {
		t.Helper()
		return must(must(git.Open(t.Context(), dir))(t).Head(t.Context()))(t)
	}
	if got := head(r.Dir); got != (git.Ref{Name: "HEAD", Symref: "refs/heads/main"}) {
		t.Errorf("unborn: %+v", got)
	}
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	if got := head(r.Dir); got != (git.Ref{Name: "HEAD", Symref: "refs/heads/main", Commit: one}) {
		t.Errorf("on a branch: %+v", got)
	}
	two := r.Commit("", "main", gittest.Files{"f": "2"})
	linked := filepath.Join(t.TempDir(), "linked")
	r.Git("worktree", "add", "-q", "--detach", linked, string(two))
	if got := head(linked); got != (git.Ref{Name: "HEAD", Commit: two}) {
		t.Errorf("detached, in a linked working tree: %+v", got)
	}
}

func TestCheckedOut(t *testing.T) {
	r := gittest.New(t)
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	r.Commit("side", string(one), gittest.Files{"f": "2"})
	r.Commit("main", "main", gittest.Files{"f": "3"})
	top := t.TempDir()
	for _, name := range []string{"linked", "a b", "rebasing", "applying", "bisecting", "detached"} {
		branch := strings.ReplaceAll(name, " ", "-")
		r.Branch(branch, r.Resolve("side"))
		r.Git("worktree", "add", "-q", filepath.Join(top, name), branch)
	}
	in := func(name string) *gittest.Repo { return gittest.At(t, filepath.Join(top, name), r.GitDir) }
	for name, how := range map[string]string{"rebasing": "--merge", "applying": "--apply"} {
		if out, err := in(name).Command("rebase", how, "main").CombinedOutput(); err == nil {
			t.Fatalf("the rebase does not stop: %s", out)
		}
	}
	in("bisecting").Git("bisect", "start", "HEAD", "HEAD~1")
	in("detached").Git("checkout", "-q", "--detach")
	r.Git("checkout", "-q", "main")

	c := must(git.Open(t.Context(), filepath.Join(top, "a b")))(t)
	want := map[string]string{"refs/heads/main": r.Dir}
	for _, name := range []string{"linked", "a b", "rebasing", "applying", "bisecting"} {
		want["refs/heads/"+strings.ReplaceAll(name, " ", "-")] = filepath.Join(top, name)
	}
	if diff := cmp.Diff(want, must(c.CheckedOut(t.Context()))(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUpdateRef(t *testing.T) {
	r := gittest.New(t)
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	two := r.Commit("there", "main", gittest.Files{"f": "2"})
	tree := git.ID(r.Git("rev-parse", "main^{tree}"))
	r.Branch("file", one)
	r.Branch("folder/a/b", one)
	r.Branch("packed/x", one)
	r.Git("pack-refs", "--all")
	r.Branch("locked", one)
	write(t, filepath.Join(r.GitDir, "refs/heads/locked.lock"), "")
	r.Git("symbolic-ref", "refs/heads/symbolic", "refs/heads/main")
	zero := git.ID(strings.Repeat("0", 40))
	c := must(git.Open(t.Context(), r.Dir))(t)
	for _, tt := range []struct {
		name, ref string
		to, old   git.ID
		want      error
		says      string
	}{
		{"new", "refs/heads/new", one, "", nil, ""},
		{"new, zeros", "refs/heads/deep/er/new", one, zero, nil, ""},
		{"like an option", "refs/heads/--no-deref", one, "", nil, ""},
		{"moved on", "refs/heads/new", two, one, nil, ""},
		{"packed moved on", "refs/heads/packed/x", two, one, nil, ""},
		{"is there", "refs/heads/there", one, "", git.ErrRefMoved, "is at " + string(two) + ", not at nothing"},
		{"is elsewhere", "refs/heads/there", one, one, git.ErrRefMoved, "is at " + string(two)},
		{"is gone", "refs/heads/gone", two, one, git.ErrRefMoved, "is at nothing, not at " + string(one)},
		{"below a branch", "refs/heads/file/x", one, "", git.ErrRefBlocked, `"refs/heads/file" exists`},
		{"below a branch by far", "refs/heads/file/x/y/z", one, "", git.ErrRefBlocked, `"refs/heads/file" exists`},
		{"above a branch", "refs/heads/folder", one, "", git.ErrRefBlocked, `"refs/heads/folder/a/b" exists`},
		{"above a packed branch", "refs/heads/packed", one, "", git.ErrRefBlocked, `"refs/heads/packed/x" exists`},
		{"locked", "refs/heads/locked", two, one, git.ErrRefLocked, filepath.Join(r.GitDir, "refs/heads/locked.lock")},
		{"to a tree", "refs/heads/tree", tree, "", nil, "cannot be written"},
		{"to nowhere", "refs/heads/nowhere", git.ID(strings.Repeat("1", 40)), "", nil, "cannot be written"},
		{"to nothing", "refs/heads/file", zero, one, git.ErrBadID, ""},
		{"to a word", "refs/heads/file", "main", one, git.ErrBadID, ""},
		{"from a word", "refs/heads/file", one, "main", git.ErrBadID, ""},
		{"bad name", "refs/heads/a b", one, "", git.ErrBadRef, ""},
		{"name of two lines", "refs/heads/a\x00x", one, "", git.ErrBadRef, ""},
		{"no full name", "HEAD", one, "", git.ErrBadRef, ""},
		{"symbolic, elsewhere", "refs/heads/symbolic", two, two, git.ErrRefMoved, ""},
		{"symbolic, replaced", "refs/heads/symbolic", two, one, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := r.Command("rev-parse", "-q", "--verify", tt.ref)
			was, _ := before.Output()
			err := c.UpdateRef(t.Context(), tt.ref, tt.to, tt.old)
			if tt.want == nil && tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Git("rev-parse", "--verify", "--end-of-options", tt.ref); got != string(tt.to) {
					t.Errorf("is at %s", got)
				}
				return
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
			if is, _ := r.Command("rev-parse", "-q", "--verify", tt.ref).Output(); string(is) != string(was) {
				t.Errorf("moved from %s to %s", was, is)
			}
			if strings.Contains(err.Error(), "bailiff-git-") {
				t.Errorf("the message names a temporary folder: %v", err)
			}
		})
	}
	if got := r.Resolve("main"); got != one {
		t.Errorf("main was moved through a symbolic reference, to %s", got)
	}
	if log := r.Git("reflog", "show", "refs/heads/new"); strings.Count(log, "bailiff") < 2 {
		t.Errorf("the journal of the branch is %q", log)
	}
}

func TestUpdateRefOfAGroup(t *testing.T) {
	r := gittest.New(t, "--shared=group")
	one := r.Commit("main", "", gittest.Files{"f": "1"})
	if err := os.Chmod(filepath.Join(r.GitDir, "refs"), 0o2775); err != nil {
		t.Fatal(err)
	}
	c := must(git.Open(t.Context(), r.Dir))(t)
	if err := c.UpdateRef(t.Context(), "refs/heads/bailiff/x", one, ""); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"refs/heads/bailiff": 0o020, "refs/heads/bailiff/x": 0o020} {
		fi := must(os.Stat(filepath.Join(r.GitDir, path)))(t)
		if fi.Mode().Perm()&want == 0 {
			t.Errorf("%s is %v: the group cannot write it", path, fi.Mode())
		}
	}
}

func TestCheckRef(t *testing.T) {
	agrees := func(t interface{ Fatalf(string, ...any) }, name string) {
		err := exec.Command("git", "check-ref-format", name).Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v", err)
		}
		if got := git.CheckRef(name); (got == nil) != (err == nil) {
			t.Fatalf("%q: %v, but git says %v", name, got, err)
		}
	}
	for _, name := range []string{
		"refs/heads/main", "refs/heads/-x", "refs/heads/--upload-pack=y", "refs/heads/@", "refs/heads/ü", "refs/heads/\xff",
		"refs/heads/a.b", "refs/heads/a.", "refs/heads/.a", "refs/heads/a/.b", "refs/heads/a..b", "refs/heads/a.lock", "refs/heads/a.lock/b",
		"refs/heads/a@{b", "refs/heads/a@b", "refs/heads/", "refs/heads//a", "refs/heads/a/", "refs/heads/a b", "refs/heads/a\tb", "refs/heads/a\r",
		"refs/heads/a~b", "refs/heads/a^b", "refs/heads/a:b", "refs/heads/a?b", "refs/heads/a*b", "refs/heads/a[b", `refs/heads/a\b`, "refs/heads/a\x7fb",
		"refs/x", "refs/heads/.lock", "refs/heads/a.lockx",
	} {
		agrees(t, name)
	}
	for _, name := range []string{"", "main", "HEAD", "refs", "/refs/heads/a", "refs/heads/a\x00b"} {
		if !errors.Is(git.CheckRef(name), git.ErrBadRef) {
			t.Errorf("%q was let through", name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.SampledFrom([]rune("ab.@{/-~ \\lock\r\x7fü")), 1, 12, -1)
		agrees(t, "refs/"+part.Draw(t, "name"))
	})
}
