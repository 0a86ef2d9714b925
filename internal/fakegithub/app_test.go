package fakegithub_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

// jwt signs claims by hand, so that they can be wrong.
func jwt(t testing.TB, alg string, claims map[string]any) string {
	t.Helper()
	part := func(v any) string {
		data, err := json.Marshal(v)
		must(t, err)
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]string{"alg": alg, "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, appKey(), crypto.SHA256, sum[:])
	must(t, err)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// ask sends a request with an authorisation of choice and gives status and body.
func (s *stage) ask(method, path, authorization, body string) (int, string, http.Header) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx(s.t), method, s.URL()+path, strings.NewReader(body))
	must(s.t, err)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return resp.StatusCode, string(data), resp.Header
}

func TestJWT(t *testing.T) {
	s := newStage(t)
	now := s.clock.now().Unix()
	good := map[string]any{"iss": s.app.ID, "iat": now - 30, "exp": now + 590}
	with := func(key string, value any) map[string]any {
		claims := map[string]any{}
		for k, v := range good {
			claims[k] = v
		}
		if claims[key] = value; value == nil {
			delete(claims, key)
		}
		return claims
	}
	tampered := strings.Split(jwt(t, "RS256", good), ".")
	tampered[1] = base64.RawURLEncoding.EncodeToString([]byte(`{"iss":1,"iat":1,"exp":99999999999}`))
	for name, c := range map[string]struct {
		token  string
		status int
		word   string
	}{
		"good":                       {jwt(t, "RS256", good), 200, "Bailiff Test"},
		"a string for the issuer":    {jwt(t, "RS256", with("iss", "1")), 404, "Integration not found"},
		"HS256":                      {jwt(t, "HS256", good), 401, "could not be decoded"},
		"none":                       {jwt(t, "none", good), 401, "could not be decoded"},
		"no issuer":                  {jwt(t, "RS256", with("iss", nil)), 404, "Integration not found"},
		"another's":                  {strings.Join(tampered, "."), 404, "Integration not found"},
		"expired":                    {jwt(t, "RS256", with("exp", now-1)), 401, "future time"},
		"no expiry":                  {jwt(t, "RS256", with("exp", nil)), 401, "'exp'"},
		"eleven minutes":             {jwt(t, "RS256", with("exp", now+660)), 401, "too far in the future"},
		"issued in the future":       {jwt(t, "RS256", with("iat", now+60)), 401, "'Issued at'"},
		"an installation's token":    {s.token(nil), 401, "could not be decoded"},
		"a signature of other words": {jwt(t, "RS256", good)[:40] + "A" + jwt(t, "RS256", good)[41:], 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, body, _ := s.ask("GET", "/app", "Bearer "+c.token, "")
			if c.status == 0 {
				if code == http.StatusOK {
					t.Error("accepted")
				}
				return
			}
			if code != c.status || !strings.Contains(body, c.word) {
				t.Errorf("%d %s, want %d with %q", code, body, c.status, c.word)
			}
		})
	}
}

