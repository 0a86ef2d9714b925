package consolidate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// one is the smallest project: a at one version.
func one(version string) gittest.Files {
	return npmFiles(map[string]string{"a": "^" + version}, map[string]pkg{"a": {version: version}})
}

func oneBump(t *testing.T) *story {
	t.Helper()
	s := newStory(t, one("1.0.0"))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", one("1.1.0"))
	return s
}

// Refused: nothing changes, and the words say what to do.

func TestRefusedNotARepository(t *testing.T) {
	_, err := consolidate.Run(t.Context(), t.TempDir(), consolidate.Options{})
	if !errors.Is(err, git.ErrNotRepository) {
		t.Fatal(err)
	}
}

func TestRefusedNoSuchBase(t *testing.T) {
	if got := oneBump(t).refused(consolidate.Options{Base: "trunk"}); !strings.Contains(got, "no branch trunk") || !strings.Contains(got, "--base") {
		t.Error(got)
	}
}

func TestRefusedUnrelatedHistories(t *testing.T) {
	s := oneBump(t)
	s.botOn("", "npm_and_yarn/b-1.0.0", "Bump b", one("9.0.0"))
	if got := s.refused(consolidate.Options{}); !strings.Contains(got, "shares no history") || !strings.Contains(got, "npm_and_yarn/b-1.0.0") {
		t.Error(got)
	}
	if r := s.run(consolidate.Options{Branches: []string{"dependabot/npm_and_yarn/a-*"}}); r.Count(consolidate.Merged) != 1 {
		t.Error("what the words advise does not help")
	}
}

func TestRefusedShallowWithoutTheForkPoint(t *testing.T) {
	s := oneBump(t)
	for range 3 {
		s.Commit("main", "main", gittest.Files{"README": strings.Repeat("x", 1+len(s.Read("main", "package.json")))})
	}
	s.Commit("main", "main", gittest.Files{"README": "y"})
	clone := filepath.Join(t.TempDir(), "clone")
	s.Git("clone", "-q", "--no-single-branch", "--depth=1", "file://"+s.Dir, clone)
	_, err := consolidate.Run(t.Context(), clone, consolidate.Options{})
	if !errors.Is(err, git.ErrShallow) || !strings.Contains(err.Error(), "--unshallow") {
		t.Fatal(err)
	}
}

func TestRefusedIntoWithAPersonsCommit(t *testing.T) {
	s := oneBump(t)
	s.run(consolidate.Options{})
	s.Commit(consolidate.DefaultInto, consolidate.DefaultInto, gittest.Files{"fix.txt": "by hand"})
	if got := s.refused(consolidate.Options{}); !strings.Contains(got, "Pat Person") || !strings.Contains(got, "--into") {
		t.Error(got)
	}
}

func TestRefusedIntoCheckedOut(t *testing.T) {
	s := oneBump(t)
	s.run(consolidate.Options{})
	s.Git("checkout", "-q", consolidate.DefaultInto)
	if got := s.refused(consolidate.Options{Base: "main"}); !strings.Contains(got, "checked out") {
		t.Error(got)
	}
}

func TestRefusedIntoItsOwnBase(t *testing.T) {
	s := &story{gittest.New(t, "--bare"), t}
	s.Commit("main", "", one("1.0.0"))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", one("1.1.0"))
	if got := s.refused(consolidate.Options{Into: "main"}); !strings.Contains(got, "its own base") {
		t.Error(got)
	}
}

func TestRefusedIntoItsOwnBaseOfARemote(t *testing.T) {
	s := oneBump(t)
	clone := filepath.Join(t.TempDir(), "clone")
	s.Git("clone", "-q", "--no-local", s.Dir, clone)
	s.Git("-C", clone, "checkout", "-q", "--detach")
	_, err := consolidate.Run(t.Context(), clone, consolidate.Options{Base: "origin/main", Into: "main"})
	if !errors.Is(err, consolidate.ErrRefused) || !strings.Contains(err.Error(), "its own base") {
		t.Error(err)
	}
}

