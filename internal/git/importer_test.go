package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// importOne imports a single commit.
func importOne(t *testing.T, s *git.Scratch, spec git.CommitSpec) git.ID {
	t.Helper()
	im := must(s.Import(t.Context()))(t)
	mark := must(im.Commit(spec))(t)
	return must(im.Close())(t)[mark]
}

// hostile are paths that have confused one program or another.
var hostile = []string{
	"a b", " a", "a ", `"a"`, `a"b`, `a\b`, `\`, "a\nb", "a\n", "\na", "a\tb", "a\rb", "\x01\x1f\x7f", "ü", "\xff\xfe", "-x", "--option", "#a", ":1", "inline",
	"D x", "M 100644 inline x", "commit refs/heads/main", "done", "'", "`touch x`", "$(touch x)", "*", "a/b c/d", ".gitattributes", ".gitmodules", "git", ".gitx", "a/.git-x", "...", "a/...",
	strings.Repeat("x", 4000), strings.Repeat("d/", 500) + "x",
}

func TestImportHostilePaths(t *testing.T) {
	r := gittest.New(t)
	files := gittest.Files{}
	for i, path := range hostile {
		files[path] = fmt.Sprint(i)
	}
	all := r.Commit("main", "", files)
	none := r.Commit("none", "", gittest.Files{"keep": ""})
	_, s := open(t, r.Dir)

	spec := git.CommitSpec{Author: gittest.Person, Committer: gittest.Person}
	for _, e := range must(s.Tree(t.Context(), all))(t) {
		spec.Changes = append(spec.Changes, git.FileChange{Path: e.Path, Mode: e.Mode, ID: e.ID})
	}
	id := importOne(t, s, spec)
	if diff := cmp.Diff(must(s.Tree(t.Context(), all))(t), must(s.Tree(t.Context(), id))(t)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	// Away with them again: the changes come from Diff this time.
	back := git.CommitSpec{Parent: id, Author: gittest.Person, Committer: gittest.Person}
	for _, c := range must(s.Diff(t.Context(), id, none))(t) {
		back.Changes = append(back.Changes, git.FileChange{Path: c.Path, Delete: c.Kind == git.Deleted, Mode: c.NewMode, ID: c.New})
	}
	id = importOne(t, s, back)
	if diff := cmp.Diff(must(s.Tree(t.Context(), none))(t), must(s.Tree(t.Context(), id))(t)); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestImportTurnsOneTreeIntoAnother: whatever two trees hold, folders where the
// other has files included, the differences that Diff finds turn one into the
// other when imported in any order.
func TestImportTurnsOneTreeIntoAnother(t *testing.T) {
	r := gittest.New(t)
	root := r.Commit("main", "", gittest.Files{"f": ""})
	_, s := open(t, r.Dir)
	names := rapid.SampledFrom([]string{"a", "b", "a.b", "a b", "a\"", "ä\n", "\xff"})
	tree := rapid.Custom(func(rt *rapid.T) gittest.Files {
		files := gittest.Files{}
		for range rapid.IntRange(0, 8).Draw(rt, "files") {
			path := strings.Join(rapid.SliceOfN(names, 1, 3).Draw(rt, "path"), "/")
			clash := slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(p string) bool {
				return strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/")
			})
			if clash {
				continue
			}
			files[path] = rapid.SampledFrom([]any{"1", "2", gittest.Exec("1"), gittest.Link("1"), gittest.Module(root)}).Draw(rt, "what")
		}
		return files
	})
	rapid.Check(t, func(rt *rapid.T) {
		from := r.Commit("", "", tree.Draw(rt, "from"))
		to := r.Commit("", "", tree.Draw(rt, "to"))
		changes := must(s.Diff(t.Context(), from, to))(t)
		spec := git.CommitSpec{Parent: from, Author: gittest.Person, Committer: gittest.Person}
		for _, c := range rapid.Permutation(changes).Draw(rt, "order") {
			fc := git.FileChange{Path: c.Path, Delete: true}
			if c.Kind != git.Deleted {
				fc = git.FileChange{Path: c.Path, Mode: c.NewMode, ID: c.New}
			}
			spec.Changes = append(spec.Changes, fc)
		}
		got := must(s.Commit(t.Context(), importOne(t, s, spec)))(t)
		if want := must(s.Commit(t.Context(), to))(t); got.Tree != want.Tree {
			rt.Fatalf("tree %s, want %s, by %+v", got.Tree, want.Tree, changes)
		}
	})
}

func TestImportHostilePersons(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": ""})
	_, s := open(t, r.Dir)
	at := func(unix int64, zone string) git.Date { return git.Date{Unix: unix, Zone: zone} }
	for _, tt := range []struct {
		name      string
		give      git.Signature
		want      git.Signature
		untouched bool
	}{
		{name: "a bot", give: git.Signature{Name: "dependabot[bot]", Email: "49699333+dependabot[bot]@users.noreply.github.com", When: at(1700000000, "+0000")}, untouched: true},
		{name: "not UTF-8", give: git.Signature{Name: "J\xf6rg", Email: "j\xf6rg@example.com", When: at(1, "+0545")}, untouched: true},
		{name: "before UTC", give: git.Signature{Name: "x", Email: "x@example.com", When: at(1, "-1130")}, untouched: true},
		{name: "after 2038", give: git.Signature{Name: "x", Email: "x@example.com", When: at(1<<33, "+0000")}, untouched: true},
		{name: "minus nought", give: git.Signature{Name: "x", Email: "x@example.com", When: at(1, "-0000")}, untouched: true},
		{name: "nobody", give: git.Signature{When: at(1, "+0000")}, untouched: true},
		{name: "delimiters", give: git.Signature{Name: "a<b>c", Email: "<d@e>", When: at(1, "+0000")}, want: git.Signature{Name: "abc", Email: "d@e", When: at(1, "+0000")}},
		{name: "a second header", give: git.Signature{Name: "x <x@y> 1 +0000\ncommitter Evil", Email: "a\nb", When: at(1, "+0000")}, want: git.Signature{Name: "x x@y 1 +0000committer Evil", Email: "ab", When: at(1, "+0000")}},
		{name: "NUL", give: git.Signature{Name: "a\x00b", Email: "\x00", When: at(1, "+0000")}, want: git.Signature{Name: "ab", When: at(1, "+0000")}},
		{name: "before 1970", give: git.Signature{Name: "x", When: at(-5, "+0000")}, want: git.Signature{Name: "x", When: at(0, "+0000")}},
		{name: "no zone", give: git.Signature{Name: "x", When: at(1, "")}, want: git.Signature{Name: "x", When: at(1, "+0000")}},
		{name: "a zone off the earth", give: git.Signature{Name: "x", When: at(1, "+9999")}, want: git.Signature{Name: "x", When: at(1, "+0000")}},
		{name: "a zone of words", give: git.Signature{Name: "x", When: at(1, "+0\n00")}, want: git.Signature{Name: "x", When: at(1, "+0000")}},
		{name: "a zone of two signs", give: git.Signature{Name: "x", When: at(1, "+-100")}, want: git.Signature{Name: "x", When: at(1, "+0000")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.untouched {
				tt.want = tt.give
			}
			id := importOne(t, s, git.CommitSpec{Author: tt.give, Committer: tt.give, Message: "x\n"})
			c := must(s.Commit(t.Context(), id))(t)
			if c.Author != tt.want || c.Committer != tt.want || c.Message != "x\n" {
				t.Errorf("got %+v, want %+v", c, tt.want)
			}
		})
	}
}

func TestImportMessages(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": ""})
	c, s := open(t, r.Dir)
	var last git.ID
	for _, tt := range []struct{ give, want, encoding, wantEncoding string }{
		{give: "bump x\n\nbody\n"},
		{give: ""},
		{give: "no final newline"},
		{give: "\n\nblank lines first\n\n\n"},
		{give: "CRLF\r\n\r\nbody\r\n"},
		{give: "data 5\ndone\ncommit refs/heads/main\n"},
		{give: "tree x\nparent y\n\nlike a header"},
		{give: "\xff\xfe", encoding: "ISO-8859-1", wantEncoding: "ISO-8859-1"},
		{give: "x", encoding: "x\nfrom refs/heads/main", wantEncoding: ""},
		{give: "a\x00b", want: "a\uFFFDb"},
		{give: strings.Repeat("long\n", 100_000)},
	} {
		id := importOne(t, s, git.CommitSpec{Author: gittest.Person, Committer: gittest.Person, Message: tt.give, Encoding: tt.encoding})
		got := must(s.Commit(t.Context(), id))(t)
		want := tt.want
		if want == "" {
			want = tt.give
		}
		if got.Message != want || got.Encoding != tt.wantEncoding || len(got.Parents) != 0 {
			t.Errorf("%.40q: got %.40q in %q", tt.give, got.Message, got.Encoding)
		}
		last = id
	}
	if err := s.Install(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateRef(t.Context(), result, last, ""); err != nil {
		t.Fatal(err)
	}
	r.Git("fsck", "--strict")
}

// TestImportChains: a fork of two lines and a root in one import, by marks and by
// IDs, twice with the same names.
func TestImportChains(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "0", "d/x": "x", "d/y": "y"})
	d := git.ID(r.Git("rev-parse", "main:d"))
	_, s := open(t, r.Dir)
	run := func() []git.ID {
		im := must(s.Import(t.Context()))(t)
		var marks []git.Mark
		add := func(spec git.CommitSpec) {
			spec.Author, spec.Committer = gittest.Dependabot, gittest.Person
			spec.Message = fmt.Sprint(len(marks))
			marks = append(marks, must(im.Commit(spec))(t))
		}
		big := must(im.Blob(bytes.Repeat([]byte("0123456789abcdef\n"), 1<<16)))(t)
		empty := must(im.Blob(nil))(t)
		add(git.CommitSpec{Parent: base, Changes: []git.FileChange{{Path: "big", Mode: git.ModeExec, Blob: big}}})
		add(git.CommitSpec{ParentMark: marks[0], Changes: []git.FileChange{{Path: "f", Mode: git.ModeLink, Blob: empty}}})
		add(git.CommitSpec{ParentMark: marks[0], Changes: []git.FileChange{{Path: "d", Delete: true}, {Path: "e", Mode: git.ModeTree, ID: d}}})
		add(git.CommitSpec{Parent: base, Changes: []git.FileChange{{Path: "m", Mode: git.ModeModule, ID: base}}})
		add(git.CommitSpec{Changes: []git.FileChange{{Path: "root", Mode: git.ModeFile, Blob: empty}}})
		add(git.CommitSpec{ParentMark: marks[2]}) // nothing changed
		ids := must(im.Close())(t)
		if again := must(im.Close())(t); len(again) != len(ids) {
			t.Errorf("a second Close answers %v", again)
		}
		var out []git.ID
		for _, m := range marks {
			out = append(out, ids[m])
		}
		return out
	}
	ids := run()
	if diff := cmp.Diff(ids, run()); diff != "" {
		t.Errorf("the same input gave other names:\n%s", diff)
	}
	paths := func(id git.ID) (list []string) {
		for _, e := range must(s.Tree(t.Context(), id))(t) {
			list = append(list, e.Mode.String()+" "+e.Path)
		}
		return list
	}
	for i, want := range []struct {
		parents []git.ID
		paths   []string
	}{
		{[]git.ID{base}, []string{"100755 big", "100644 d/x", "100644 d/y", "100644 f"}},
		{[]git.ID{ids[0]}, []string{"100755 big", "100644 d/x", "100644 d/y", "120000 f"}},
		{[]git.ID{ids[0]}, []string{"100755 big", "100644 e/x", "100644 e/y", "100644 f"}},
		{[]git.ID{base}, []string{"100644 d/x", "100644 d/y", "100644 f", "160000 m"}},
		{nil, []string{"100644 root"}},
		{[]git.ID{ids[2]}, []string{"100755 big", "100644 e/x", "100644 e/y", "100644 f"}},
	} {
		c := must(s.Commit(t.Context(), ids[i]))(t)
		if diff := cmp.Diff(want.parents, c.Parents); diff != "" {
			t.Errorf("parents of %d:\n%s", i, diff)
		}
		if diff := cmp.Diff(want.paths, paths(ids[i])); diff != "" {
			t.Errorf("tree of %d:\n%s", i, diff)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "0"})
	blob := git.ID(r.Git("rev-parse", "main:f"))
	_, s := open(t, r.Dir)
	file := func(path string) git.FileChange { return git.FileChange{Path: path, Mode: git.ModeFile, ID: blob} }
	one := func(c git.FileChange) git.CommitSpec {
		return git.CommitSpec{Parent: base, Changes: []git.FileChange{c}}
	}
	specs := map[string]git.CommitSpec{
		"two parents":         {Parent: base, ParentMark: 1},
		"a parent of words":   {Parent: "refs/heads/main"},
		"a parent not given":  {ParentMark: 7},
		"negative mark":       {ParentMark: -1},
		"parent of two lines": {Parent: base[:39] + "\n"},
		"no contents":         one(git.FileChange{Path: "x", Mode: git.ModeFile}),
		"contents twice":      one(git.FileChange{Path: "x", Mode: git.ModeFile, ID: blob, Blob: 1}),
		"no mode":             one(git.FileChange{Path: "x", ID: blob}),
		"odd mode":            one(git.FileChange{Path: "x", Mode: 0o100664, ID: blob}),
		"module by mark":      one(git.FileChange{Path: "x", Mode: git.ModeModule, Blob: 1}),
		"mark not given":      one(git.FileChange{Path: "x", Mode: git.ModeFile, Blob: 7}),
		"contents by words":   one(git.FileChange{Path: "x", Mode: git.ModeFile, ID: "inline"}),
		"a path twice":        {Parent: base, Changes: []git.FileChange{file("x"), file("x")}},
		"file and folder":     {Parent: base, Changes: []git.FileChange{file("x/y/z"), file("x")}},
	}
	for _, path := range []string{"", "/", "/x", "x/", "x//y", ".", "..", "../x", "x/../y", "x/.", ".git", ".git/config", "x/.GIT/hooks/y", "git~1", "x\x00y"} {
		specs[fmt.Sprintf("path %q", path)] = one(file(path))
		specs[fmt.Sprintf("deletion of %q", path)] = one(git.FileChange{Path: path, Delete: true})
	}
	im := must(s.Import(t.Context()))(t)
	must(im.Blob([]byte("mark 1")))(t)
	for name, spec := range specs {
		if _, err := im.Commit(spec); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	// None of them reached git: the import goes on.
	mark := must(im.Commit(one(file("good"))))(t)
	if ids := must(im.Close())(t); ids[mark] == "" {
		t.Error("no commit after the refusals")
	}
}

// TestImportFails: what only git can see is wrong ends the import with its words.
func TestImportFails(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "0"})
	_, s := open(t, r.Dir)
	absent := git.ID(strings.Repeat("1", 40))
	for name, spec := range map[string]git.CommitSpec{
		"parent is missing":    {Parent: absent},
		"parent is a blob":     {Parent: git.ID(r.Git("rev-parse", "main:f"))},
		"contents are missing": {Parent: base, Changes: []git.FileChange{{Path: "x", Mode: git.ModeFile, ID: absent}}},
		"contents are a tree":  {Parent: base, Changes: []git.FileChange{{Path: "x", Mode: git.ModeFile, ID: git.ID(r.Git("rev-parse", "main^{tree}"))}}},
	} {
		t.Run(name, func(t *testing.T) {
			im := must(s.Import(t.Context()))(t)
			_, _ = im.Commit(spec)
			ids, err := im.Close()
			if err == nil || len(ids) != 0 || !strings.Contains(err.Error(), "fatal: ") {
				t.Errorf("got %v, %v", ids, err)
			}
			if _, err := im.Blob(nil); err == nil {
				t.Error("goes on after that")
			}
		})
	}
}

func TestImportStopped(t *testing.T) {
	r := gittest.New(t)
	r.Commit("main", "", gittest.Files{"f": "0"})
	_, s := open(t, r.Dir)
	t.Run("by its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		im := must(s.Import(ctx))(t)
		cancel()
		if _, err := im.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("by a kill", func(t *testing.T) {
		im := must(s.Import(t.Context()))(t)
		if err := syscall.Kill(im.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := im.Close(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("unfinished", func(t *testing.T) {
		// Without the "done" at the end git takes a stream for cut off.
		im := must(s.Import(t.Context()))(t)
		must(im.Blob([]byte("x")))(t)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := im.Close(); !errors.Is(err, git.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
