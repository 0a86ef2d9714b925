package fakegithub_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

// token is an installation token for git.
func (s *stage) token(o *github.InstallationTokenOptions) string {
	s.t.Helper()
	token, _, err := s.asApp.Apps.CreateInstallationToken(ctx(s.t), s.installation, o)
	must(s.t, err)
	return token.GetToken()
}

// user is git as somebody runs it, with a token in a header from the environment.
type user struct {
	t     testing.TB
	dir   string
	token string
}

func (u user) run(args ...string) (string, error) {
	u.t.Helper()
	cmd := exec.CommandContext(ctx(u.t), "git", args...)
	cmd.Dir = u.dir
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + u.token))
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	if u.token != "" {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+basic)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (u user) git(args ...string) string {
	u.t.Helper()
	out, err := u.run(args...)
	if err != nil {
		u.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func (s *stage) clone(token string) user {
	s.t.Helper()
	dir := filepath.Join(s.t.TempDir(), "clone")
	user{s.t, s.t.TempDir(), token}.git("clone", "--quiet", s.URL()+"/"+repo+".git", dir)
	return user{s.t, dir, token}
}

func (u user) write(name string, data []byte) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	must(u.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(u.t, os.WriteFile(path, data, 0o644))
	u.git("add", "--all")
	u.git("commit", "--quiet", "--message=Write "+name)
}

// A push of more than 1 MiB is chunked.
func TestCloneAndPush(t *testing.T) {
	s := newStage(t)
	number := s.propose("bump", map[string]string{"go.sum": "one\n"})
	u := s.clone(s.token(nil))
	u.git("checkout", "--quiet", "bump")
	noise := rand.NewChaCha8([32]byte{1})
	big := make([]byte, 3<<20)
	noise.Read(big)
	u.write("big.bin", big)
	u.git("push", "--quiet", "origin", "bump", "bump:copy")
	head := u.git("rev-parse", "HEAD")
	if s.branch("bump") != head || s.branch("copy") != head {
		t.Errorf("pushed %s, branches are at %s and %s", head, s.branch("bump"), s.branch("copy"))
	}
	list, err := s.PullRequests(repo)
	must(t, err)
	if list[number-1].HeadSHA != head {
		t.Errorf("the pull request stays at %s", list[number-1].HeadSHA)
	}
	again := s.clone(s.token(nil))
	if got := again.git("rev-parse", "origin/bump", "origin/main"); got != head+"\n"+s.branch("main") {
		t.Errorf("a second clone has %q", got)
	}
	if got := again.git("ls-remote", "origin", "refs/pull/*"); !strings.HasPrefix(got, head) {
		t.Errorf("refs/pull: %q", got)
	}
	u.git("push", "--quiet", "--delete", "origin", "copy")
	if s.branch("copy") != "" {
		t.Error("the deleted branch is there")
	}
}

func TestPushesThatGitHubRefuses(t *testing.T) {
	checks := &fakegithub.Protection{RequiredChecks: []string{"test"}}
	for name, c := range map[string]struct {
		token   *github.InstallationTokenOptions
		prepare func(s *stage)
		file    string
		push    []string
		amend   bool
		want    string
	}{
		"without contents: write": {
			token: &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("read")}},
			push:  []string{"HEAD:x"}, want: "Write access to repository not granted",
		},
		"an archived repository": {prepare: func(s *stage) { must(s.t, s.Archive(repo, true)) }, push: []string{"HEAD:x"}, want: "archived so it is read-only"},
		"an expired token":       {prepare: func(s *stage) { s.clock.advance(time.Hour + time.Second) }, push: []string{"HEAD:x"}, want: "could not read Username"},
		"a suspended App":        {prepare: func(s *stage) { must(s.t, s.Suspend(s.installation)) }, push: []string{"HEAD:x"}, want: "suspended"},
		"a required check": {
			prepare: func(s *stage) { must(s.t, s.Protect(repo, "main", checks)) },
			push:    []string{"HEAD:main"}, want: `Required status check "test" is expected.`,
		},
		"required signatures": {
			prepare: func(s *stage) { must(s.t, s.Protect(repo, "main", &fakegithub.Protection{RequiredSignatures: true})) },
			push:    []string{"HEAD:main"}, want: "protected branch hook declined",
		},
		"a force push to a protected branch": {
			prepare: func(s *stage) { must(s.t, s.Protect(repo, "main", &fakegithub.Protection{})) },
			push:    []string{"+HEAD:refs/heads/main"}, amend: true, want: "Cannot force-push to this branch",
		},
		"a hidden reference": {push: []string{"HEAD:refs/pull/1/head"}, want: "deny updating a hidden ref"},
		"a workflow without its permission": {
			token: &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("write")}},
			file:  ".github/workflows/ci.yml", push: []string{"HEAD:x"}, want: "without `workflows` permission",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			u := s.clone(s.token(c.token))
			if c.file == "" {
				c.file = "file"
			}
			u.write(c.file, []byte("text\n"))
			if c.amend {
				u.git("reset", "--quiet", "--soft", "HEAD^")
				u.git("commit", "--quiet", "--amend", "--message=Other history")
			}
			if c.prepare != nil {
				c.prepare(s)
			}
			before := s.branch("main")
			out, err := u.run(append([]string{"push", "origin"}, c.push...)...)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("want %q, got %v: %s", c.want, err, out)
			}
			if s.branch("x") != "" || s.branch("main") != before {
				t.Error("something was pushed")
			}
		})
	}
}

func TestWhoMayClone(t *testing.T) {
	s := newStage(t)
	must(t, s.User("mallory"))
	mallory, err := s.UserToken("mallory")
	must(t, err)
	bob, err := s.UserToken("bob")
	must(t, err)
	must(t, s.Repository(fakegithub.RepositorySpec{Name: "acme/open", Files: map[string]string{"a": "b"}}))
	for name, c := range map[string]struct{ token, repo, want string }{
		"nobody, a private one":           {"", repo, "could not read Username"},
		"nobody, a public one":            {"", "acme/open", ""},
		"a stranger, a private one":       {mallory, repo, "not found"},
		"a reader":                        {bob, repo, ""},
		"a token of other repositories":   {s.token(&github.InstallationTokenOptions{Repositories: []string{"open"}}), repo, "not found"},
		"nobody, one that is not there":   {"", "acme/none", "could not read Username"},
		"a reader, one that is not there": {bob, "acme/none", "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := user{t, t.TempDir(), c.token}.run("ls-remote", s.URL()+"/"+c.repo+".git")
			if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("want %q, got %v: %s", c.want, err, out)
			}
		})
	}
	must(t, s.Rename(repo, "gadgets"))
	u := user{t, t.TempDir(), bob}
	if out := u.git("clone", "--quiet", s.URL()+"/"+repo+".git", "old"); strings.Contains(out, "fatal") {
		t.Error(out)
	}
}

// What a client sends in one push, the server does not hold in memory, nor does it
// leave it behind.
func TestPushLeavesNoSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newStage(t)
	u := s.clone(s.token(nil))
	u.write("file", []byte("text\n"))
	u.git("push", "--quiet", "origin", "HEAD:x")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "fakegithub-body-*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	c, cancel := context.WithTimeout(ctx(t), time.Minute)
	defer cancel()
	must(t, s.WaitDeliveries(c))
}