func TestInstallationTokens(t *testing.T) {
	s := newStage(t)
	must(t, s.Repository(fakegithub.RepositorySpec{Name: "acme/other", Private: true, Files: map[string]string{"a": "b"}}))
	get := func(token, path string) int {
		code, _, _ := s.ask("GET", "/repos/"+path, "token "+token, "")
		return code
	}
	all := s.token(nil)
	narrow := s.token(&github.InstallationTokenOptions{Repositories: []string{"widgets"}, Permissions: &github.InstallationPermissions{PullRequests: github.String("read")}})
	for path, want := range map[string][2]int{
		"acme/widgets": {200, 200}, "acme/other": {200, 404}, "acme/widgets/pulls": {200, 200}, "acme/widgets/commits": {200, 403}, "acme/none": {404, 404},
	} {
		if got := [2]int{get(all, path), get(narrow, path)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	list, _, err := s.github.Apps.ListRepos(ctx(t), nil)
	must(t, err)
	if list.GetTotalCount() != 2 {
		t.Errorf("%d repositories", list.GetTotalCount())
	}
	for _, o := range []*github.InstallationTokenOptions{
		{Repositories: []string{"none"}}, {RepositoryIDs: []int64{1}}, {Permissions: &github.InstallationPermissions{Secrets: github.String("read")}},
	} {
		_, _, err := s.asApp.Apps.CreateInstallationToken(ctx(t), s.installation, o)
		status(t, err, 422, "")
	}
	_, _, err = s.asApp.Apps.CreateInstallationToken(ctx(t), 1, nil)
	status(t, err, 404, "")

	s.clock.advance(time.Hour - time.Second)
	if got := get(all, "acme/widgets"); got != 200 {
		t.Errorf("a second before its end: %d", got)
	}
	s.clock.advance(time.Second)
	if got := get(all, "acme/widgets"); got != 401 {
		t.Errorf("after an hour: %d", got)
	}
	s.clock.advance(-time.Hour)
	must(t, s.ExpireTokens(s.installation))
	if got := get(narrow, "acme/widgets"); got != 401 {
		t.Errorf("after all expired: %d", got)
	}
	again := s.token(nil)
	must(t, s.Suspend(s.installation))
	if code, body, _ := s.ask("GET", "/repos/acme/widgets", "token "+again, ""); code != 403 || !strings.Contains(body, "suspended") {
		t.Errorf("suspended: %d %s", code, body)
	}
	_, _, err = s.asApp.Apps.CreateInstallationToken(ctx(t), s.installation, nil)
	status(t, err, 403, "suspended")
	must(t, s.Unsuspend(s.installation))
	if got := get(again, "acme/widgets"); got != 200 {
		t.Errorf("unsuspended: %d", got)
	}
	must(t, s.Uninstall(s.installation))
	if got := get(again, "acme/widgets"); got != 401 {
		t.Errorf("uninstalled: %d", got)
	}
	_, _, err = s.asApp.Apps.CreateInstallationToken(ctx(t), s.installation, nil)
	status(t, err, 404, "")
}

func TestAppSeesItsInstallations(t *testing.T) {
	s := newStage(t)
	list, _, err := s.asApp.Apps.ListInstallations(ctx(t), nil)
	must(t, err)
	found, _, err := s.asApp.Apps.FindRepositoryInstallation(ctx(t), "acme", "widgets")
	must(t, err)
	owner, _, err := s.asApp.Apps.FindOrganizationInstallation(ctx(t), "acme")
	must(t, err)
	if len(list) != 1 || list[0].GetID() != s.installation || found.GetID() != s.installation || owner.GetID() != s.installation {
		t.Errorf("%v, %v, %v", list, found, owner)
	}
	if member, _, err := s.github.Organizations.IsMember(ctx(t), "acme", "ann"); member {
		t.Errorf("members without the permission: %v", err)
	}
	must(t, s.SetPermissions(s.installation, map[string]string{"members": "read"}))
	token := "token " + s.token(nil)
	for login, want := range map[string]int{"ann": 204, "bob": 404} {
		if code, body, _ := s.ask("GET", "/orgs/acme/members/"+login, token, ""); code != want {
			t.Errorf("%s: %d %s", login, code, body)
		}
	}
	config, _, err := s.asApp.Apps.UpdateHookConfig(ctx(t), &github.HookConfig{URL: github.String("http://127.0.0.1:9/"), Secret: github.String("s")})
	must(t, err)
	if config.GetURL() != "http://127.0.0.1:9/" || config.GetSecret() != "********" {
		t.Errorf("config: %v", config)
	}
}

// bodies are requests that a route takes, so that only the permission can stand
// against it. Most do not need one.
var arguments = strings.NewReplacer(
	"{owner}", "acme", "{repo}", "widgets", "{number}", "1", "{branch...}", "main", "{ref...}", "heads/main", "{ref}", "main", "{path...}", "README.md",
	"{username}", "ann", "{name}", "bug", "{sha...}", "main", "{sha}", "main", "{basehead...}", "main...main",
	"{comment_id}", "1", "{reaction_id}", "1", "{check_run_id}", "1", "{check_suite_id}", "1",
)

// Every route on a repository refuses a token without its permission, with the answer
// that names what it takes, and no route is forgotten.
func TestEveryRouteNeedsItsPermission(t *testing.T) {
	s := newStage(t)
	s.propose("bump", map[string]string{"a": "1"})
	powerless := s.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Metadata: github.String("read")}})
	open := []string{ // metadata: read is enough
		"GET /repos/{owner}/{repo}", "GET /repos/{owner}/{repo}/rules/branches/{branch...}",
		"GET /repos/{owner}/{repo}/collaborators/{username}", "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
	}
	n := 0
	for _, route := range s.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if !strings.HasPrefix(pattern, "/repos/") || pattern == "/repos/{owner}/{repo}/installation" {
			continue
		}
		n++
		code, body, header := s.ask(method, arguments.Replace(pattern), "token "+powerless, "{}")
		if slices.Contains(open, route) {
			if code >= 300 {
				t.Errorf("%s: %d %s", route, code, body)
			}
			continue
		}
		if code != http.StatusForbidden || !strings.Contains(body, "Resource not accessible by integration") || header.Get("X-Accepted-GitHub-Permissions") == "" {
			t.Errorf("%s: %d %s", route, code, body)
		}
		if code, _, _ := s.ask(method, arguments.Replace(pattern), "", "{}"); code != http.StatusNotFound {
			t.Errorf("%s without a token: %d", route, code)
		}
	}
	if n < 70 {
		t.Errorf("only %d routes", n)
	}
}

