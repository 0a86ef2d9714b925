package bare_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// fetched is a repository with what another one has.
func fetched(t *testing.T, from *gittest.Repo) *bare.Repo {
	t.Helper()
	r, err := bare.Init(t.Context(), filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Fetch(t.Context(), from.Dir); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDiff(t *testing.T) {
	src := gittest.New(t)
	long := strings.Repeat("a line that stays\n", 20)
	base := src.Commit("main", "", gittest.Files{
		"gone": "1\n2\n", "moved": long, "mode": "x\n", "type": "text\n", "bin": "a\x00b", "same": "s", "odd \"name\"\t\u00e9": "1\n", "tail": "no newline",
	})
	head := src.Commit("topic", "main", gittest.Files{
		"gone": nil, "moved": nil, "was/moved": long + "more\n", "mode": gittest.Exec("x\n"), "type": gittest.Link("gone"), "bin": "a\x00c",
		"odd \"name\"\t\u00e9": "2\n", "new": "diff --git a b\n@@ x\n", "tail": "no newline either",
	})
	r := fetched(t, src)
	c, err := r.Compare(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []bare.File{
		{Path: "bin", Status: "modified"},
		{Path: "gone", Status: "removed", Deletions: 2, Patch: "@@ -1,2 +0,0 @@\n-1\n-2"},
		{Path: "mode", Status: "modified"},
		{Path: "new", Status: "added", Additions: 2, Patch: "@@ -0,0 +1,2 @@\n+diff --git a b\n+@@ x"},
		{Path: "odd \"name\"\t\u00e9", Status: "modified", Additions: 1, Deletions: 1, Patch: "@@ -1 +1 @@\n-1\n+2"},
		{Path: "tail", Status: "modified", Additions: 1, Deletions: 1, Patch: "@@ -1 +1 @@\n-no newline\n\\ No newline at end of file\n+no newline either\n\\ No newline at end of file"},
		{Path: "type", Status: "changed", Additions: 1, Deletions: 1},
		{Path: "was/moved", OldPath: "moved", Status: "renamed", Additions: 1, Patch: "@@ -18,3 +18,4 @@ a line that stays\n a line that stays\n a line that stays\n a line that stays\n+more"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(bare.File{}, "ID")); diff != "" {
		t.Error(diff)
	}
	for path, touched := range map[string]bool{"was": true, "same": false, "*": false, "none": false} {
		if got, err := r.Touched(t.Context(), base, head, path); err != nil || got != touched {
			t.Errorf("touched %q: %v, %v", path, got, err)
		}
	}
}

func TestCompareAndMerge(t *testing.T) {
	src := gittest.New(t)
	src.Commit("main", "", gittest.Files{"a": "1\n", "b": "1\n"})
	side := src.Commit("side", "main", gittest.Files{"a": "2\n"})
	clash := src.Commit("clash", "main", gittest.Files{"b": "3\n"})
	src.Commit("main", "main", gittest.Files{"b": "2\n"})
	main := src.Commit("main", "main", gittest.Files{"c": "1\n"})
	alone := src.Commit("alone", "", gittest.Files{"z": "1\n"})
	r := fetched(t, src)
	for _, c := range []struct {
		head          git.ID
		ahead, behind int
		clean         bool
	}{{side, 1, 2, true}, {clash, 1, 2, false}, {main, 0, 0, true}, {alone, 1, 3, false}} {
		got, err := r.Compare(t.Context(), main, c.head)
		if err != nil {
			t.Fatal(err)
		}
		_, clean, err := got.Merge(t.Context())
		if len(got.Ahead) != c.ahead || got.Behind != c.behind || clean != c.clean || err != nil || (got.MergeBase == "") != (c.head == alone) {
			t.Errorf("%s: %d ahead, %d behind, clean %v, %v", c.head, len(got.Ahead), got.Behind, clean, err)
		}
	}
}

func TestWriteTree(t *testing.T) {
	src := gittest.New(t)
	base := src.Commit("main", "", gittest.Files{"a": "1", "d/x": "1", "d/y": "1"})
	r := fetched(t, src)
	blob, err := r.WriteBlob(t.Context(), []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := r.WriteTree(t.Context(), "", []bare.Edit{{Path: "in/side", Mode: git.ModeFile, ID: blob}})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.WriteTree(t.Context(), base, []bare.Edit{
		{Path: "a/file", Mode: git.ModeExec, ID: blob}, // where a file was
		{Path: "d/x"},
		{Path: "sub", Mode: git.ModeTree, ID: whole},
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Tree(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Mode, " ", e.Path))
	}
	if diff := cmp.Diff([]string{"100755 a/file", "100644 d/y", "100644 sub/in/side"}, got); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{"../out", ".git/config", "/abs", "a//b"} {
		if _, err := r.WriteTree(t.Context(), base, []bare.Edit{{Path: path, Mode: git.ModeFile, ID: blob}}); !errors.Is(err, git.ErrBadPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := r.Find(t.Context(), base, "d/none"); !errors.Is(err, bare.ErrNotFound) {
		t.Errorf("a path that is not there: %v", err)
	}
	if _, err := r.Commit(t.Context(), "0123456789012345678901234567890123456789"); !errors.Is(err, bare.ErrNotFound) {
		t.Errorf("a commit that is not there: %v", err)
	}
}

// What is read of a push is what git would read: whole lines, names that are object
// names, and never more than was sent.
func FuzzCommands(f *testing.F) {
	one := strings.Repeat("1", 40)
	line := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	f.Add(line(one+" "+one+" refs/heads/x\x00report-status side-band-64k") + "0000PACK")
	f.Add(line(one+" "+one+" refs/heads/x") + line(one+" "+one+" refs/heads/y") + "0000")
	f.Add(line("shallow "+one) + "0000")
	f.Add("0003")
	f.Add("ffff")
	f.Fuzz(func(t *testing.T, body string) {
		commands, _, size, err := bare.Commands(strings.NewReader(body))
		if err != nil {
			if !errors.Is(err, bare.ErrPush) {
				t.Errorf("another error: %v", err)
			}
			return
		}
		if size < 4 || size > int64(len(body)) {
			t.Errorf("size %d of %d", size, len(body))
		}
		if !strings.HasSuffix(body[:size], "0000") {
			t.Errorf("ends in %q", body[:size])
		}
		for _, c := range commands {
			if !c.Old.Valid() || !c.New.Valid() || !strings.Contains(body, c.Ref) {
				t.Errorf("command %+v", c)
			}
		}
	})
}
