package fakegithub_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
	"github.com/bailiff-bot/bailiff/internal/fakegithub/contract"
)

// appKey is one key for all Apps of the tests: making one takes a while.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// everything is what the App of the tests may do unless a test says otherwise.
var everything = map[string]string{
	"administration": "write", "checks": "write", "contents": "write", "issues": "write", "metadata": "read",
	"pull_requests": "write", "statuses": "write", "workflows": "write",
}

var events = []string{
	"check_run", "check_suite", "create", "delete", "issue_comment", "issues", "pull_request", "pull_request_review", "push", "repository", "status",
}

// clock is the machine's, moved by a test: JWTs of ghinstallation know no other.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

const repo = "acme/widgets"

// stage is a GitHub with an App on the organisation acme, which has one repository.
type stage struct {
	*fakegithub.Server
	t            testing.TB
	clock        *clock
	app          fakegithub.App
	installation int64
	// github is a client with the installation's token, asApp one with the App's JWT.
	github, asApp *github.Client
}

func newStage(t testing.TB, change ...func(*fakegithub.Options, *fakegithub.AppSpec, *fakegithub.RepositorySpec)) *stage {
	t.Helper()
	clk := &clock{}
	options := fakegithub.Options{Dir: t.TempDir(), Clock: clk.now}
	app := fakegithub.AppSpec{Name: "Bailiff Test", Owner: "acme", Events: events, Permissions: everything, Key: appKey()}
	spec := fakegithub.RepositorySpec{
		Name: repo, Private: true, Roles: map[string]string{"ann": "maintain", "bob": "read"},
		Files: map[string]string{"README.md": "widgets\n", "go.mod": "module widgets\n"},
	}
	for _, f := range change {
		f(&options, &app, &spec)
	}
	s, err := fakegithub.New(options)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	st := &stage{Server: s, t: t, clock: clk}
	must(t, s.Organization("acme", "ann"))
	must(t, s.User("dependabot[bot]"))
	must(t, s.Repository(spec))
	st.app, err = s.App(app)
	must(t, err)
	st.installation, err = s.Install(st.app.ID, "acme")
	must(t, err)
	st.github, st.asApp = st.clients(contract.Transport(t, nil))
	return st
}

// clients are a client as the installation and one as the App.
func (s *stage) clients(through http.RoundTripper) (installed, app *github.Client) {
	s.t.Helper()
	asApp, err := ghinstallation.NewAppsTransport(through, s.app.ID, s.app.Key)
	must(s.t, err)
	asApp.BaseURL = strings.TrimSuffix(s.APIURL(), "/")
	asInstallation := ghinstallation.NewFromAppsTransport(asApp, s.installation)
	client := func(rt http.RoundTripper) *github.Client {
		c, err := github.NewClient(&http.Client{Transport: rt}).WithEnterpriseURLs(s.APIURL(), s.APIURL())
		must(s.t, err)
		return c
	}
	return client(asInstallation), client(asApp)
}

// propose makes a branch with one change and a pull request of it.
func (s *stage) propose(branch string, files map[string]string) int {
	s.t.Helper()
	_, err := s.Commit(repo, fakegithub.CommitSpec{Branch: branch, Files: files, As: "dependabot[bot]", Message: "Bump " + branch})
	must(s.t, err)
	n, err := s.OpenPullRequest(repo, fakegithub.PullSpec{As: "dependabot[bot]", Head: branch, Title: "Bump " + branch, Body: "Bumps it."})
	must(s.t, err)
	return n
}

func (s *stage) branch(name string) string {
	s.t.Helper()
	sha, err := s.Branch(repo, name)
	must(s.t, err)
	return sha
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// status wants an answer of GitHub's that is an error, with a word in it.
func status(t testing.TB, err error, code int, word string) {
	t.Helper()
	var answer *github.ErrorResponse
	var limited *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	switch {
	case errors.As(err, &answer):
		if answer.Response.StatusCode == code && strings.Contains(err.Error(), word) {
			return
		}
	case errors.As(err, &limited):
		if limited.Response.StatusCode == code && strings.Contains(limited.Message, word) {
			return
		}
	case errors.As(err, &abuse):
		if abuse.Response.StatusCode == code && strings.Contains(abuse.Message, word) {
			return
		}
	}
	t.Errorf("want %d with %q, got %v", code, word, err)
}

func ctx(t testing.TB) context.Context { return t.Context() }
