package fakegithub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// call is one request of the API while it is answered, under the server's mutex.
type call struct {
	*Server
	req    *http.Request
	route  *route
	args   map[string]string
	repo   *repository // of the path
	caller caller
	body   []byte
	link   string // header of a page of a list
}

// reply is the answer: a status and what becomes JSON; nil is an empty body.
type reply struct {
	status int
	body   any
	header http.Header
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }
func empty() reply           { return reply{status: http.StatusNoContent} }

const docsURL = "https://docs.github.com/rest"

func refuse(status int, format string, args ...any) reply {
	return reply{status: status, body: object{
		"message": fmt.Sprintf(format, args...), "documentation_url": docsURL, "status": strconv.Itoa(status),
	}}
}

func notFound() reply { return refuse(http.StatusNotFound, "Not Found") }

// notIntegration is the answer to an App that lacks a permission.
func notIntegration(n need) reply {
	r := refuse(http.StatusForbidden, "Resource not accessible by integration")
	var accepted []string
	for _, s := range n.scopes {
		accepted = append(accepted, s+"="+n.level)
	}
	r.header = http.Header{"X-Accepted-Github-Permissions": {strings.Join(accepted, "; ")}}
	return r
}

// invalid is a 422: field errors, or a sentence.
func invalid(resource, field, code, message string) reply {
	problem := object{"resource": resource, "code": code}
	if field != "" {
		problem["field"] = field
	}
	if message != "" {
		problem["message"] = message
	}
	r := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	r.body.(object)["errors"] = []any{problem}
	return r
}

// broken is the answer when git or the disk failed the server: its own fault.
func broken(err error) reply {
	return refuse(http.StatusInternalServerError, "the simulated GitHub failed: %v", err)
}

// maxBody is more than any request of the API has (blobs have 100 MB at GitHub).
const maxBody = 128 << 20

// ServeHTTP finds out what is asked for: API, git or a page.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// A page of elsewhere whose name resolves to this machine is no guest here.
	if host, _, err := net.SplitHostPort(req.Host); err != nil || loopback(net.JoinHostPort(host, "0")) != nil {
		http.Error(w, "the simulated GitHub answers to loopback addresses only", http.StatusMisdirectedRequest)
		return
	}
	escaped := req.URL.EscapedPath()
	api := escaped
	for _, prefix := range []string{"/api/v3", "/api"} {
		if rest, found := strings.CutPrefix(escaped, prefix); found && strings.HasPrefix(rest, "/") {
			api = rest
			break
		}
	}
	parts, err := segments(api)
	switch {
	case err != nil:
		http.Error(w, "bad path", http.StatusBadRequest)
	case s.routes.roots[parts[0]] || api != escaped:
		s.serveAPI(w, req, parts)
	case len(parts) >= 3 && isGit(parts[2:]):
		s.serveGit(w, req, parts)
	default:
		s.pages.ServeHTTP(w, req)
	}
}

func isGit(suffix []string) bool {
	switch strings.Join(suffix, "/") {
	case "info/refs", "git-upload-pack", "git-receive-pack":
		return true
	}
	return false
}

