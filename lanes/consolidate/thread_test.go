package consolidate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// The recipe of google/uuid and pkg/errors: neighbouring lines of go.mod and of
// go.sum; right is both.
func TestRecipeUUIDAndErrors(t *testing.T) {
	files := func(uuid, errors string) gittest.Files {
		var sum strings.Builder
		for _, m := range [][2]string{{"github.com/google/uuid", uuid}, {"github.com/pkg/errors", errors}} {
			fmt.Fprintf(&sum, "%s %s h1:%s=\n%s %s/go.mod h1:%s=\n", m[0], m[1], hash(m[0]+m[1]), m[0], m[1], hash(m[0]+m[1]+"mod"))
		}
		return gittest.Files{
			"go.mod": "module example.com/app\n\ngo 1.22\n\nrequire (\n\tgithub.com/google/uuid " + uuid + "\n\tgithub.com/pkg/errors " + errors + "\n)\n",
			"go.sum": sum.String(),
		}
	}
	s := newStory(t, files("v1.5.0", "v0.9.0"))
	a, b := "go_modules/github.com/google/uuid-1.6.0", "go_modules/github.com/pkg/errors-0.9.1"
	s.bot(a, "Bump github.com/google/uuid from 1.5.0 to 1.6.0", files("v1.6.0", "v0.9.0"))
	s.bot(b, "Bump github.com/pkg/errors from 0.9.0 to 0.9.1", files("v1.5.0", "v0.9.1"))
	if s.gitMerges("dependabot/"+a, "dependabot/"+b) {
		t.Fatal("git merges this recipe by itself; it proves nothing")
	}
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{a: "merged", b: "merged"})
	want := files("v1.6.0", "v0.9.1")
	if got := s.result("go.mod"); got != want["go.mod"] {
		t.Errorf("go.mod:\n%s", got)
	}
	for line := range strings.Lines(want["go.sum"].(string)) {
		if !strings.Contains(s.result("go.sum"), line) {
			t.Errorf("go.sum lacks %s", line)
		}
	}
}

// hrvey#2: one conflict in a composer.lock kills the octopus: here one at a
// time, and a report.
func TestHrvey2OneConflictKillsNobodyElse(t *testing.T) {
	lock := func(a, b string) gittest.Files {
		return gittest.Files{"composer.lock": "{\n  \"content-hash\": \"" + a + b + "\",\n  \"a\": \"" + a + "\",\n  \"b\": \"" + b + "\"\n}\n"}
	}
	s := newStory(t, lock("1", "1"))
	s.bot("composer/a-2", "Bump a from 1 to 2", lock("2", "1"))
	s.bot("composer/b-2", "Bump b from 1 to 2", lock("1", "2"))
	s.bot("npm_and_yarn/x-1", "Bump x", gittest.Files{"x.txt": "1"})
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"composer/a-2": "merged", "composer/b-2": "left_out text_conflict", "npm_and_yarn/x-1": "merged"})
	if pr := reasonOf(t, r, "composer/b-2"); pr.Evidence.File != "composer.lock" {
		t.Errorf("%+v", pr.Evidence)
	}
}

// combine-prs#5, mergify#5135: a branch that an earlier run left is reused, and
// its commits are not taken for a person's, though bots wrote them.
func TestCombinePRs5LeftoverBranchIsReused(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	s := newStory(t, npmFiles(direct("1.0.0", "1.0.0"), lock("1.0.0", "1.0.0")))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0", "1.0.0"), lock("1.1.0", "1.0.0")))
	first := s.run(consolidate.Options{})
	s.Commit("main", "main", gittest.Files{"README": "main moves on"})
	s.bot("npm_and_yarn/b-1.1.0", "Bump b from 1.0.0 to 1.1.0", npmFiles(direct("1.0.0", "1.1.0"), lock("1.0.0", "1.1.0")))
	second := s.run(consolidate.Options{})
	if second.Count(consolidate.Merged) != 2 || second.ResultSHA == first.ResultSHA || s.Git("rev-parse", consolidate.DefaultInto) != second.ResultSHA {
		t.Errorf("first %s, second %s: %v", first.ResultSHA, second.ResultSHA, outcomes(second))
	}
	if got := s.Git("merge-base", "main", consolidate.DefaultInto); got != s.Git("rev-parse", "main") {
		t.Errorf("the result is not on today's base: %s", got)
	}
}

// renovate#1982: nobody else's branch is touched.
func TestRenovate1982ForeignBranchesStay(t *testing.T) {
	s := oneBump(t)
	s.Git("branch", "renovate", "main")
	s.Git("branch", "feature/x", "main")
	before := s.refs()
	r := s.run(consolidate.Options{})
	line := "refs/heads/" + consolidate.DefaultInto + " " + r.ResultSHA + "\n"
	if after := s.refs(); strings.Replace(after, line, "", 1) != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// dependabot-core#1686, #2195, #5795: dots, scopes and other separators in
// branch names are never taken apart: what moves is read from the files.
func TestDependabotCore1686BranchNamesAreNotParsed(t *testing.T) {
	direct := func(v string) map[string]string { return map[string]string{"@babel/core": "^" + v} }
	lock := func(v string) map[string]pkg { return map[string]pkg{"@babel/core": {version: v}} }
	s := newStory(t, npmFiles(direct("7.0.0"), lock("7.0.0")))
	for _, name := range []string{"dependabot-npm_and_yarn-babel-core-7.1.0", "deps|@babel.core|7.1.0", "bump.it"} {
		s.Commit(name, "main", npmFiles(direct("7.1.0"), lock("7.1.0")), gittest.Author(gittest.Dependabot), gittest.Message("chore: bump things\n"))
	}
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != 1 || r.Count(consolidate.Superseded) != 2 {
		wantOutcomes(t, r, nil)
	}
	want := consolidate.Update{Ecosystem: "npm", Directory: "/", Name: "@babel/core", From: "7.0.0", To: "7.1.0"}
	for _, p := range r.PullRequests {
		if len(p.Updates) != 1 || p.Updates[0] != want {
			t.Errorf("%s: %+v", p.Branch, p.Updates)
		}
	}
}

// fetch-metadata#728: after a refresh the trailer names an old version; the
// diff is what counts.
func TestFetchMetadata728TheDiffCounts(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	s.botOn("main", "npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", one("1.2.0"), gittest.Message(
		"Bump a from 1.0.0 to 1.1.0\n\n---\nupdated-dependencies:\n- dependency-name: a\n  dependency-version: 1.1.0\n  update-type: null\n...\n"))
	r := s.run(consolidate.Options{})
	if u := r.PullRequests[0].Updates; len(u) != 1 || u[0].To != "1.2.0" {
		t.Errorf("updates: %+v", u)
	}
}

// dependabot-core#2882: when the tree is the same, so is the commit: nothing is
// there to push, and no review is dismissed.
func TestDependabotCore2882SameTreeSameCommit(t *testing.T) {
	s := oneBump(t)
	first := s.run(consolidate.Options{})
	// A pull request comes and goes; one that brings nothing stays.
	s.Branch("dependabot/npm_and_yarn/done", s.Resolve("main"))
	second := s.run(consolidate.Options{})
	if first.ResultSHA != second.ResultSHA {
		t.Errorf("%s, then %s", first.ResultSHA, second.ResultSHA)
	}
}