// People have roles where Apps have permissions.
func TestRoles(t *testing.T) {
	s := newStage(t)
	number := s.propose("bump", map[string]string{"a": "1"})
	must(t, s.User("mallory"))
	tokens := map[string]string{}
	for _, who := range []string{"ann", "bob", "mallory"} {
		token, err := s.UserToken(who)
		must(t, err)
		tokens[who] = "token " + token
	}
	for _, c := range []struct {
		who, method, path, body string
		want                    int
	}{
		{"bob", "GET", "/repos/acme/widgets/pulls/1", "", 200},
		{"bob", "POST", "/repos/acme/widgets/issues/1/comments", `{"body":"hi"}`, 201},
		{"bob", "PUT", "/repos/acme/widgets/pulls/1/merge", "", 403},
		{"ann", "PUT", "/repos/acme/widgets/contents/x", `{"message":"x","content":"eA=="}`, 201},
		{"ann", "PUT", "/repos/acme/widgets/branches/main/protection", "{}", 403},
		{"ann", "POST", "/repos/acme/widgets/check-runs", "{}", 403},
		{"mallory", "GET", "/repos/acme/widgets", "", 404},
	} {
		if code, body, _ := s.ask(c.method, c.path, tokens[c.who], c.body); code != c.want {
			t.Errorf("%s %s %s: %d %s", c.who, c.method, c.path, code, body)
		}
	}
	for login, want := range map[string][2]string{"ann": {"write", "maintain"}, "bob": {"read", "read"}, "mallory": {"none", "none"}, "acme": {"admin", "admin"}} {
		req, err := s.github.NewRequest("GET", "repos/acme/widgets/collaborators/"+login+"/permission", nil)
		must(t, err)
		var got struct {
			Permission string `json:"permission"`
			RoleName   string `json:"role_name"`
		}
		_, err = s.github.Do(ctx(t), req, &got)
		must(t, err)
		if [2]string{got.Permission, got.RoleName} != want {
			t.Errorf("%s: %v, want %v", login, got, want)
		}
	}
	must(t, s.Lock(repo, number))
	_, _, err := s.github.Issues.CreateComment(ctx(t), "acme", "widgets", number, &github.IssueComment{Body: github.String("hi")})
	status(t, err, 403, "locked")
}
