package fakegithub

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// audience is who a route is for.
type audience int

const (
	anyone       audience = iota // with or without a token
	theApp                       // an App's JWT
	installed                    // an installation's token
	onRepository                 // whoever has the permission on the repository
	signedIn                     // any token
)

// need is what a route asks of the caller.
type need struct {
	who    audience
	scopes []string // one of them is enough
	level  string   // read, write or admin
	// person lets no user's token through: checks are an App's business.
	appsOnly bool
}

func reading(scopes ...string) need { return need{who: onRepository, scopes: scopes, level: "read"} }
func writing(scopes ...string) need { return need{who: onRepository, scopes: scopes, level: "write"} }
func checking() need {
	return need{who: onRepository, scopes: []string{"checks"}, level: "write", appsOnly: true}
}

// route is one operation. A segment of the pattern is literal, {name}, or {name...} for
// one or more segments.
type route struct {
	method, pattern string
	need            need
	handle          func(*call) reply
	segments        []string
}

func (r *route) String() string { return r.method + " " + r.pattern }

// table finds routes. Of two that match, the earlier one answers.
type table struct {
	routes []*route
	roots  map[string]bool // first segments of patterns
}

func newTable() *table {
	t := &table{roots: map[string]bool{"repositories": true, "graphql": true}}
	for _, r := range apiRoutes() {
		r.segments = strings.Split(strings.Trim(r.pattern, "/"), "/")
		t.roots[r.segments[0]] = true
		t.routes = append(t.routes, &r)
	}
	return t
}

// segments takes an escaped path apart and unescapes each part, so that a slash within
// a name stays one.
func segments(escaped string) ([]string, error) {
	parts := strings.Split(strings.Trim(escaped, "/"), "/")
	for i, p := range parts {
		var err error
		if parts[i], err = url.PathUnescape(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// find gives the route of a request and the values of its wildcards.
func (t *table) find(method string, path []string) (*route, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range t.routes {
		if r.method != method {
			continue
		}
		if args, ok := match(r.segments, path); ok {
			return r, args
		}
	}
	return nil, nil
}

func match(pattern, path []string) (map[string]string, bool) {
	args := map[string]string{}
	for i, p := range pattern {
		if name, rest := strings.CutSuffix(strings.Trim(p, "{}"), "..."); rest {
			after := len(pattern) - i - 1
			n := len(path) - after
			if n < 1 {
				return nil, false
			}
			args[name] = strings.Join(path[:n], "/")
			tail, ok := match(pattern[i+1:], path[n:])
			for k, v := range tail {
				args[k] = v
			}
			return args, ok
		}
		if len(path) == 0 {
			return nil, false
		}
		if strings.HasPrefix(p, "{") {
			if path[0] == "" {
				return nil, false
			}
			args[strings.Trim(p, "{}")] = path[0]
		} else if p != path[0] {
			return nil, false
		}
		path = path[1:]
	}
	return args, len(path) == 0
}

// Routes lists all operations, as faults and counters name them.
func (s *Server) Routes() []string {
	names := []string{routeFetchRefs, routeFetch, routePush, routeGraphQL}
	for _, r := range s.routes.routes {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return names
}

// Names of what the table of REST routes does not have.
const (
	routeFetchRefs = "GET /{owner}/{repo}.git/info/refs"
	routeFetch     = "POST /{owner}/{repo}.git/git-upload-pack"
	routePush      = "POST /{owner}/{repo}.git/git-receive-pack"
	routeGraphQL   = "POST /graphql"
	routeUnknown   = "unknown"
)
