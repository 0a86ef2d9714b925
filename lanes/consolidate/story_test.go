package consolidate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// The recipe of left-pad and ms: both lines stand beside each other, so that
// git conflicts in package.json and in package-lock.json.
func TestRecipeLeftPadAndMs(t *testing.T) {
	direct := func(pad, ms string) map[string]string { return map[string]string{"left-pad": pad, "ms": ms} }
	lock := func(pad, ms string) map[string]pkg {
		return map[string]pkg{"left-pad": {version: pad}, "ms": {version: ms}}
	}
	s := newStory(t, npmFiles(direct("1.2.0", "2.1.2"), lock("1.2.0", "2.1.2")))
	s.bot("npm_and_yarn/left-pad-1.3.0", "Bump left-pad from 1.2.0 to 1.3.0", npmFiles(direct("1.3.0", "2.1.2"), lock("1.3.0", "2.1.2")))
	s.bot("npm_and_yarn/ms-2.1.3", "Bump ms from 2.1.2 to 2.1.3", npmFiles(direct("1.2.0", "2.1.3"), lock("1.2.0", "2.1.3")))
	if s.gitMerges("dependabot/npm_and_yarn/left-pad-1.3.0", "dependabot/npm_and_yarn/ms-2.1.3") {
		t.Fatal("git merges this recipe by itself; it proves nothing")
	}
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/left-pad-1.3.0": "merged", "npm_and_yarn/ms-2.1.3": "merged"})
	want := npmFiles(direct("1.3.0", "2.1.3"), lock("1.3.0", "2.1.3"))
	for path, text := range want {
		if got := s.result(path); got != text {
			t.Errorf("%s:\n%s\nwant:\n%s", path, got, text)
		}
	}
	if u := r.PullRequests[0].Updates; len(u) != 1 || u[0] != (consolidate.Update{Ecosystem: "npm", Directory: "/", Name: "left-pad", From: "1.2.0", To: "1.3.0"}) {
		t.Errorf("updates: %+v", u)
	}
}

// gitMerges reports whether git merges two branches without a conflict.
func (s *story) gitMerges(a, b string) bool {
	return s.Command("merge-tree", "--write-tree", a, b).Run() == nil
}

