package fakegithub_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

func TestFaults(t *testing.T) {
	s := newStage(t)
	token := "token " + s.token(nil)
	const path = "/repos/acme/widgets/issues/1/comments"
	const route = "POST /repos/*/comments"
	number := s.propose("bump", map[string]string{"a": "1"})
	post := func() (int, http.Header) {
		code, _, header := s.ask("POST", path, token, `{"body":"hi"}`)
		return code, header
	}
	for name, c := range map[string]struct {
		fault  fakegithub.Fault
		status int
		header map[string]string
	}{
		"502":                 {fakegithub.Fault{Kind: fakegithub.BadGateway}, 502, nil},
		"secondary limit":     {fakegithub.Fault{Kind: fakegithub.SecondaryLimit}, 403, map[string]string{"Retry-After": "60", "X-RateLimit-Remaining": "4000"}},
		"its own Retry-After": {fakegithub.Fault{Kind: fakegithub.SecondaryLimit, RetryAfter: 5 * time.Second}, 403, map[string]string{"Retry-After": "5"}},
		"429":                 {fakegithub.Fault{Kind: fakegithub.TooManyRequests, RetryAfter: -1}, 429, map[string]string{"Retry-After": ""}},
		"a lagging replica":   {fakegithub.Fault{Kind: fakegithub.NotThereYet}, 404, map[string]string{"Retry-After": ""}},
		"primary limit":       {fakegithub.Fault{Kind: fakegithub.PrimaryLimit}, 403, map[string]string{"Retry-After": "", "X-RateLimit-Remaining": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.fault.Route = route
			must(t, s.Inject(c.fault))
			before, err := s.Comments(repo, number)
			must(t, err)
			code, header := post()
			if code != c.status {
				t.Errorf("answered %d, want %d", code, c.status)
			}
			for k, want := range c.header {
				if header.Get(k) != want {
					t.Errorf("%s: %q, want %q", k, header.Get(k), want)
				}
			}
			after, err := s.Comments(repo, number)
			must(t, err)
			if len(after) != len(before) {
				t.Error("it had an effect")
			}
			if code, _ := post(); code != 201 {
				t.Errorf("the second request: %d", code)
			}
		})
	}
	t.Run("after some", func(t *testing.T) {
		must(t, s.Inject(fakegithub.Fault{Route: route, Kind: fakegithub.BadGateway, Skip: 1, Count: 2}))
		var got []int
		for range 4 {
			code, _ := post()
			got = append(got, code)
		}
		if want := [4]int{201, 502, 502, 201}; [4]int(got) != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
	t.Run("no such route", func(t *testing.T) {
		if err := s.Inject(fakegithub.Fault{Route: "POST /nowhere", Kind: fakegithub.BadGateway}); err == nil {
			t.Error("injected")
		}
	})
}

// An answer that is lost after the effect leaves one comment and no answer.
func TestAnswerLost(t *testing.T) {
	s := newStage(t)
	number := s.propose("bump", map[string]string{"a": "1"})
	must(t, s.Inject(fakegithub.Fault{Route: "POST /repos/*/comments", Kind: fakegithub.AnswerLost}))
	must(t, s.Inject(fakegithub.Fault{Route: "POST *git-receive-pack", Kind: fakegithub.AnswerLost}))
	_, _, err := s.github.Issues.CreateComment(ctx(t), "acme", "widgets", number, &github.IssueComment{Body: github.String("hi")})
	var answer *github.ErrorResponse
	if err == nil || errors.As(err, &answer) {
		t.Errorf("want a lost connection, got %v", err)
	}
	list, err := s.Comments(repo, number)
	must(t, err)
	if len(list) != 1 {
		t.Errorf("%d comments", len(list))
	}
	must(t, s.Inject(fakegithub.Fault{Route: "PUT /repos/*/merge", Kind: fakegithub.BadGatewayAfter}))
	_, _, err = s.github.PullRequests.Merge(ctx(t), "acme", "widgets", number, "", nil)
	status(t, err, 502, "")
	pulls, err := s.PullRequests(repo)
	must(t, err)
	if pulls[0].State != "merged" {
		t.Errorf("after a 502 that came late: %s", pulls[0].State)
	}
	u := s.clone(s.token(nil))
	u.write("file", []byte("text\n"))
	if out, err := u.run("push", "origin", "HEAD:x"); err == nil {
		t.Errorf("pushed: %s", out)
	}
	if s.branch("x") != u.git("rev-parse", "HEAD") {
		t.Error("the push had no effect")
	}
}

func TestSlowAnswer(t *testing.T) {
	s := newStage(t)
	until := make(chan struct{})
	must(t, s.Inject(fakegithub.Fault{Route: "GET /repos/{owner}/{repo}", Kind: fakegithub.Slow, Until: until}))
	must(t, s.Inject(fakegithub.Fault{Route: "GET /repos/{owner}/{repo}", Kind: fakegithub.Slow}))
	done := make(chan error)
	go func() {
		_, _, err := s.github.Repositories.Get(ctx(t), "acme", "widgets")
		done <- err
	}()
	close(until)
	must(t, <-done)
	c, cancel := context.WithTimeout(ctx(t), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.github.Repositories.Get(c, "acme", "widgets"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want a time-out, got %v", err)
	}
}

func TestQuota(t *testing.T) {
	s := newStage(t)
	_, resp, err := s.github.Repositories.Get(ctx(t), "acme", "widgets")
	must(t, err)
	if resp.Rate.Limit != 5000 || resp.Rate.Remaining != 4999 {
		t.Errorf("rate: %v", resp.Rate)
	}
	token := "token " + s.token(nil)
	req := func(etag string) (int, string) {
		r, err := http.NewRequestWithContext(ctx(t), http.MethodGet, s.URL()+"/repos/acme/widgets", nil)
		must(t, err)
		r.Header.Set("Authorization", token)
		r.Header.Set("If-None-Match", etag)
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("ETag")
	}
	_, etag := req("")
	if code, _ := req(etag); code != http.StatusNotModified {
		t.Errorf("unchanged: %d", code)
	}
	token = "token " + s.token(nil)
	if code, _ := req(etag); code != http.StatusOK {
		t.Errorf("another token, unchanged: %d", code)
	}
	limits, _, err := s.github.RateLimit.Get(ctx(t))
	must(t, err)
	if limits.Core.Remaining != 4997 { // 304 is free
		t.Errorf("remaining: %v", limits.Core)
	}
	must(t, s.ExhaustQuota(s.installation))
	_, _, err = s.github.Repositories.Get(ctx(t), "acme", "widgets")
	status(t, err, 403, "API rate limit exceeded for installation ID")
	s.clock.advance(time.Hour)
	code, _, _ := s.ask("GET", "/repos/acme/widgets", "token "+s.token2(), "")
	if code != 200 {
		t.Errorf("an hour later: %d", code)
	}
}

// token2 is a token by a JWT of the moved clock.
func (s *stage) token2() string {
	s.t.Helper()
	now := s.clock.now().Unix()
	code, body, _ := s.ask("POST", "/app/installations/"+strconv.FormatInt(s.installation, 10)+"/access_tokens", "Bearer "+jwt(s.t, "RS256", map[string]any{"iss": s.app.ID, "iat": now, "exp": now + 60}), "")
	if code != 201 {
		s.t.Fatalf("%d %s", code, body)
	}
	_, rest, _ := strings.Cut(body, `"token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

func TestRequestsAreCounted(t *testing.T) {
	s := newStage(t)
	s.propose("bump", map[string]string{"a": "1"})
	s.ResetRequests()
	_, _, err := s.github.PullRequests.Get(ctx(t), "acme", "widgets", 1)
	must(t, err)
	s.ask("GET", "/repos/acme/widgets/nothing", "", "")
	s.clone(s.token(nil))
	counts := s.RequestsByRoute()
	for route, want := range map[string]int{
		"GET /repos/{owner}/{repo}/pulls/{number}": 1, "unknown": 1, "POST /app/installations/{installation_id}/access_tokens": 2,
		"GET /{owner}/{repo}.git/info/refs": 1,
	} {
		if counts[route] != want {
			t.Errorf("%s: %d, want %d", route, counts[route], want)
		}
	}
	api := 0
	for _, r := range s.Requests() {
		if !r.Git() {
			api++
		}
		if strings.HasPrefix(r.Route, "GET /repos/") && (r.Status != 200 || r.Installation != s.installation) {
			t.Errorf("%+v", r)
		}
	}
	if api != 4 {
		t.Errorf("%d of the API", api)
	}
}
