package consolidate_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// What cannot be in one commit together is never lost without a word.

func TestFileWhereAnotherHasAFolder(t *testing.T) {
	for name, c := range map[string]struct {
		base, first, second gittest.Files
	}{
		"a file, then a folder":       {nil, gittest.Files{"lib": "1"}, gittest.Files{"lib/a/b.txt": "2"}},
		"a folder, then a file":       {nil, gittest.Files{"lib/a/b.txt": "2"}, gittest.Files{"lib": "1"}},
		"a submodule, then a folder":  {nil, gittest.Files{"lib": gittest.Module(strings.Repeat("1", 40))}, gittest.Files{"lib/a": "2"}},
		"a link, then a folder":       {nil, gittest.Files{"lib": gittest.Link("x")}, gittest.Files{"lib/a": "2"}},
		"a folder that grew a file":   {gittest.Files{"lib/a": "1"}, gittest.Files{"lib/b": "2"}, gittest.Files{"lib/a": nil, "lib": "1"}},
		"a file became a folder":      {gittest.Files{"lib": "1"}, gittest.Files{"lib": nil, "lib/a": "2"}, gittest.Files{"lib": "3"}},
		"a file changed and a folder": {gittest.Files{"lib": "1"}, gittest.Files{"lib": "3"}, gittest.Files{"lib": nil, "lib/a": "2"}},
		"a manifest became a folder":  {gittest.Files{"package.json": npmManifest(nil)}, gittest.Files{"package.json": nil, "package.json/package.json": npmManifest(nil)}, gittest.Files{"package.json": npmManifest(map[string]string{"a": "1"})}},
	} {
		t.Run(name, func(t *testing.T) {
			base := gittest.Files{"README": "1"}
			for p, f := range c.base {
				base[p] = f
			}
			s := newStory(t, base)
			s.bot("x-first", "Bump x", c.first)
			s.bot("y-second", "Bump y", c.second)
			wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"x-first": "merged", "y-second": "left_out text_conflict"})
			if got, want := s.Git("rev-parse", consolidate.DefaultInto+"^{tree}"), s.Git("rev-parse", "dependabot/x-first^{tree}"); got != want {
				t.Errorf("the result is not the first alone: %s", s.Git("ls-tree", "-r", consolidate.DefaultInto))
			}
		})
	}
}

// A folder may become a file, and the other way round, when nobody else is in it.
func TestFileBecomesAFolder(t *testing.T) {
	s := newStory(t, gittest.Files{"lib": "1", "old/a": "1", "old/b": "1"})
	s.bot("x", "Bump x", gittest.Files{"lib": nil, "lib/a": "2", "old/a": nil, "old/b": nil, "old": "3"})
	s.bot("y", "Bump y", gittest.Files{"y.txt": "1"})
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"x": "merged", "y": "merged"})
	if got := s.result("lib/a") + s.result("old") + s.result("y.txt"); got != "231" {
		t.Errorf("%q", got)
	}
}

// A pull request that also changes a setting brings more than its update.
func TestSettingIsNotSuperseded(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", one("1.1.0"))
	more := one("1.1.0")
	more["package.json"] = strings.Replace(more["package.json"].(string), `"name"`, `"packageManager": "npm@11.0.0",
  "name"`, 1)
	s.bot("b-1.1.0", "Bump a from 1.0.0 to 1.1.0", more)
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"a-1.1.0": "merged", "b-1.1.0": "merged"})
	if got := s.result("package.json"); got != more["package.json"] {
		t.Error(got)
	}
}

// One asks for more, the other has locked more: the result has both.
func TestRequirementAboveALockfileAhead(t *testing.T) {
	files := func(asked, locked string) gittest.Files {
		return npmFiles(map[string]string{"a": "^" + asked}, map[string]pkg{"a": {version: locked}})
	}
	s := newStory(t, files("1.0.0", "1.0.0"))
	s.bot("a-1.2.0", "Bump a from 1.0.0 to 1.2.0", files("1.2.0", "1.2.0"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0", "1.5.0"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"a-1.2.0": "merged", "a-1.1.0": "merged"})
	for p, want := range files("1.2.0", "1.5.0") {
		if got := s.result(p); got != want {
			t.Errorf("%s: %s", p, got)
		}
	}
}

// Runs at one time come to the same result, and none of them fails.
func TestRunsAtOneTime(t *testing.T) {
	s := oneBump(t)
	var wg sync.WaitGroup
	found := make([]string, 5)
	for i := range found {
		wg.Go(func() {
			r, err := consolidate.Run(t.Context(), s.Dir, consolidate.Options{})
			if found[i] = fmt.Sprint(err); err == nil {
				found[i] = r.ResultSHA
			}
		})
	}
	wg.Wait()
	for _, got := range found {
		if want := string(s.Resolve(consolidate.DefaultInto)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
