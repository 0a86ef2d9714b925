package git_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

func TestMergeBase(t *testing.T) {
	r := gittest.New(t)
	root := r.Commit("main", "", gittest.Files{"f": "1"})
	one := r.Commit("main", "main", gittest.Files{"f": "2"})
	tip := r.Commit("main", "main", gittest.Files{"f": "3"})
	head := r.Commit("head", string(one), gittest.Files{"g": "1"})
	updated := r.Commit("updated", string(head), gittest.Files{"f": "3"}, gittest.Merge(tip))
	other := r.Commit("other", "", gittest.Files{"f": "1"})
	_, s := open(t, r.Dir)
	for _, tt := range []struct {
		name       string
		a, b, want git.ID
	}{
		{"behind", tip, head, one},
		{"the other way", head, tip, one},
		{"brought up to date", tip, updated, tip},
		{"itself", tip, tip, tip},
		{"an ancestor", tip, root, root},
		{"unrelated", tip, other, ""},
	} {
		got, ok, err := s.MergeBase(t.Context(), tt.a, tt.b)
		if err != nil || got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, %v", tt.name, got, ok, err)
		}
	}
	if _, _, err := s.MergeBase(t.Context(), tip, git.ID(strings.Repeat("1", 40))); !errors.Is(err, git.ErrMissing) {
		t.Errorf("with a missing commit: %v", err)
	}
	for _, id := range []git.ID{"", "main", "--all", tip + "\n", tip[:39], git.ID(strings.Repeat("a", 64))} {
		if _, _, err := s.MergeBase(t.Context(), tip, id); !errors.Is(err, git.ErrBadID) {
			t.Errorf("with %q: %v", id, err)
		}
	}
}