// enter notes a request and gives the fault that it meets and where its status goes.
func (s *Server) enter(req *http.Request, name string) (*Fault, func(status int, installation int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Request{Route: name, Method: req.Method, Path: req.URL.Path, At: s.now()}
	s.requests = append(s.requests, r)
	return s.fault(name), func(status int, installation int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.Status, r.Installation = status, installation
	}
}

// failFirst lets a fault act that comes before the effect, and says whether it has
// answered.
func (s *Server) failFirst(w http.ResponseWriter, req *http.Request, f *Fault) (status int, answered bool) {
	if f == nil {
		return 0, false
	}
	after := f.RetryAfter
	if after == 0 {
		after = time.Minute
	}
	var r reply
	switch f.Kind {
	case BadGateway:
		badGateway(w)
		return http.StatusBadGateway, true
	case Slow:
		select {
		case <-f.Until:
		case <-req.Context().Done():
			panic(http.ErrAbortHandler)
		case <-s.ctx.Done():
			panic(http.ErrAbortHandler)
		}
		return 0, false
	case SecondaryLimit:
		r = refuse(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
		r.header = http.Header{"X-Ratelimit-Remaining": {"4000"}, "X-Ratelimit-Limit": {"5000"}}
	case NotThereYet:
		r = notFound()
		after = -1
	case TooManyRequests:
		r = refuse(http.StatusTooManyRequests, "Too many requests")
	case PrimaryLimit:
		r = refuse(http.StatusForbidden, "API rate limit exceeded for installation.")
		r.header = http.Header{
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Limit": {strconv.Itoa(hourly)},
			"X-Ratelimit-Reset": {strconv.FormatInt(s.clock().Add(time.Hour).Unix(), 10)},
		}
		after = -1
	default:
		return 0, false
	}
	if after > 0 {
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	r.write(w, req)
	return r.status, true
}

// badGateway answers as GitHub's front does when what is behind it does not.
func badGateway(w http.ResponseWriter) {
	http.Error(w, "<html><body><h1>502 Bad Gateway</h1></body></html>", http.StatusBadGateway)
}

// afterEffect lets a fault act that comes after the effect, and says whether it has
// answered.
func (f *Fault) afterEffect(w http.ResponseWriter, settle func(status int)) bool {
	switch {
	case f == nil:
	case f.Kind == AnswerLost:
		panic(http.ErrAbortHandler)
	case f.Kind == BadGatewayAfter:
		settle(http.StatusBadGateway)
		badGateway(w)
		return true
	}
	return false
}

func (s *Server) serveAPI(w http.ResponseWriter, req *http.Request, path []string) {
	path = s.byNumber(path)
	route, args := s.routes.find(req.Method, path)
	name := routeUnknown
	switch {
	case route != nil:
		name = route.String()
	case path[0] == "graphql" && req.Method == http.MethodPost:
		name = routeGraphQL
	}
	fault, settle := s.enter(req, name)
	if status, answered := s.failFirst(w, req, fault); answered {
		settle(status, 0)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		settle(http.StatusBadRequest, 0)
		refuse(http.StatusBadRequest, "Problems reading the body").write(w, req)
		return
	}
	c := &call{Server: s, req: req, route: route, args: args, body: body}
	r := c.answer(name)
	var installation int64
	if i := c.caller.installation(); i != nil {
		installation = i.id
	}
	if fault.afterEffect(w, func(status int) { settle(status, installation) }) {
		return
	}
	settle(r.status, installation)
	r.write(w, req)
}

// byNumber turns /repositories/ID/... into /repos/OWNER/NAME/...
func (s *Server) byNumber(path []string) []string {
	if len(path) < 2 || path[0] != "repositories" {
		return path
	}
	id, err := strconv.ParseInt(path[1], 10, 64)
	if err != nil {
		return path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repositories[id]
	if r == nil {
		return path
	}
	return append([]string{"repos", r.owner.login, r.name}, path[2:]...)
}

// answer authenticates, authorises and handles.
func (c *call) answer(name string) (r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused *reply
	if c.caller, refused = c.authenticate(c.req); refused != nil {
		return *refused
	}
	defer func() { r = c.finish(r) }()
	if name != "GET /rate_limit" {
		if r, over := c.spend(c.caller); over {
			return r
		}
	}
	switch {
	case name == routeGraphQL:
		return c.graphql()
	case c.route == nil:
		return notFound()
	}
	if r := c.authorise(); r != nil {
		return *r
	}
	return c.route.handle(c)
}

// finish adds what every answer has: the quota, and an ETag that a later request may
// show. Like GitHub's, it changes with the token.
func (c *call) finish(r reply) reply {
	if r.header == nil {
		r.header = http.Header{}
	}
	c.quotaHeaders(r.header)
	if c.link != "" {
		r.header.Set("Link", c.link)
	}
	if r.status == http.StatusOK && c.req.Method == http.MethodGet && r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return broken(err)
		}
		sum := sha256.Sum256(append(data, c.req.Header.Get("Authorization")...))
		tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		r.header.Set("ETag", tag)
		if c.req.Header.Get("If-None-Match") == tag {
			c.refund(c.caller)
			return reply{status: http.StatusNotModified, header: r.header}
		}
	}
	return r
}

func (r reply) write(w http.ResponseWriter, req *http.Request) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	if r.body == nil {
		w.WriteHeader(r.status)
		return
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	if err := encoder.Encode(r.body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(r.status)
	if req.Method != http.MethodHead {
		w.Write(b.Bytes()) //nolint:errcheck // a client that left hears nothing
	}
}

// decode reads a request's JSON. Unknown keys are passed over, as GitHub does.
func decode[T any](c *call) (T, *reply) {
	var in T
	if len(bytes.TrimSpace(c.body)) == 0 {
		return in, nil
	}
	if err := json.Unmarshal(c.body, &in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			r := refuse(http.StatusUnprocessableEntity, "Invalid request.\n\nFor '%s', %s is not a %s.", wrong.Field, wrong.Value, wrong.Type)
			return in, &r
		}
		r := refuse(http.StatusBadRequest, "Problems parsing JSON")
		return in, &r
	}
	return in, nil
}

// number reads a wildcard that is one.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.args[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// paged cuts the page that a request asks for out of a list and sets the Link header.
func paged[T any](c *call, all []T) []T {
	query := c.req.URL.Query()
	size := atoi(query.Get("per_page"), 30, 100)
	page := atoi(query.Get("page"), 1, 1<<20)
	last := max(1, (len(all)+size-1)/size)
	var links []string
	to := func(n int, rel string) {
		query.Set("page", strconv.Itoa(n))
		u := url.URL{Path: c.req.URL.Path, RawPath: c.req.URL.RawPath, RawQuery: query.Encode()}
		links = append(links, fmt.Sprintf(`<%s%s>; rel="%s"`, c.url, u.String(), rel))
	}
	if page > 1 {
		to(page-1, "prev")
		to(1, "first")
	}
	if page < last {
		to(page+1, "next")
		to(last, "last")
	}
	c.link = strings.Join(links, ", ")
	from := min((page-1)*size, len(all))
	// An empty list is [], not null.
	return append([]T{}, all[from:min(from+size, len(all))]...)
}

func atoi(s string, otherwise, most int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}
