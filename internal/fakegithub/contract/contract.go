// Package contract holds tests to GitHub's own description of its REST API: a
// RoundTripper that validates every request and every response that passes.
//
// The description (OpenAPI, from npm's @octokit/openapi) is not part of this repository.
// Where it is absent, Transport says so once in the test's log and validates nothing.
package contract

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Env names a description to use instead of the one beside the repository.
const Env = "BAILIFF_GITHUB_CONTRACT"

// beside is where it is looked for, from any folder up to the root of the module.
const beside = "shared/contract/github-rest.json.gz"

// Find is the description's path, empty if there is none.
func Find() string {
	if path := os.Getenv(Env); path != "" {
		return path
	}
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, beside)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// load reads the description once for all tests of a process.
var load = sync.OnceValues(func() (routers.Router, error) {
	file, err := os.Open(Find())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // any host
	// GitHub answers null for the head repository of a pull request whose fork was
	// deleted, which its description does not admit.
	for _, name := range []string{"pull-request", "pull-request-simple"} {
		head := doc.Components.Schemas[name].Value.Properties["head"].Value
		repo := *head.Properties["repo"].Value
		head.Properties["repo"] = &openapi3.SchemaRef{Value: &openapi3.Schema{Nullable: true, AnyOf: openapi3.SchemaRefs{{Value: &repo}}}}
	}
	// It wants an installation's account to be a user and an enterprise at once, but
	// only where installations are listed.
	installations := doc.Paths.Value("/app/installations").Get.Responses.Status(http.StatusOK).Value.Content["application/json"].Schema
	installations.Value.Items = doc.Components.Schemas["installation"]
	return gorillamux.NewRouter(doc)
})

// Transport validates what passes through next (nil: http.DefaultTransport) and reports
// to the test. What is not of the REST API passes unseen, and so do requests that the
// server answers with an error of the client's: tests send wrong ones on purpose.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	if next == nil {
		next = http.DefaultTransport
	}
	if Find() == "" {
		t.Logf("GitHub's API description is not here (%s, or %s): requests and responses are not validated", beside, Env)
		return next
	}
	router, err := load()
	if err != nil {
		t.Fatalf("GitHub's API description: %v", err)
	}
	return &transport{t: t, next: next, router: router}
}

// Proxy serves what is at target, with Transport between, for clients that are no Go.
func Proxy(t testing.TB, target string) http.Handler {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = Transport(t, nil)
	return proxy
}

type transport struct {
	t      testing.TB
	next   http.RoundTripper
	router routers.Router
}

// RoundTrip passes a request on and validates both ways.
func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := tr.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err := tr.validate(req.Context(), req, body, resp, answer); err != nil {
		// The schema in full, which follows, helps nobody.
		said, _, _ := strings.Cut(err.Error(), "Schema:\n")
		tr.t.Errorf("%s %s -> %d: %s", req.Method, req.URL.Path, resp.StatusCode, said)
	}
	return resp, nil
}

// unseen are paths that are not of the REST API.
var unseen = regexp.MustCompile(`^/(?:api/)?graphql$|\.git/`)

func (tr *transport) validate(ctx context.Context, req *http.Request, body []byte, resp *http.Response, answer []byte) error {
	if unseen.MatchString(req.URL.Path) || resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 || resp.StatusCode == http.StatusMethodNotAllowed {
		return nil
	}
	inner := req.Clone(ctx)
	path := whole(strings.TrimPrefix(req.URL.EscapedPath(), "/api/v3"))
	to, err := url.Parse("https://api.github.com" + path + "?" + req.URL.RawQuery)
	if err != nil {
		return err
	}
	inner.URL, inner.Host = to, to.Host
	inner.Body = io.NopCloser(bytes.NewReader(body))
	route, params, err := tr.router.FindRoute(inner)
	if err != nil {
		if strings.HasPrefix(path, "/repositories/") {
			return nil // a redirect's target, which the description does not name
		}
		return fmt.Errorf("GitHub has no such operation: %w", err)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: inner, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: false},
	}
	if resp.StatusCode < 400 && !allowed(route.Path, body) {
		if inner.Header.Get("Content-Type") == "" && len(body) > 0 {
			inner.Header.Set("Content-Type", "application/json")
		}
		if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header, Options: input.Options,
	}
	if len(answer) > 0 && len(route.Operation.Responses.Map()) > 0 {
		out.SetBodyBytes(answer)
		err := openapi3filter.ValidateResponse(ctx, out)
		if resp.StatusCode >= 400 && errors.Is(err, openapi3.ErrOneOfConflict) {
			return nil // the description's kinds of error overlap
		}
		if err != nil {
			return fmt.Errorf("response: %w", err)
		}
	}
	return nil
}

// allowed are bodies that GitHub takes and its description does not: the null of
// ghinstallation's token request, and the bare array of labels of go-github v60.
func allowed(pattern string, body []byte) bool {
	body = bytes.TrimSpace(body)
	return strings.HasSuffix(pattern, "/access_tokens") && bytes.Equal(body, []byte("null")) ||
		strings.HasSuffix(pattern, "/labels") && bytes.HasPrefix(body, []byte("["))
}

// many are the places where a parameter may have slashes, which the router wants
// escaped: what stands before, the parameter, what may stand after.
var many = []*regexp.Regexp{
	regexp.MustCompile(`^(/repos/[^/]+/[^/]+/contents/)(.+?)()$`),
	regexp.MustCompile(`^(/repos/[^/]+/[^/]+/git/(?:refs|ref|matching-refs)/)(.+?)()$`),
	regexp.MustCompile(`^(/repos/[^/]+/[^/]+/compare/)(.+?)()$`),
	regexp.MustCompile(`^(/repos/[^/]+/[^/]+/commits/)(.+?)(/(?:check-runs|check-suites|status|statuses|pulls))?$`),
	regexp.MustCompile(`^(/repos/[^/]+/[^/]+/branches/)(.+?)(/(?:protection(?:/.*)?|rename))?$`),
}

func whole(path string) string {
	for _, re := range many {
		if m := re.FindStringSubmatch(path); m != nil {
			return m[1] + strings.ReplaceAll(m[2], "/", "%2F") + m[3]
		}
	}
	return path
}