// A file that cannot be read at all ends the run: nobody is left out for it.
func TestRefusedWithoutABlob(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", gittest.Files{"package.json": one("1.1.0")["package.json"]})
	id := s.Git("rev-parse", "main:package-lock.json")
	if err := os.Remove(filepath.Join(s.GitDir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	_, err := consolidate.Run(t.Context(), s.Dir, consolidate.Options{})
	if !errors.Is(err, git.ErrMissing) || !strings.Contains(err.Error(), "git fsck") {
		t.Error(err)
	}
}

// renovate#5391: a branch `bailiff` blocks `bailiff/dependencies`.
func TestRenovate5391IntoBlocked(t *testing.T) {
	s := oneBump(t)
	s.Git("branch", "bailiff", "main")
	if got := s.refused(consolidate.Options{}); !strings.Contains(got, "bailiff") || !strings.Contains(got, "--into") {
		t.Error(got)
	}
}

func TestRefusedBadNames(t *testing.T) {
	s := oneBump(t)
	for name, o := range map[string]consolidate.Options{
		"into":      {Into: "a..b"},
		"into dash": {Into: "-x"},
		"pattern":   {Branches: []string{"["}},
		"ecosystem": {Ecosystems: []string{"cobol"}},
	} {
		if got := s.refused(o); got == "" {
			t.Error(name)
		}
	}
}

// Left out, each with its code; the good one beside it is merged.

func TestLeftOut(t *testing.T) {
	person := gittest.Author(gittest.Person)
	for name, c := range map[string]struct {
		want string
		make func(s *story)
	}{
		"a person's commit on top": {"left_out person_commit", func(s *story) {
			id := s.bot("x", "Bump b", gittest.Files{"b.txt": "1"})
			s.botOn(string(id), "x", "my fix", gittest.Files{"b.txt": "2"}, person)
		}},
		"only a person's commits": {"left_out person_commit", func(s *story) {
			s.bot("x", "Bump b", gittest.Files{"b.txt": "1"}, person)
		}},
		"a merge of the base with changes of its own": {"left_out person_commit", func(s *story) {
			id := s.bot("x", "Bump b", gittest.Files{"b.txt": "1"})
			main := s.Commit("main", "main", gittest.Files{"m.txt": "1"})
			s.botOn(string(id), "x", "Merge", gittest.Files{"m.txt": "evil"}, gittest.Merge(main))
		}},
		"an empty commit": {"left_out empty", func(s *story) { s.bot("x", "Bump b", gittest.Files{}) }},
		"already merged": {"left_out already_merged", func(s *story) {
			s.Branch("dependabot/x", s.Resolve("main"))
		}},
		"conflict markers in a lockfile": {"left_out conflict_markers", func(s *story) {
			s.bot("x", "Bump a", gittest.Files{"package-lock.json": "{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> x\n}\n"})
		}},
		"conflict markers in a file of no known format": {"left_out conflict_markers", func(s *story) {
			s.bot("x", "Bump a", gittest.Files{"deps.ini": "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> x\n"})
		}},
		"a lockfile that is none": {"left_out unreadable", func(s *story) {
			s.bot("x", "Bump a", gittest.Files{"package-lock.json": `{"lockfileVersion": 3, "packages": {`})
		}},
		"a lockfile that only this head breaks": {"left_out unsound", func(s *story) {
			s.bot("x", "Bump a", npmFiles(map[string]string{"a": "^1.0.0", "gone": "^1.0.0"}, map[string]pkg{"a": {version: "1.0.0"}}))
		}},
		"a symlink where the manifest should be": {"left_out not_a_file", func(s *story) {
			s.bot("x", "Bump a", gittest.Files{"package.json": gittest.Link("/etc/passwd")})
		}},
		"a submodule where the manifest should be": {"left_out not_a_file", func(s *story) {
			s.bot("x", "Bump a", gittest.Files{"package.json": gittest.Module(s.Resolve("main"))})
		}},
		"a file that the base has deleted": {"left_out gone", func(s *story) {
			s.Commit("main", "main", gittest.Files{"deps.ini": "a = 1\n"})
			s.bot("x", "Bump a", gittest.Files{"deps.ini": "a = 2\n"})
			s.Commit("main", "main", gittest.Files{"deps.ini": nil})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneBump(t)
			c.make(s)
			r := s.run(consolidate.Options{})
			wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-1.1.0": "merged", "x": c.want})
			if pr := reasonOf(t, r, "x"); pr.Reason == "" {
				t.Error("no reason")
			}
			if got := s.result("package.json"); got != one("1.1.0")["package.json"] {
				t.Errorf("package.json: %s", got)
			}
		})
	}
}

// Two heads that no tree holds together, or of which one deletes what the other
// changes: the later one is left out, and the earlier one is there whole.
func TestLaterHeadIsLeftOutForAPath(t *testing.T) {
	for name, c := range map[string]struct{ base, first, second gittest.Files }{
		"a folder where a file came": {
			gittest.Files{"x": "1"}, gittest.Files{"tools": "1"}, gittest.Files{"tools/a/b.ini": "1"},
		},
		"a file where a folder came": {
			gittest.Files{"x": "1"}, gittest.Files{"tools/a/b.ini": "1"}, gittest.Files{"tools": "1"},
		},
		"a file where a folder was, and a new file in it": {
			gittest.Files{"d/f": "1"}, gittest.Files{"d/f": nil, "d": "1"}, gittest.Files{"d/g": "1"},
		},
		"a file that another one deletes": {
			gittest.Files{"x": "1", "f": "1"}, gittest.Files{"f": nil}, gittest.Files{"f": "2"},
		},
		"a file where a folder keeps one more": {
			gittest.Files{"d/f": "1"}, gittest.Files{"d/g": "1"}, gittest.Files{"d/f": nil, "d": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, c.base)
			first := s.bot("x/1", "First", c.first)
			s.bot("x/2", "Second", c.second)
			wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"x/1": "merged", "x/2": "left_out text_conflict"})
			if got, want := s.Git("ls-tree", "-r", consolidate.DefaultInto), s.Git("ls-tree", "-r", string(first)); got != want {
				t.Errorf("the result holds\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Two commits of one submodule: neither is the higher.
func TestSubmoduleMovedTwice(t *testing.T) {
	at := func(c string) gittest.Files { return gittest.Files{"lib": gittest.Module(strings.Repeat(c, 40))} }
	s := newStory(t, at("1"))
	s.bot("submodules/lib-2", "Bump lib", at("2"))
	s.bot("submodules/lib-3", "Bump lib", at("3"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"submodules/lib-2": "merged", "submodules/lib-3": "left_out value_conflict"})
}

// Must just work.

func TestMergeOfTheBaseIsNoPersonsCommit(t *testing.T) {
	s := oneBump(t)
	id := s.bot("x", "Bump b", gittest.Files{"b.txt": "1"})
	main := s.Commit("main", "main", gittest.Files{"m.txt": "1"})
	s.botOn(string(id), "x", "Merge branch 'main'", gittest.Files{"m.txt": "1"}, gittest.Merge(main), gittest.Author(gittest.Person))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"npm_and_yarn/a-1.1.0": "merged", "x": "merged"})
}

// A file's own way of writing stays: CRLF, a byte order mark, tabs, no final
// newline, though the bots' branches differ in it.
func TestBytesOfTheFileStay(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	for name, write := range map[string]func(string) string{
		"CRLF":             func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":              func(s string) string { return "\ufeff" + s },
		"BOM and CRLF":     func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") },
		"tabs":             func(s string) string { return strings.ReplaceAll(s, "  ", "\t") },
		"no final newline": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"a stray CR":       func(s string) string { return strings.Replace(s, ",\n", ",\r\n", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			files := func(a, b string) gittest.Files {
				f := npmFiles(direct(a, b), lock(a, b))
				for p, text := range f {
					f[p] = write(text.(string))
				}
				return f
			}
			s := newStory(t, files("1.0.0", "1.0.0"))
			s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0", "1.0.0"))
			s.bot("npm_and_yarn/b-1.1.0", "Bump b from 1.0.0 to 1.1.0", files("1.0.0", "1.1.0"))
			wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"npm_and_yarn/a-1.1.0": "merged", "npm_and_yarn/b-1.1.0": "merged"})
			for p, want := range files("1.1.0", "1.1.0") {
				if got := s.result(p); got != want {
					t.Errorf("%s: %q, want %q", p, got, want)
				}
			}
		})
	}
}

// A side may write its file in another way than the base; the base's way counts.
func TestCRLFOnlyInOneHead(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	s := newStory(t, npmFiles(direct("1.0.0", "1.0.0"), lock("1.0.0", "1.0.0")))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0", "1.0.0"), lock("1.1.0", "1.0.0")))
	crlf := npmFiles(direct("1.0.0", "1.1.0"), lock("1.0.0", "1.1.0"))
	for p, text := range crlf {
		crlf[p] = strings.ReplaceAll(text.(string), "\n", "\r\n")
	}
	s.bot("npm_and_yarn/b-1.1.0", "Bump b from 1.0.0 to 1.1.0", crlf)
	s.run(consolidate.Options{})
	for p, want := range npmFiles(direct("1.1.0", "1.1.0"), lock("1.1.0", "1.1.0")) {
		if got := s.result(p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

// rnorth#17, CVE-2026-110859: names that look like options, or hold a stray CR.
func TestHostileBranchNames(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	names := []string{"-x", "--upload-pack=y", "a\r", "$(touch-pwned)", "a'b", "ü"}
	for i, n := range names {
		s.Commit("dependabot/"+n, "main", gittest.Files{string(rune('a'+i)) + ".txt": "1"}, gittest.Author(gittest.Dependabot), gittest.Message("Bump\n"))
	}
	s.Commit("-x", "main", gittest.Files{"z.txt": "1"}, gittest.Author(gittest.Dependabot), gittest.Message("Bump\n"))
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != len(names)+1 {
		wantOutcomes(t, r, nil)
	}
}

// A base whose own lockfile is broken: a warning with its line, held against nobody.
func TestBrokenBaseIsAWarning(t *testing.T) {
	direct := func(a string) map[string]string { return map[string]string{"a": "^" + a, "gone": "^1.0.0"} }
	files := func(a string) gittest.Files { return npmFiles(direct(a), map[string]pkg{"a": {version: a}}) }
	s := newStory(t, files("1.0.0"))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-1.1.0": "merged"})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "package-lock.json:") || !strings.Contains(r.Warnings[0], "gone@^1.0.0") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// A need that the base does not meet, either: bumping one end of it makes it no
// worse, and a file with many of them is not told line by line.
func TestBrokenBaseIsHeldAgainstNobody(t *testing.T) {
	needs := map[string]string{"x": "^2.0.0"}
	for i := range 50 {
		needs[fmt.Sprintf("gone-%02d", i)] = "^1.0.0"
	}
	files := func(a, x string) gittest.Files {
		return npmFiles(map[string]string{"a": "^" + a, "x": "^" + x}, map[string]pkg{"a": {version: a, needs: needs}, "x": {version: x}})
	}
	s := newStory(t, files("1.0.0", "1.0.0"))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0", "1.0.0"))
	s.bot("npm_and_yarn/x-1.1.0", "Bump x from 1.0.0 to 1.1.0", files("1.0.0", "1.1.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-1.1.0": "merged", "npm_and_yarn/x-1.1.0": "merged"})
	if n := len(r.Warnings); n != 11 || !strings.Contains(r.Warnings[10], "41 more") {
		t.Errorf("%d warnings: %q", n, r.Warnings)
	}
}

// A base whose lockfile cannot even be read: its other files are consolidated,
// and whoever does not touch that file suffers nothing.
func TestUnreadableBaseIsAWarning(t *testing.T) {
	s := newStory(t, gittest.Files{"package.json": npmManifest(map[string]string{"a": "^1.0.0"}), "package-lock.json": "{ broken"})
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", gittest.Files{"package.json": npmManifest(map[string]string{"a": "^1.1.0"})})
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-1.1.0": "merged"})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "package-lock.json") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

func TestNothingToDo(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	s.Git("branch", "feature", "main")
	r := s.run(consolidate.Options{})
	if len(r.PullRequests) != 0 || r.ResultSHA != "" || r.ResultBranch != "" {
		t.Errorf("%+v", r)
	}
}

// The working tree, the index, the current branch and the configuration stay.
func TestCloneIsUntouched(t *testing.T) {
	s := oneBump(t)
	s.Checkout()
	if err := os.WriteFile(filepath.Join(s.Dir, "package.json"), []byte("edited, not committed"), 0o600); err != nil {
		t.Fatal(err)
	}
	snapshot := func() string {
		index, err := os.ReadFile(filepath.Join(s.GitDir, "index"))
		if err != nil {
			t.Fatal(err)
		}
		config, err := os.ReadFile(filepath.Join(s.GitDir, "config"))
		if err != nil {
			t.Fatal(err)
		}
		return string(index) + string(config) + s.Git("status", "--porcelain=v2", "--branch") + s.Git("stash", "list")
	}
	before := snapshot()
	s.run(consolidate.Options{})
	if snapshot() != before {
		t.Error("the clone has changed")
	}
}

func TestLockfileOf60MB(t *testing.T) {
	if testing.Short() {
		t.Skip("60 MB take a while; the full run has it")
	}
	const packages = 140_000
	files := func(bumped ...int) gittest.Files {
		set := map[int]bool{}
		for _, i := range bumped {
			set[i] = true
		}
		manifest, lock := bigLock(packages, set)
		return gittest.Files{"package.json": manifest, "package-lock.json": lock}
	}
	base := files()
	if n := len(base["package-lock.json"].(string)); n < 60_000_000 {
		t.Fatalf("only %d bytes", n)
	}
	s := newStory(t, base)
	s.bot("npm_and_yarn/a", "Bump pkg-0000 from 1.0.0 to 1.1.0", files(0))
	s.bot("npm_and_yarn/b", "Bump pkg-0002 from 1.0.0 to 1.1.0", files(2))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a": "merged", "npm_and_yarn/b": "merged"})
	for path, want := range files(0, 2) {
		if s.result(path) != want {
			t.Errorf("%s differs", path)
		}
	}
}

// D8: a whole run executes nothing that the clone, its owner's configuration or
// its attributes name. That each trap works with plain git is proved beside them.
func TestNothingConfiguredIsExecuted(t *testing.T) {
	text := func(a, b string) gittest.Files {
		return gittest.Files{
			".gitattributes": gittest.Attributes,
			"deps.ini":       "a = " + a + "\n\n\n\n\n\nb = " + b + "\n",
		}
	}
	for _, set := range gittest.Sets() {
		t.Run(set.Name, func(t *testing.T) {
			if !set.Serial {
				t.Parallel()
			}
			s := newStory(t, text("1", "1"))
			s.bot("ini/a-2", "Bump a from 1 to 2", text("2", "1"))
			s.bot("ini/b-2", "Bump b from 1 to 2", text("1", "2"))
			s.Checkout()
			sprung := set.Arm(t, s.Repo)
			defer func() {
				if names := sprung(); len(names) > 0 {
					t.Errorf("what the clone names was executed: %q", names)
				}
			}()
			res, err := consolidate.Run(t.Context(), s.Dir, consolidate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Count(consolidate.Merged) != 2 || res.ResultSHA == "" {
				t.Errorf("%+v", res)
			}
		})
	}
}