func TestCommits(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "1"})
	var line []git.ID
	at := base
	for i := range 20 { // more than are looked at one by one
		at = r.Commit("line", string(at), gittest.Files{"n": strings.Repeat("x", i)})
		line = append(line, at)
	}
	main := r.Commit("main", "main", gittest.Files{"f": "2"})
	merged := r.Commit("merged", string(line[1]), gittest.Files{"f": "2"}, gittest.Merge(main))
	_, s := open(t, r.Dir)
	for _, tt := range []struct {
		name             string
		exclude, include git.ID
		want             []git.ID
	}{
		{"one", base, line[0], line[:1]},
		{"three", base, line[2], line[:3]},
		{"many", base, line[19], line},
		{"none", line[2], line[2], nil},
		{"behind", line[5], line[2], nil},
		{"a fork", main, line[1], line[:2]},
		{"with a merge of the base", main, merged, []git.ID{line[0], line[1], merged}},
		{"all", "", line[0], []git.ID{base, line[0]}},
	} {
		var got []git.ID
		for _, c := range must(s.Commits(t.Context(), tt.exclude, tt.include))(t) {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCommit(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "1"})
	tree := git.ID(r.Git("rev-parse", "main^{tree}"))
	_, s := open(t, r.Dir)
	date := git.Date{Unix: 1700000000, Zone: "+0200"}
	bot := git.Signature{Name: "dependabot[bot]", Email: "bot@example.com", When: date}
	const line = "dependabot[bot] <bot@example.com> 1700000000 +0200"
	head := "tree " + string(tree) + "\nparent " + string(base) + "\n"
	plain := git.Commit{Tree: tree, Parents: []git.ID{base}, Author: bot, Committer: bot, Message: "x\n"}
	with := func(change func(*git.Commit)) git.Commit { c := plain; change(&c); return c }
	for _, tt := range []struct {
		name, raw string
		want      git.Commit
	}{
		{"plain", head + "author " + line + "\ncommitter " + line + "\n\nx\n", plain},
		{"signed, with a header in the signature", head + "author " + line + "\ncommitter " + line +
			"\ngpgsig -----BEGIN\n parent " + strings.Repeat("1", 40) + "\n author Evil <e> 1 +0000\n \n -----END\n\nx\n", plain},
		{"with a merged tag", head + "author " + line + "\ncommitter " + line + "\nmergetag object x\n tree y\n\nx\n", plain},
		{"header in the message", head + "author " + line + "\ncommitter " + line + "\n\nauthor Evil <e> 1 +0000\n",
			with(func(c *git.Commit) { c.Message = "author Evil <e> 1 +0000\n" })},
		{"encoded", head + "author " + line + "\ncommitter " + line + "\nencoding latin1\n\n\xe9",
			with(func(c *git.Commit) { c.Encoding, c.Message = "latin1", "\xe9" })},
		{"no message", head + "author " + line + "\ncommitter " + line + "\n", with(func(c *git.Commit) { c.Message = "" })},
		{"NUL in the message", head + "author " + line + "\ncommitter " + line + "\n\na\x00b", with(func(c *git.Commit) { c.Message = "a\x00b" })},
		{"author without an address", head + "author Somebody\ncommitter " + line + "\n\nx\n", with(func(c *git.Commit) { c.Author = git.Signature{Name: "Somebody"} })},
		{"author without a date", head + "author A <a@b>\ncommitter " + line + "\n\nx\n", with(func(c *git.Commit) { c.Author = git.Signature{Name: "A", Email: "a@b"} })},
		{"author of brackets", head + "author A <b> <c>> 7 -0130\ncommitter " + line + "\n\nx\n",
			with(func(c *git.Commit) {
				c.Author = git.Signature{Name: "A", Email: "b", When: git.Date{Unix: 7, Zone: "-0130"}}
			})},
		{"author without a name", head + "author <a@b> 7 +0000\ncommitter " + line + "\n\nx\n",
			with(func(c *git.Commit) { c.Author = git.Signature{Email: "a@b", When: git.Date{Unix: 7, Zone: "+0000"}} })},
		{"date beyond counting", head + "author A <a@b> 99999999999999999999 +0000\ncommitter " + line + "\n\nx\n",
			with(func(c *git.Commit) {
				c.Author = git.Signature{Name: "A", Email: "a@b", When: git.Date{Zone: "+0000"}}
			})},
		{"no author", head + "committer " + line + "\n\nx\n", with(func(c *git.Commit) { c.Author = git.Signature{} })},
		{"root", "tree " + string(tree) + "\nauthor " + line + "\ncommitter " + line + "\n\nx\n", with(func(c *git.Commit) { c.Parents = nil })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := r.Object("commit", []byte(tt.raw))
			tt.want.ID = id
			if diff := cmp.Diff(tt.want, must(s.Commit(t.Context(), id))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for name, raw := range map[string]string{
		"empty":       "",
		"no tree":     "author " + line + "\n\nx",
		"tree: words": "tree HEAD\nauthor " + line + "\n\nx",
		"bad parent":  "tree " + string(tree) + "\nparent --all\nauthor " + line + "\n\nx",
	} {
		if _, err := s.Commit(t.Context(), r.Object("commit", []byte(raw))); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Commit(t.Context(), tree); !errors.Is(err, git.ErrNotA) {
		t.Errorf("a tree as a commit: %v", err)
	}
}

func TestDiffAndTree(t *testing.T) {
	r := gittest.New(t)
	a := r.Commit("a", "", gittest.Files{"same": "", "edit": "1", "mode": "x", "gone/x": "1", "link": "target", "sub": gittest.Module(strings.Repeat("1", 40)), "file": "", ".gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\tignore = all\n"})
	b := r.Commit("b", "a", gittest.Files{"edit": "2", "mode": gittest.Exec("x"), "gone/x": nil, "link": gittest.Link("target"), "sub": gittest.Module(strings.Repeat("2", 40)), "file": nil, "file/now a folder": "", "new\n\"": "n"})
	_, s := open(t, r.Dir)
	type row struct {
		Path     string
		Kind     git.Kind
		Old, New git.Mode
	}
	var got []row
	for _, c := range must(s.Diff(t.Context(), a, b))(t) {
		got = append(got, row{c.Path, c.Kind, c.OldMode, c.NewMode})
		if (c.Old == "") != (c.OldMode == git.ModeNone) || (c.New == "") != (c.NewMode == git.ModeNone) {
			t.Errorf("%+v: an ID without a mode, or the other way", c)
		}
	}
	want := []row{
		{"edit", git.Modified, git.ModeFile, git.ModeFile},
		{"file", git.Deleted, git.ModeFile, git.ModeNone},
		{"file/now a folder", git.Added, git.ModeNone, git.ModeFile},
		{"gone/x", git.Deleted, git.ModeFile, git.ModeNone},
		{"link", git.TypeChanged, git.ModeFile, git.ModeLink},
		{"mode", git.Modified, git.ModeFile, git.ModeExec},
		{"new\n\"", git.Added, git.ModeNone, git.ModeFile},
		{"sub", git.Modified, git.ModeModule, git.ModeModule},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	all := must(s.Diff(t.Context(), "", b))(t)
	tree := must(s.Tree(t.Context(), b))(t)
	if len(all) != len(tree) {
		t.Fatalf("%d differences from nothing, %d files", len(all), len(tree))
	}
	for i, e := range tree {
		if c := all[i]; c.Path != e.Path || c.New != e.ID || c.NewMode != e.Mode || c.Kind != git.Added {
			t.Errorf("%+v beside %+v", c, e)
		}
	}
	if same := must(s.Diff(t.Context(), a, a))(t); len(same) != 0 {
		t.Errorf("a commit differs from itself: %v", same)
	}
	empty := r.Commit("", "", gittest.Files{})
	if none := must(s.Tree(t.Context(), empty))(t); len(none) != 0 {
		t.Errorf("an empty tree has %v", none)
	}
}

func TestBlob(t *testing.T) {
	r := gittest.New(t)
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // 1 MiB
	r.Commit("main", "", gittest.Files{"big": big, "empty": "", "binary": "\x00\n\n\xff"})
	c, s := open(t, r.Dir)
	id := func(path string) git.ID { return git.ID(r.Git("rev-parse", "main:"+path)) }
	for path, want := range map[string]string{"big": string(big), "empty": "", "binary": "\x00\n\n\xff"} {
		if got := must(s.Blob(t.Context(), id(path)))(t); string(got) != want {
			t.Errorf("%s: %d bytes", path, len(got))
		}
	}
	if _, err := s.Blob(t.Context(), r.Resolve("main")); !errors.Is(err, git.ErrNotA) {
		t.Errorf("a commit as a blob: %v", err)
	}
	_, err := s.Blob(t.Context(), git.ID(strings.Repeat("1", 40)))
	if !errors.Is(err, git.ErrMissing) || !strings.Contains(err.Error(), "git fsck") {
		t.Errorf("missing: %v", err)
	}
	small := must(c.Scratch(t.Context()))(t)
	defer small.Close()
	small.MaxBlob = int64(len(big)) - 1
	if _, err := small.Blob(t.Context(), id("big")); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	small.MaxBlob++
	must(small.Blob(t.Context(), id("big")))(t)
}

// TestReaderDies: the process that reads objects may die at any time.
func TestReaderDies(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": "text", "rotten": "to be damaged"})
	good, rotten := git.ID(r.Git("rev-parse", "main:f")), git.ID(r.Git("rev-parse", "main:rotten"))
	path := filepath.Join(r.GitDir, "objects", string(rotten[:2]), string(rotten[2:]))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("rubbish"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, s := open(t, r.Dir)
	read := func() {
		t.Helper()
		if got := must(s.Blob(t.Context(), good))(t); string(got) != "text" {
			t.Errorf("got %q", got)
		}
	}
	read()
	first := s.ReaderPID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	read()
	if s.ReaderPID() == first {
		t.Error("the process is the one that was killed")
	}
	if _, err := s.Blob(t.Context(), rotten); !errors.Is(err, git.ErrCorrupt) && !errors.Is(err, git.ErrMissing) {
		t.Errorf("damaged: %v", err)
	}
	read()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Blob(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	read()
}

func TestShallow(t *testing.T) {
	r := gittest.New(t)
	root := r.Commit("main", "", gittest.Files{"f": "0"})
	head := r.Commit("head", string(root), gittest.Files{"g": "1"})
	for _, text := range []string{"1", "2", "3"} {
		r.Commit("main", "main", gittest.Files{"f": text})
	}
	dir := filepath.Join(t.TempDir(), "clone")
	r.Git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+r.Dir, dir)
	c, s := open(t, dir)
	if !c.Shallow() {
		t.Error("not seen as shallow")
	}
	_, _, err := s.MergeBase(t.Context(), r.Resolve("main"), head)
	if !errors.Is(err, git.ErrShallow) || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got %v", err)
	}
	if got := must(s.Commits(t.Context(), "", head))(t); len(got) != 1 {
		t.Errorf("%d commits in sight, want the one", len(got))
	}
	// What the message says helps.
	gittest.At(t, dir, filepath.Join(dir, ".git")).Git("fetch", "-q", "--unshallow")
	_, s = open(t, dir)
	if fork, ok, err := s.MergeBase(t.Context(), r.Resolve("main"), head); err != nil || !ok || fork != root {
		t.Errorf("after unshallow: %v %v %v", fork, ok, err)
	}
}

func TestPartialClone(t *testing.T) {
	for _, filter := range []string{"blob:none", "tree:0"} {
		t.Run(filter, func(t *testing.T) {
			r := gittest.Bait(t)
			r.Git("config", "uploadpack.allowFilter", "true")
			dir := filepath.Join(t.TempDir(), "clone")
			r.Git("clone", "-q", "--no-checkout", "--filter="+filter, "file://"+r.Dir, dir)
			main, bump := r.Resolve("main"), r.Resolve("bump")
			blob := git.ID(r.Git("rev-parse", "bump:f"))
			c, s := open(t, dir)
			if !c.Partial() {
				t.Error("not seen as partial")
			}
			missing := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, git.ErrMissing) || !strings.Contains(err.Error(), "git fetch --refetch --no-filter") {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := s.Blob(t.Context(), blob)
			missing("Blob", err)
			_, err = s.Diff(t.Context(), main, bump)
			if filter == "tree:0" {
				missing("Diff", err)
				_, err = s.Tree(t.Context(), bump)
				missing("Tree", err)
			} else if err != nil {
				t.Errorf("Diff needs no contents: %v", err)
			}
			_, _, err = s.MergeTree(t.Context(), main, bump)
			missing("MergeTree", err)

			gittest.At(t, dir, filepath.Join(dir, ".git")).Git("fetch", "-q", "--no-auto-maintenance", "--refetch", "--no-filter") // else it tidies up in the background
			if got := must(s.Blob(t.Context(), blob))(t); string(got) != "1\nbump\n3\n" {
				t.Errorf("after the fetch: %q", got)
			}
		})
	}
}

func TestMergeFile(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": ""})
	_, s := open(t, r.Dir)
	for _, tt := range []struct {
		name, ours, base, theirs, want string
		conflicts                      int
	}{
		{"both sides", "a1\nb\nc\n", "a\nb\nc\n", "a\nb\nc1\n", "a1\nb\nc1\n", 0},
		{"equal sides", "x\n", "a\n", "x\n", "x\n", 0},
		{"only ours", "x\n", "a\n", "a\n", "x\n", 0},
		{"only theirs", "a\n", "a\n", "x\n", "x\n", 0},
		{"only theirs, binary", "a", "a", "\x00", "\x00", 0},
		{"conflict", "x\n", "a\n", "y\n", "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n", 1},
		{"binary", "a\x00x", "a\x00", "a\x00y", "", 1},
		{"NUL far inside", strings.Repeat("a\n", 9000) + "\x00", "", "b", "", 1},
		{"no final newline", "a1\nb\nc", "a\nb\nc", "a\nb\nc\nd", "a1\nb\nc\nd", 0},
		{"CRLF", "a1\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n", "a\r\nb\r\nc1\r\n", "a1\r\nb\r\nc1\r\n", 0},
		{"two empty ones of three", "x\n", "", "y\n", "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n", 1},
		{"like options", "--help\nb\n-c\n", "-a\nb\n-c\n", "-a\nb\n--version\n", "--help\nb\n--version\n", 0},
	} {
		got, conflicts, err := s.MergeFile(t.Context(), []byte(tt.ours), []byte(tt.base), []byte(tt.theirs))
		if err != nil || string(got) != tt.want || conflicts != tt.conflicts {
			t.Errorf("%s: %q, %d, %v", tt.name, got, conflicts, err)
		}
	}
	// More conflicts than an exit code counts.
	side := func(s string) []byte {
		var b bytes.Buffer
		for range 300 {
			b.WriteString(s + "\nsame\nsame\nsame\nsame\n")
		}
		return b.Bytes()
	}
	if _, n, err := s.MergeFile(t.Context(), side("x"), side("a"), side("y")); err != nil || n == 0 || n > 127 {
		t.Errorf("many conflicts: %d, %v", n, err)
	}
}

// TestMergeTree: it answers as plain git does where nothing is configured, and
// leaves nothing to be installed.
func TestMergeTree(t *testing.T) {
	r := gittest.New(t)
	root := r.Commit("main", "", gittest.Files{"f": "1\n2\n3\n", "old/name": "a\nb\nc\nd\n"})
	main := r.Commit("main", "main", gittest.Files{"f": "1\n2\n3\nmain\n", "old/name": nil, "new/name": "a\nb\nc\nd\n"})
	head := r.Commit("head", string(root), gittest.Files{"f": "head\n1\n2\n3\n", "old/name": "a\nb\nc\nd\ne\n"})
	clash := r.Commit("clash", string(root), gittest.Files{"f": "1\n2\n3\nclash\n"})
	other := r.Commit("other", "", gittest.Files{"f": "x"})
	c, s := open(t, r.Dir)
	tree, clean, err := s.MergeTree(t.Context(), main, head)
	if want := r.Git("merge-tree", "--write-tree", "main", "head"); err != nil || !clean || string(tree) != want {
		t.Errorf("got %s, %v, %v, want %s", tree, clean, err, want)
	}
	if _, clean, err := s.MergeTree(t.Context(), main, clash); err != nil || clean {
		t.Errorf("a conflict: %v, %v", clean, err)
	}
	if _, _, err := s.MergeTree(t.Context(), main, other); !errors.Is(err, git.ErrUnrelated) {
		t.Errorf("unrelated: %v", err)
	}
	fresh := scratch(t, c)
	if _, err := s.Tree(t.Context(), tree); err == nil {
		// It is in the clone, but only because plain git put it there above.
		if _, err := fresh.Tree(t.Context(), tree); err != nil {
			t.Error("the merged tree stayed in the scratch")
		}
	}
}
