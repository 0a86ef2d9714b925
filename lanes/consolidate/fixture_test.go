package consolidate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// pkg is a locked package of an npm project: its version, what it needs, and
// what it needs beside it.
type pkg struct {
	version string
	needs   map[string]string
	peers   map[string]string
}

// npmFiles are a package.json and the package-lock.json that npm would make,
// all packages hoisted. Direct maps names to requirements.
func npmFiles(direct map[string]string, locked map[string]pkg) gittest.Files {
	return gittest.Files{"package.json": npmManifest(direct), "package-lock.json": npmLock(direct, locked)}
}

func npmManifest(direct map[string]string) string {
	return render(map[string]any{"name": "app", "version": "1.0.0", "dependencies": direct})
}

func npmLock(direct map[string]string, locked map[string]pkg) string {
	packages := map[string]any{"": map[string]any{"name": "app", "version": "1.0.0", "dependencies": direct}}
	for name, p := range locked {
		entry := map[string]any{
			"version":   p.version,
			"resolved":  fmt.Sprintf("https://registry.npmjs.org/%s/-/%s-%s.tgz", name, name[strings.LastIndexByte(name, '/')+1:], p.version),
			"integrity": "sha512-" + name + p.version + "==",
		}
		if p.needs != nil {
			entry["dependencies"] = p.needs
		}
		if p.peers != nil {
			entry["peerDependencies"] = p.peers
		}
		path := name
		if !strings.Contains(name, "node_modules/") {
			path = "node_modules/" + name
		}
		packages[path] = entry
	}
	return render(map[string]any{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": packages})
}

func render(v any) string {
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(out) + "\n"
}

// story is a repository with bot branches, told step by step.
type story struct {
	*gittest.Repo
	t *testing.T
}

func newStory(t *testing.T, base gittest.Files) *story {
	t.Helper()
	s := &story{gittest.New(t), t}
	s.Commit("main", "", base)
	return s
}

// bot makes a dependabot branch on top of main, or of the commit in options.
func (s *story) bot(branch, title string, files gittest.Files, options ...gittest.Option) git.ID {
	s.t.Helper()
	return s.botOn("main", branch, title, files, options...)
}

func (s *story) botOn(parent, branch, title string, files gittest.Files, options ...gittest.Option) git.ID {
	s.t.Helper()
	return s.Commit("dependabot/"+branch, parent, files, append([]gittest.Option{
		gittest.Author(gittest.Dependabot), gittest.Message(title + "\n\nbody\n"),
	}, options...)...)
}

func (s *story) run(o consolidate.Options) *consolidate.Result {
	s.t.Helper()
	res, err := consolidate.Run(s.t.Context(), s.Dir, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// refused runs and returns the refusal's words.
func (s *story) refused(o consolidate.Options) string {
	s.t.Helper()
	before := s.refs()
	_, err := consolidate.Run(s.t.Context(), s.Dir, o)
	if err == nil {
		s.t.Fatal("not refused")
	}
	if after := s.refs(); after != before {
		s.t.Errorf("a refusal changed the clone:\n%s\n%s", before, after)
	}
	return err.Error()
}

func (s *story) refs() string {
	return s.Git("for-each-ref", "--format=%(refname) %(objectname)") + s.Git("rev-parse", "--symbolic-full-name", "HEAD")
}

// result reads a file of the result.
func (s *story) result(path string) string {
	s.t.Helper()
	return s.Read(consolidate.DefaultInto, path)
}

// outcomes is every branch's outcome and reason, without dependabot/.
func outcomes(r *consolidate.Result) map[string]string {
	out := map[string]string{}
	for _, p := range r.PullRequests {
		o := string(p.Outcome)
		if p.ReasonCode != "" {
			o += " " + string(p.ReasonCode)
		}
		out[strings.TrimPrefix(p.Branch, "dependabot/")] = o
	}
	return out
}

func wantOutcomes(t *testing.T, r *consolidate.Result, want map[string]string) {
	t.Helper()
	got := outcomes(r)
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		t.Logf("%s: %s (want %s)", k, got[k], want[k])
	}
	for _, p := range r.PullRequests {
		if p.Reason != "" {
			t.Logf("%s: %s", p.Branch, p.Reason)
		}
	}
	t.Fatalf("outcomes differ, want %v", want)
}

func reasonOf(t *testing.T, r *consolidate.Result, branch string) consolidate.PullRequest {
	t.Helper()
	for _, p := range r.PullRequests {
		if p.Branch == "dependabot/"+branch {
			return p
		}
	}
	t.Fatalf("no pull request %s", branch)
	return consolidate.PullRequest{}
}

// locked is the version of each package of a package-lock.json, by path.
func locked(t *testing.T, text string) map[string]string {
	t.Helper()
	var v struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, p := range v.Packages {
		if k != "" {
			out[strings.TrimPrefix(k, "node_modules/")] = p.Version
		}
	}
	return out
}
