package consolidate_test

import (
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

const (
	ci      = ".github/workflows/ci.yml"
	release = ".github/workflows/release.yml"
)

// flow is a workflow with these steps.
func flow(steps ...string) string {
	out := "on: push\njobs:\n  a:\n    steps:\n"
	for _, s := range steps {
		out += "    - " + s + "\n"
	}
	return out
}

func pinned(digit, version string) string {
	return "uses: a/b@" + strings.Repeat(digit, 40) + " # " + version
}

// Azure/draft, July 2026: one update moves a commit in one workflow and a tag in
// another, and each file counts by its own.
func TestCommitInOneFileTagInAnother(t *testing.T) {
	files := func(digit, v string) gittest.Files {
		return gittest.Files{ci: flow("uses: a/b@" + v), release: flow(pinned(digit, v))}
	}
	s := newStory(t, files("1", "v6.0.2"))
	s.bot("github_actions/a/b-6.0.3", "Bump a/b from 6.0.2 to 6.0.3", files("2", "v6.0.3"))
	s.bot("github_actions/a/b-7.0.0", "Bump a/b from 6.0.2 to 7.0.0", files("3", "v7.0.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"github_actions/a/b-6.0.3": "superseded higher_version", "github_actions/a/b-7.0.0": "merged"})
	for path, text := range files("3", "v7.0.0") {
		if got := s.result(path); got != text {
			t.Errorf("%s:\n%s", path, got)
		}
	}
}

// NVIDIA/k8s-test-infra, August 2026: the parts of one repository are moved one
// by one, on lines that conflict as text.
func TestPartsOfOneRepository(t *testing.T) {
	s := newStory(t, gittest.Files{ci: flow("uses: a/b/init@v1", "uses: a/b/analyze@v1")})
	s.bot("github_actions/a/b/init-2", "Bump a/b/init from 1 to 2", gittest.Files{ci: flow("uses: a/b/init@v2", "uses: a/b/analyze@v1")})
	s.bot("github_actions/a/b/analyze-2", "Bump a/b/analyze from 1 to 2", gittest.Files{ci: flow("uses: a/b/init@v1", "uses: a/b/analyze@v2")})
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != 2 {
		wantOutcomes(t, r, nil)
	}
	if got, want := s.result(ci), flow("uses: a/b/init@v2", "uses: a/b/analyze@v2"); got != want {
		t.Errorf("%s", got)
	}
}

// The base has since dropped the action from one of the files that an update
// names: the update arrives in the other.
func TestActionDroppedInOneFile(t *testing.T) {
	files := func(v string) gittest.Files {
		return gittest.Files{ci: flow("uses: a/b@"+v, "uses: c/d@v1"), release: flow("uses: a/b@" + v)}
	}
	s := newStory(t, files("v1"))
	s.bot("github_actions/a/b-2", "Bump a/b from 1 to 2", files("v2"))
	s.Commit("main", "main", gittest.Files{ci: flow("run: x", "uses: c/d@v1"), release: flow("uses: a/b@v1")})
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"github_actions/a/b-2": "merged"})
	if got := s.result(release); got != flow("uses: a/b@v2") {
		t.Errorf("%s", got)
	}
	if got := s.result(ci); got != flow("run: x", "uses: c/d@v1") {
		t.Errorf("%s", got)
	}
}

// Two heads change the text at two places, so that the file is merged as text; a
// later one bumps what is in it, by the name that it had in the base.
func TestValuesAfterAMergeAsText(t *testing.T) {
	text := func(first, ab, cd, last string) gittest.Files {
		return gittest.Files{ci: flow("run: "+first, "run: 1", "uses: a/b@"+ab, "run: 2", "uses: c/d@"+cd, "run: 3", "run: "+last)}
	}
	s := newStory(t, text("x", "v1", "v1", "y"))
	s.bot("github_actions/1", "Bump a/b and c/d", text("x", "v2", "v2", "y"))
	s.bot("github_actions/2", "Change the first step", text("x1", "v1", "v1", "y"))
	s.bot("github_actions/3", "Change the last step", text("x", "v1", "v1", "y1"))
	s.bot("github_actions/4", "Bump a/b from 1 to 3", text("x", "v3", "v1", "y"))
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != 4 {
		wantOutcomes(t, r, nil)
	}
	if got, want := s.result(ci), text("x1", "v3", "v2", "y1")[ci]; got != want {
		t.Errorf("%s", got)
	}
}

// Where git cannot help either, the reason says what is wrong.
func TestReasonsForReferences(t *testing.T) {
	for name, c := range map[string]struct {
		fork, one, two string
		code           consolidate.Reason
		reason         string
	}{
		"two commits": {
			flow("uses: a/b@" + strings.Repeat("1", 40)), flow("uses: a/b@" + strings.Repeat("2", 40)), flow("uses: a/b@" + strings.Repeat("3", 40)),
			consolidate.ValueConflict, ci + ": a/b is 2222222 in the result and 3333333 here, and neither is the higher",
		},
		"a pin and a higher tag": {
			flow("uses: a/b@v1"), flow(pinned("1", "v1")), flow("uses: a/b@v2"),
			consolidate.ValueConflict, ci + ": a/b is v1 (1111111) in the result and v2 here, and neither is the higher",
		},
		"split, then moved": {
			flow("uses: a/b@v1", "uses: a/b@v1"), flow("uses: a/b@v2", "uses: a/b@v1"), flow("uses: a/b@v3", "uses: a/b@v3"),
			consolidate.ValueConflict, ci + ": a/b: one moves all of its places, and another only some",
		},
		"moved, then taken out": {
			flow("uses: a/b@v1"), flow("uses: a/b@v2"), flow("run: x"),
			consolidate.ValueConflict, ci + ": a/b: it is changed in one and taken out in the other",
		},
		"text": {
			flow("run: 1"), flow("run: 2"), flow("run: 3"),
			consolidate.TextConflict, ci + " is changed here and by others in the same place",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, gittest.Files{ci: c.fork, "x": "1"})
			s.bot("github_actions/1", "First", gittest.Files{ci: c.one, "x": "2"})
			s.bot("github_actions/2", "Second", gittest.Files{ci: c.two, "y": "2"})
			p := reasonOf(t, s.run(consolidate.Options{}), "github_actions/2")
			if p.ReasonCode != c.code || p.Reason != c.reason {
				t.Errorf("%s: %s, want %s: %s", p.ReasonCode, p.Reason, c.code, c.reason)
			}
		})
	}
}

// A Dockerfile's images, and a workflow's, in one go; the digest goes with its tag.
func TestImages(t *testing.T) {
	digest := func(d string) string { return "@sha256:" + strings.Repeat(d, 64) }
	s := newStory(t, gittest.Files{"Dockerfile": "FROM a:3.11-slim" + digest("1") + " AS x\nFROM b:1\n"})
	s.bot("docker/a-3.12-slim", "Bump a from 3.11-slim to 3.12-slim", gittest.Files{"Dockerfile": "FROM a:3.12-slim" + digest("2") + " AS x\nFROM b:1\n"})
	s.bot("docker/b-2", "Bump b from 1 to 2", gittest.Files{"Dockerfile": "FROM a:3.11-slim" + digest("1") + " AS x\nFROM b:2\n"})
	r := s.run(consolidate.Options{})
	if r.Count(consolidate.Merged) != 2 {
		wantOutcomes(t, r, nil)
	}
	if got, want := s.result("Dockerfile"), "FROM a:3.12-slim"+digest("2")+" AS x\nFROM b:2\n"; got != want {
		t.Errorf("%s", got)
	}
}
