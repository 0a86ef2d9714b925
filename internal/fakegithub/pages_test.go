package fakegithub_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

// Whatever a repository says is text on the pages, and no script may run.
func TestPagesShowHostileTextAsText(t *testing.T) {
	s := newStage(t)
	const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>"'`
	number := s.propose("bump", map[string]string{"a<b>.txt": evil + "\n"})
	_, _, err := s.github.PullRequests.Edit(ctx(t), "acme", "widgets", number, &github.PullRequest{Title: github.String(evil), Body: github.String(evil)})
	must(t, err)
	must(t, s.Label(repo, number, "ann", evil))
	_, err = s.Comment(repo, number, "bob", evil)
	must(t, err)
	run, _, err := s.github.Checks.CreateCheckRun(ctx(t), "acme", "widgets", github.CreateCheckRunOptions{
		Name: evil, HeadSHA: s.branch("bump"), ExternalID: github.String("t_1"), Conclusion: github.String("neutral"), Output: &github.CheckRunOutput{
			Title: github.String(evil), Summary: github.String(evil), Text: github.String(evil),
			Annotations: []*github.CheckRunAnnotation{{Path: github.String(evil), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("warning"), Message: github.String(evil)}},
		},
	})
	must(t, err)
	for path, words := range map[string][]string{
		"/":                    {"acme/widgets", "1 open"},
		"/acme/widgets":        {"#1", "bump"},
		"/acme/widgets/pull/1": {"wants to merge", "a&lt;b&gt;.txt", "It can be merged", "bob"},
		"/acme/widgets/runs/" + strings.TrimPrefix(run.GetHTMLURL(), s.URL()+"/acme/widgets/runs/"): {"neutral", "t_1"},
		"/acme/widgets/commit/" + s.branch("bump"):                                                  {"dependabot[bot]"},
	} {
		code, body, header := s.ask("GET", path, "", "")
		if code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
		for _, w := range append(words, "<!doctype html>") {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %q", path, w)
			}
		}
		if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
			t.Errorf("%s has what the repository wrote as markup", path)
		}
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	for _, path := range []string{"/acme/none", "/acme/widgets/pull/9", "/acme/widgets/runs/9", "/acme/widgets/commit/nothing", "/apps/none/installations/new"} {
		if code, _, _ := s.ask("GET", path, "", ""); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// From a manifest to an App: the form, the button, the code, the secrets, once.
func TestManifestFlow(t *testing.T) {
	s := newStage(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	manifest, err := json.Marshal(map[string]any{
		"name": "Bailiff <b>", "url": "https://example.com", "redirect_url": "http://127.0.0.1:4567/callback", "hook_attributes": map[string]string{"url": "http://127.0.0.1:4567/hook"},
		"default_events": []string{"push"}, "default_permissions": map[string]string{"checks": "write"},
	})
	must(t, err)
	post := func(path string, form url.Values, from string) (int, http.Header) {
		req, err := http.NewRequestWithContext(ctx(t), http.MethodPost, s.URL()+path, strings.NewReader(form.Encode()))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", from)
		resp, err := client.Do(req)
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	form := url.Values{"manifest": {string(manifest)}, "state": {"s1"}}
	code, header := post("/organizations/acme/settings/apps/new", form, "cross-site")
	if code != http.StatusOK || !strings.Contains(header.Get("Content-Security-Policy"), "form-action 'self' http://127.0.0.1:4567") {
		t.Fatalf("the form: %d %v", code, header)
	}
	const confirm = "/organizations/acme/settings/apps/new/confirm"
	if code, _ := post(confirm, form, "cross-site"); code != http.StatusForbidden {
		t.Errorf("another site presses the button: %d", code)
	}
	code, header = post(confirm, form, "same-origin")
	to, err := url.Parse(header.Get("Location"))
	must(t, err)
	if code != http.StatusFound || to.Host != "127.0.0.1:4567" || to.Query().Get("state") != "s1" {
		t.Fatalf("the button: %d %v", code, to)
	}
	word := to.Query().Get("code")
	app, _, err := s.github.Apps.CompleteAppManifest(ctx(t), word)
	must(t, err)
	if app.GetSlug() != "bailiff-b" || app.GetPEM() == "" || app.GetWebhookSecret() == "" || app.GetClientSecret() == "" || app.GetOwner().GetLogin() != "acme" {
		t.Errorf("app: %v", app)
	}
	_, _, err = s.github.Apps.CompleteAppManifest(ctx(t), word)
	status(t, err, 404, "Not Found")
	if code, _ := post("/apps/bailiff-b/installations/new", url.Values{"account": {"acme"}}, "same-origin"); code != http.StatusSeeOther {
		t.Errorf("install: %d", code)
	}
	bad := url.Values{"manifest": {`{"name":"x","url":"https://example.com","redirect_url":"javascript:alert(1)"}`}}
	if code, _ := post("/settings/apps/new", bad, "cross-site"); code != http.StatusUnprocessableEntity {
		t.Errorf("a bad manifest: %d", code)
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:80", "nonsense"} {
		if s, err := fakegithub.New(fakegithub.Options{Addr: addr}); err == nil {
			t.Errorf("%s: served at %s", addr, s.URL())
			must(t, s.Close())
		}
	}
}

func TestOtherHostsAreTurnedAway(t *testing.T) {
	s := newStage(t)
	for host, want := range map[string]int{"": 200, "localhost:80": 200, "evil.example:80": 421, "evil.example": 421} {
		req, err := http.NewRequestWithContext(ctx(t), http.MethodGet, s.URL(), nil)
		must(t, err)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d", host, resp.StatusCode)
		}
	}
}