// shellhub#6815, Containarium#1634: react and react-dom work only together.
func TestShellhub6815ReactWithReactDOM(t *testing.T) {
	direct := func(react, dom string) map[string]string {
		return map[string]string{"react": "^" + react, "react-dom": "^" + dom}
	}
	lock := func(react, dom string) map[string]pkg {
		return map[string]pkg{"react": {version: react}, "react-dom": {version: dom, peers: map[string]string{"react": "^" + dom}}}
	}
	s := newStory(t, npmFiles(direct("18.3.1", "18.3.1"), lock("18.3.1", "18.3.1")))
	s.bot("npm_and_yarn/react-19.0.0", "Bump react from 18.3.1 to 19.0.0", npmFiles(direct("19.0.0", "18.3.1"), lock("19.0.0", "18.3.1")))
	s.bot("npm_and_yarn/react-dom-19.0.0", "Bump react-dom from 18.3.1 to 19.0.0", npmFiles(direct("18.3.1", "19.0.0"), lock("18.3.1", "19.0.0")))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/react-19.0.0": "merged", "npm_and_yarn/react-dom-19.0.0": "merged"})
	if n := strings.Count(s.Git("rev-list", "main.."+consolidate.DefaultInto), "\n") + 1; n != 1 {
		t.Errorf("%d commits; what works only together is one", n)
	}
	if msg := s.Git("log", "-1", "--format=%B", consolidate.DefaultInto); !strings.HasPrefix(msg, "Bump react and react-dom together\n") {
		t.Errorf("message: %s", msg)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// A moves a hoisted package; B's new package needs the old version of it, which
// nobody holds any more: it is nested under the one that needs it.
func TestHoistedPackageMovesAwayFromUnderANewOne(t *testing.T) {
	base := map[string]pkg{"a": {version: "1.0.0", needs: map[string]string{"x": "^1.0.0"}}, "b": {version: "1.0.0"}, "x": {version: "1.0.0"}}
	direct := map[string]string{"a": "^1.0.0", "b": "^1.0.0"}
	s := newStory(t, npmFiles(direct, base))
	left := maps.Clone(base)
	left["a"], left["x"] = pkg{version: "2.0.0", needs: map[string]string{"x": "^2.0.0"}}, pkg{version: "2.0.0"}
	s.bot("npm_and_yarn/a-2.0.0", "Bump a from 1.0.0 to 2.0.0", npmFiles(map[string]string{"a": "^2.0.0", "b": "^1.0.0"}, left))
	right := maps.Clone(base)
	right["b"] = pkg{version: "2.0.0", needs: map[string]string{"x": "^1.0.0"}}
	s.bot("npm_and_yarn/b-2.0.0", "Bump b from 1.0.0 to 2.0.0", npmFiles(map[string]string{"a": "^1.0.0", "b": "^2.0.0"}, right))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-2.0.0": "merged", "npm_and_yarn/b-2.0.0": "merged"})
	got := locked(t, s.result("package-lock.json"))
	want := map[string]string{"a": "2.0.0", "b": "2.0.0", "x": "2.0.0", "b/node_modules/x": "1.0.0"}
	if !maps.Equal(got, want) {
		t.Errorf("locked %v, want %v", got, want)
	}
}

// Two bumps of one thing: the higher wins and the lower is superseded; if the
// higher one is left out, the lower gets its turn.
func TestHigherBumpSupersedesUnlessItIsLeftOut(t *testing.T) {
	direct := func(v string) map[string]string { return map[string]string{"lodash": "^" + v, "z": "^1.0.0"} }
	lock := func(v string) map[string]pkg { return map[string]pkg{"lodash": {version: v}, "z": {version: "1.0.0"}} }
	s := newStory(t, npmFiles(direct("4.17.19"), lock("4.17.19")))
	s.bot("npm_and_yarn/lodash-4.17.20", "Bump lodash from 4.17.19 to 4.17.20", npmFiles(direct("4.17.20"), lock("4.17.20")))
	s.bot("npm_and_yarn/lodash-4.17.21", "Bump lodash from 4.17.19 to 4.17.21", npmFiles(direct("4.17.21"), lock("4.17.21")))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/lodash-4.17.20": "superseded higher_version", "npm_and_yarn/lodash-4.17.21": "merged"})
	if by := reasonOf(t, r, "npm_and_yarn/lodash-4.17.20").SupersededBy; by != "dependabot/npm_and_yarn/lodash-4.17.21" {
		t.Errorf("superseded by %q", by)
	}

	s = newStory(t, npmFiles(direct("4.17.19"), lock("4.17.19")))
	s.bot("npm_and_yarn/lodash-4.17.20", "Bump lodash from 4.17.19 to 4.17.20", npmFiles(direct("4.17.20"), lock("4.17.20")))
	broken := npmFiles(direct("4.17.21"), map[string]pkg{"z": {version: "1.0.0"}})
	s.bot("npm_and_yarn/lodash-4.17.21", "Bump lodash from 4.17.19 to 4.17.21", broken)
	r = s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/lodash-4.17.20": "merged", "npm_and_yarn/lodash-4.17.21": "left_out unsound"})
}

// A lower bump that changes more than the version is no mere lower bump: what it
// does beside arrives, at the higher version.
func TestLowerBumpWithSomethingOfItsOwn(t *testing.T) {
	files := func(v, test string) gittest.Files {
		return gittest.Files{"package.json": render(map[string]any{"name": "app", "dependencies": map[string]string{"a": "^" + v}, "scripts": map[string]string{"test": test}})}
	}
	s := newStory(t, files("1.0.0", "a run"))
	s.bot("npm_and_yarn/a-2.0.0", "Bump a from 1.0.0 to 2.0.0", files("2.0.0", "a run --all"))
	s.bot("npm_and_yarn/a-3.0.0", "Bump a from 1.0.0 to 3.0.0", files("3.0.0", "a run"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"npm_and_yarn/a-2.0.0": "merged", "npm_and_yarn/a-3.0.0": "merged"})
	if got, want := s.result("package.json"), files("3.0.0", "a run --all")["package.json"]; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Of three, the one that is in the result is named, not one that is itself
// superseded.
func TestSupersededByWhoIsInTheResult(t *testing.T) {
	s := newStory(t, one("1.0.0"))
	for _, v := range []string{"1.1.0", "1.2.0", "1.3.0"} {
		s.bot("a-"+v, "Bump a from 1.0.0 to "+v, one(v))
	}
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"a-1.1.0": "superseded higher_version", "a-1.2.0": "superseded higher_version", "a-1.3.0": "merged"})
	for _, name := range []string{"a-1.1.0", "a-1.2.0"} {
		if by := reasonOf(t, r, name).SupersededBy; by != "dependabot/a-1.3.0" {
			t.Errorf("%s is superseded by %s", name, by)
		}
	}
}

// Of two lockfiles, the higher bump moves only one: the other one's bump stays.
func TestLowerBumpOfOneMoreLockfile(t *testing.T) {
	base := map[string]pkg{"r": {version: "1.0.0", needs: map[string]string{"a": "^1.0.0"}}}
	lock := func(a string) string {
		l := maps.Clone(base)
		l["a"] = pkg{version: a}
		return npmLock(map[string]string{"r": "^1.0.0"}, l)
	}
	files := func(a, wrapped string) gittest.Files {
		return gittest.Files{"package.json": npmManifest(map[string]string{"r": "^1.0.0"}), "package-lock.json": lock(a), "npm-shrinkwrap.json": lock(wrapped)}
	}
	s := newStory(t, files("1.0.0", "1.0.0"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0", "1.1.0"))
	s.bot("a-1.2.0", "Bump a from 1.0.0 to 1.2.0", files("1.0.0", "1.2.0"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"a-1.1.0": "merged", "a-1.2.0": "merged"})
	for path, want := range files("1.1.0", "1.2.0") {
		if got := s.result(path); got != want {
			t.Errorf("%s:\n%s", path, got)
		}
	}
}

// Pull requests with a number come first, in its order, whatever their dates.
func TestOrderOfThePullRequests(t *testing.T) {
	s := newStory(t, gittest.Files{"x": "1"})
	s.Branch("refs/pull/2/head", s.bot("c", "Second", gittest.Files{"a": "1"}))
	s.bot("a", "Third, without a number", gittest.Files{"b": "1"})
	s.Branch("refs/pull/1/head", s.bot("b", "First", gittest.Files{"c": "1"}))
	var got []string
	for _, p := range s.run(consolidate.Options{}).PullRequests {
		got = append(got, strings.TrimPrefix(p.Branch, "dependabot/"))
	}
	if want := []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("order %q", got)
	}
}

// What is built from the lower version goes with it: nobody needs its archive.
func TestSupersededWithItsArchive(t *testing.T) {
	with := func(v string) gittest.Files {
		f := one(v)
		f[".yarn/cache/a-npm-"+v+".zip"] = v
		return f
	}
	s := newStory(t, one("1.0.0"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", with("1.1.0"))
	s.bot("a-1.2.0", "Bump a from 1.0.0 to 1.2.0", with("1.2.0"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"a-1.1.0": "superseded higher_version", "a-1.2.0": "merged"})
}

// A lower bump that also changes something of its own is not superseded by a
// higher one without it, though a third head changes that file, too.
func TestNothingOfItsOwnIsSuperseded(t *testing.T) {
	with := func(version, text string) gittest.Files {
		f := one(version)
		f["notes.txt"] = text
		return f
	}
	s := newStory(t, with("1.0.0", "1\n\n\n\n\n\n1\n"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", with("1.1.0", "1\n\n\n\n\n\n2\n"))
	s.bot("a-1.2.0", "Bump a from 1.0.0 to 1.2.0", one("1.2.0"))
	s.bot("notes", "Change the notes", gittest.Files{"notes.txt": "2\n\n\n\n\n\n1\n"})
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"a-1.1.0": "merged", "a-1.2.0": "merged", "notes": "merged"})
	if got := s.result("notes.txt"); got != "2\n\n\n\n\n\n2\n" {
		t.Errorf("notes: %q", got)
	}
}

// A group pull request and a single one for one of its dependencies agree.
func TestGroupAndSingleForOneDependency(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	s := newStory(t, npmFiles(direct("1.0.0", "1.0.0"), lock("1.0.0", "1.0.0")))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0", "1.0.0"), lock("1.1.0", "1.0.0")))
	s.bot("npm_and_yarn/all-0123456789", "Bump the all group with 2 updates", npmFiles(direct("1.1.0", "1.2.0"), lock("1.1.0", "1.2.0")))
	s.bot("npm_and_yarn/b-2.0.0", "Bump b from 1.0.0 to 2.0.0", npmFiles(direct("1.0.0", "2.0.0"), lock("1.0.0", "2.0.0")))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{
		"npm_and_yarn/a-1.1.0":        "superseded same_update",
		"npm_and_yarn/all-0123456789": "merged",
		"npm_and_yarn/b-2.0.0":        "merged",
	})
	if got := locked(t, s.result("package-lock.json")); got["a"] != "1.1.0" || got["b"] != "2.0.0" {
		t.Errorf("locked %v", got)
	}
}

// dependabot-core#11010, #10175: one failing update must not block the others:
// of five, the one that cannot go with them is left out, and says why.
func TestDependabotCore11010OneCulpritOfFive(t *testing.T) {
	direct := map[string]string{"plugin": "^1.0.0", "core": "^1.0.0", "c": "^1.0.0", "d": "^1.0.0", "e": "^1.0.0"}
	base := map[string]pkg{
		"plugin": {version: "1.0.0", peers: map[string]string{"core": "^1.0.0"}},
		"core":   {version: "1.0.0"}, "c": {version: "1.0.0"}, "d": {version: "1.0.0"}, "e": {version: "1.0.0"},
	}
	s := newStory(t, npmFiles(direct, base))
	bump := func(name, to string, peers map[string]string) {
		d, l := maps.Clone(direct), maps.Clone(base)
		d[name], l[name] = "^"+to, pkg{version: to, peers: peers}
		s.bot("npm_and_yarn/"+name+"-"+to, "Bump "+name+" from 1.0.0 to "+to, npmFiles(d, l))
	}
	bump("c", "1.1.0", nil)
	bump("plugin", "1.1.0", map[string]string{"core": "~1.0.0"})
	bump("d", "1.1.0", nil)
	bump("core", "1.2.0", nil)
	bump("e", "1.1.0", nil)
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{
		"npm_and_yarn/c-1.1.0": "merged", "npm_and_yarn/d-1.1.0": "merged", "npm_and_yarn/e-1.1.0": "merged",
		"npm_and_yarn/plugin-1.1.0": "merged", "npm_and_yarn/core-1.2.0": "left_out incompatible",
	})
	pr := reasonOf(t, r, "npm_and_yarn/core-1.2.0")
	ev := pr.Evidence
	if ev.File != "package-lock.json" || ev.Line == 0 || ev.Key != "core" || ev.Ours != "1.2.0" || ev.Requirement != "~1.0.0" || ev.NeededBy != "plugin@1.1.0" {
		t.Errorf("evidence: %+v", ev)
	}
	if !strings.Contains(pr.Reason, "dependabot/npm_and_yarn/plugin-1.1.0") {
		t.Errorf("reason does not name the other one: %s", pr.Reason)
	}
}

// One pull request that keeps three others out is the one to leave out.
func TestOneBlockerGivesWayToThree(t *testing.T) {
	direct := map[string]string{"core": "^1.0.0", "p": "^1.0.0", "q": "^1.0.0", "r": "^1.0.0"}
	base := map[string]pkg{"core": {version: "1.0.0"}, "p": {version: "1.0.0"}, "q": {version: "1.0.0"}, "r": {version: "1.0.0"}}
	s := newStory(t, npmFiles(direct, base))
	bump := func(name, to string, peers map[string]string) {
		d, l := maps.Clone(direct), maps.Clone(base)
		d[name], l[name] = "^"+to, pkg{version: to, peers: peers}
		s.bot("npm_and_yarn/"+name+"-"+to, "Bump "+name+" from 1.0.0 to "+to, npmFiles(d, l))
	}
	bump("core", "2.0.0", nil)
	for _, name := range []string{"p", "q", "r"} {
		bump(name, "1.1.0", map[string]string{"core": "^1.0.0"})
	}
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{
		"npm_and_yarn/core-2.0.0": "left_out incompatible",
		"npm_and_yarn/p-1.1.0":    "merged", "npm_and_yarn/q-1.1.0": "merged", "npm_and_yarn/r-1.1.0": "merged",
	})
	if ev := reasonOf(t, r, "npm_and_yarn/core-2.0.0").Evidence; len(ev.With) != 3 {
		t.Errorf("evidence: %+v", ev)
	}
}

// combine-prs#31: the base has moved on since the bot pushed; what main did
// stays, and what the bot did arrives.
func TestCombinePRs31StaleBranch(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	s := newStory(t, npmFiles(direct("1.0.0", "1.0.0"), lock("1.0.0", "1.0.0")))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0", "1.0.0"), lock("1.1.0", "1.0.0")))
	s.bot("npm_and_yarn/b-1.1.0", "Bump b from 1.0.0 to 1.1.0", npmFiles(direct("1.0.0", "1.1.0"), lock("1.0.0", "1.1.0")))
	s.Commit("main", "main", npmFiles(direct("1.0.0", "1.3.0"), lock("1.0.0", "1.3.0")))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/a-1.1.0": "merged", "npm_and_yarn/b-1.1.0": "superseded in_base"})
	if got := locked(t, s.result("package-lock.json")); got["a"] != "1.1.0" || got["b"] != "1.3.0" {
		t.Errorf("locked %v", got)
	}
}

// A copy below a dependent follows from the dependent: that another head had it
// higher keeps nobody out whose own update arrives; a head that is about that
// copy is told that it does not arrive.
func TestNestedCopyFollowsItsDependent(t *testing.T) {
	files := func(x, a, nested, needs string) gittest.Files {
		return npmFiles(map[string]string{"a": "^" + a, "x": "^" + x}, map[string]pkg{
			"a": {version: a, needs: map[string]string{"x": needs}}, "x": {version: x},
			"node_modules/a/node_modules/x": {version: nested},
		})
	}
	s := newStory(t, files("2.0.0", "1.0.0", "1.0.0", "^1.0.0"))
	s.bot("npm_and_yarn/a-2.0.0", "Bump a from 1.0.0 to 2.0.0", files("2.0.0", "2.0.0", "1.1.0", "1.1.0"))
	s.bot("npm_and_yarn/x-3.0.0", "Bump x from 2.0.0 to 3.0.0", files("3.0.0", "1.0.0", "1.2.0", "^1.0.0"))
	s.bot("npm_and_yarn/other-1", "Bump x from 1.0.0 to 1.3.0", files("2.0.0", "1.0.0", "1.3.0", "^1.0.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{
		"npm_and_yarn/a-2.0.0": "merged", "npm_and_yarn/x-3.0.0": "merged", "npm_and_yarn/other-1": "left_out incompatible",
	})
	if got := locked(t, s.result("package-lock.json")); got["a/node_modules/x"] != "1.1.0" || got["x"] != "3.0.0" {
		t.Errorf("locked %v", got)
	}
	if pr := reasonOf(t, r, "npm_and_yarn/other-1"); !strings.Contains(pr.Reason, "x@1.3.0 would not arrive") {
		t.Error(pr.Reason)
	}
}

// One pull request no longer needs what another one bumps: no harm is done, and
// the bump has nothing to do.
func TestBumpOfWhatAnotherOneDrops(t *testing.T) {
	files := func(b, deep string) gittest.Files {
		locked := map[string]pkg{"b": {version: b}}
		if deep != "" {
			locked["b"], locked["deep"] = pkg{version: b, needs: map[string]string{"deep": "^1.0.0"}}, pkg{version: deep}
		}
		return npmFiles(map[string]string{"b": "^" + b}, locked)
	}
	s := newStory(t, files("1.0.0", "1.0.0"))
	s.bot("npm_and_yarn/b-2.0.0", "Bump b from 1.0.0 to 2.0.0", files("2.0.0", ""))
	s.bot("npm_and_yarn/deep-1.1.0", "Bump deep from 1.0.0 to 1.1.0", files("1.0.0", "1.1.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"npm_and_yarn/b-2.0.0": "merged", "npm_and_yarn/deep-1.1.0": "superseded not_needed"})
	if by := reasonOf(t, r, "npm_and_yarn/deep-1.1.0").SupersededBy; by != "dependabot/npm_and_yarn/b-2.0.0" {
		t.Errorf("superseded by %q", by)
	}
}

// A person has dropped a dependency since its bot pushed: a bump does not bring
// it back, and is said to be gone.
func TestBumpOfWhatTheBaseDropped(t *testing.T) {
	files := func(a, b string) gittest.Files {
		direct, lock := map[string]string{"b": "^" + b}, map[string]pkg{"b": {version: b}}
		if a != "" {
			direct["a"], lock["a"] = "^"+a, pkg{version: a}
		}
		return npmFiles(direct, lock)
	}
	s := newStory(t, files("1.0.0", "1.0.0"))
	s.bot("a-1.1.0", "Bump a from 1.0.0 to 1.1.0", files("1.1.0", "1.0.0"))
	s.bot("b-1.1.0", "Bump b from 1.0.0 to 1.1.0", files("1.0.0", "1.1.0"))
	s.Commit("main", "main", files("", "1.0.0"))
	wantOutcomes(t, s.run(consolidate.Options{}), map[string]string{"a-1.1.0": "left_out gone", "b-1.1.0": "merged"})
	for path, want := range files("", "1.1.0") {
		if got := s.result(path); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
		}
	}
}

// What the base has already was brought by nobody else, though another pull
// request moves a dependency of the same name elsewhere.
func TestInBaseIsNobodysDoing(t *testing.T) {
	in := func(dir, version string) gittest.Files {
		out := gittest.Files{}
		for p, text := range one(version) {
			out[dir+"/"+p] = text
		}
		return out
	}
	s := newStory(t, in("web", "1.0.0"))
	s.Commit("main", "main", in("api", "1.0.0"))
	s.bot("1/web", "Bump a from 1.0.0 to 1.1.0 in /web", in("web", "1.1.0"))
	s.bot("2/api", "Bump a from 1.0.0 to 1.1.0 in /api", in("api", "1.1.0"))
	s.Commit("main", "main", in("api", "1.2.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"1/web": "merged", "2/api": "superseded in_base"})
	if by := reasonOf(t, r, "2/api").SupersededBy; by != "" {
		t.Errorf("superseded by %q", by)
	}
}

// open-legal-products/mike#240: two sides add neighbouring keys, and a merge as
// text gives JSON without a comma.
func TestMike240NeighbouringKeys(t *testing.T) {
	direct := map[string]string{"a": "^1.0.0", "z": "^1.0.0"}
	base := map[string]pkg{"a": {version: "1.0.0"}, "z": {version: "1.0.0"}}
	s := newStory(t, npmFiles(direct, base))
	for _, name := range []string{"m", "n"} {
		d, l := maps.Clone(direct), maps.Clone(base)
		d[name], l[name] = "^1.0.0", pkg{version: "1.0.0"}
		s.bot("npm_and_yarn/"+name+"-1.0.0", "Add "+name, npmFiles(d, l))
	}
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != 2 {
		wantOutcomes(t, r, nil)
	}
	want := npmFiles(
		map[string]string{"a": "^1.0.0", "m": "^1.0.0", "n": "^1.0.0", "z": "^1.0.0"},
		map[string]pkg{"a": {version: "1.0.0"}, "m": {version: "1.0.0"}, "n": {version: "1.0.0"}, "z": {version: "1.0.0"}})
	for path, text := range want {
		if got := s.result(path); got != text {
			t.Errorf("%s:\n%s\nwant:\n%s", path, got, text)
		}
	}
}

// gh-combine#8: the combination is no candidate for itself.
// dependabot-core#12957: a second run updates in place, and is the same.
func TestSecondRunIsTheSame(t *testing.T) {
	direct := func(a string) map[string]string { return map[string]string{"a": "^" + a} }
	s := newStory(t, npmFiles(direct("1.0.0"), map[string]pkg{"a": {version: "1.0.0"}}))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0"), map[string]pkg{"a": {version: "1.1.0"}}))
	first := s.run(consolidate.Options{})
	before := s.refs()
	second := s.run(consolidate.Options{})
	if first.ResultSHA != second.ResultSHA || len(second.PullRequests) != 1 || s.refs() != before {
		t.Errorf("first %s, second %s, %d pull requests", first.ResultSHA, second.ResultSHA, len(second.PullRequests))
	}
	// Under another name, too: the earlier result is no bot's branch.
	if other := s.run(consolidate.Options{Into: "other"}); len(other.PullRequests) != 1 || other.ResultSHA != first.ResultSHA {
		t.Errorf("into another branch: %+v", outcomes(other))
	}
	// And from an empty folder again: the same input gives the same SHAs.
	clone := t.TempDir() + "/clone"
	s.Git("clone", "-q", "--no-local", s.Dir, clone)
	third, err := consolidate.Run(t.Context(), clone, consolidate.Options{})
	if err != nil || third.ResultSHA != first.ResultSHA {
		t.Errorf("in a clone: %v, %+v", err, third)
	}
}

// Credit stays: the bot is the author, with its message and date; the committer
// is Bailiff, at a time that no clock gave.
func TestCommitsAreTheBots(t *testing.T) {
	direct := func(a string) map[string]string { return map[string]string{"a": "^" + a} }
	s := newStory(t, npmFiles(direct("1.0.0"), map[string]pkg{"a": {version: "1.0.0"}}))
	head := s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0"), map[string]pkg{"a": {version: "1.1.0"}}))
	r := s.run(consolidate.Options{})
	const form = "--format=%an|%ae|%ad|%B"
	if got, want := s.Git("log", "-1", form, consolidate.DefaultInto), s.Git("log", "-1", form, string(head)); got != want {
		t.Errorf("author or message changed: %q, want %q", got, want)
	}
	if got := s.Git("log", "-1", "--format=%cn|%cd", "--date=iso", consolidate.DefaultInto); got != "bailiff[bot]|2026-01-05 09:01:00 +0000" {
		t.Errorf("committer: %s", got)
	}
	if r.PullRequests[0].Commit != r.ResultSHA {
		t.Errorf("commit %s, result %s", r.PullRequests[0].Commit, r.ResultSHA)
	}
}

// Files of no known format merge as text; two in conflict: the later is left out.
func TestUnknownFilesMergeAsText(t *testing.T) {
	text := func(a, b string) gittest.Files {
		return gittest.Files{"deps.ini": "a = " + a + "\n\n\n\n\n\nb = " + b + "\n"}
	}
	s := newStory(t, text("1", "1"))
	s.bot("ini/a-2", "Bump a from 1 to 2", text("2", "1"))
	s.bot("ini/b-2", "Bump b from 1 to 2", text("1", "2"))
	s.bot("ini/b-3", "Bump b from 1 to 3", text("1", "3"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"ini/a-2": "merged", "ini/b-2": "merged", "ini/b-3": "left_out text_conflict"})
	if got := s.result("deps.ini"); got != "a = 2\n\n\n\n\n\nb = 2\n" {
		t.Errorf("got %q", got)
	}
	if len(r.Files) != 1 || r.Files[0] != (consolidate.File{Path: "deps.ini", Format: "unknown", Method: consolidate.ByText}) {
		t.Errorf("files: %+v", r.Files)
	}
}

func TestFilters(t *testing.T) {
	direct := func(a, b string) map[string]string { return map[string]string{"a": "^" + a, "b": "^" + b} }
	lock := func(a, b string) map[string]pkg { return map[string]pkg{"a": {version: a}, "b": {version: b}} }
	s := newStory(t, npmFiles(direct("1.0.0", "1.0.0"), lock("1.0.0", "1.0.0")))
	s.bot("npm_and_yarn/a-1.1.0", "Bump a from 1.0.0 to 1.1.0", npmFiles(direct("1.1.0", "1.0.0"), lock("1.1.0", "1.0.0")))
	s.bot("npm_and_yarn/b-2.0.0", "Bump b from 1.0.0 to 2.0.0", npmFiles(direct("1.0.0", "2.0.0"), lock("1.0.0", "2.0.0")))
	a, b := "npm_and_yarn/a-1.1.0", "npm_and_yarn/b-2.0.0"
	for _, c := range []struct {
		name string
		o    consolidate.Options
		want map[string]string
	}{
		{"max-bump minor", consolidate.Options{MaxBump: consolidate.BumpMinor}, map[string]string{a: "merged", b: "left_out not_selected"}},
		{"max-bump patch", consolidate.Options{MaxBump: consolidate.BumpPatch}, map[string]string{a: "left_out not_selected", b: "left_out not_selected"}},
		{"max-bump major", consolidate.Options{MaxBump: consolidate.BumpMajor}, map[string]string{a: "merged", b: "merged"}},
		{"another ecosystem", consolidate.Options{Ecosystems: []string{"cargo"}}, map[string]string{a: "left_out not_selected", b: "left_out not_selected"}},
		{"a glob over slashes", consolidate.Options{Branches: []string{"dependabot/*a-*"}}, map[string]string{a: "merged"}},
		{"an exact name", consolidate.Options{Branches: []string{"dependabot/" + b}}, map[string]string{b: "merged"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.DryRun = true
			before := s.refs()
			wantOutcomes(t, s.run(c.o), c.want)
			if s.refs() != before {
				t.Error("a dry run changed the clone")
			}
		})
	}
}
