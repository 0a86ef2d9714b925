package fakegithub

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// caller is who asks: an App by JWT, the bearer of a token, or nobody.
type caller struct {
	app   *app
	token *token
}

func (c caller) installation() *installation {
	if c.token == nil {
		return nil
	}
	return c.token.installation
}

// account is whom GitHub shows as the one who did it; nil for nobody.
func (c caller) account() *account {
	switch {
	case c.token == nil && c.app == nil:
		return nil
	case c.app != nil:
		return c.app.bot
	case c.token.installation != nil:
		return c.token.installation.app.bot
	}
	return c.token.account
}

// actingApp is the App that acts, if one does.
func (c caller) actingApp() *app {
	if i := c.installation(); i != nil {
		return i.app
	}
	return c.app
}

// credentials are what a request shows: a JWT or token as Bearer, token or the
// password of Basic.
func credentials(req *http.Request) string {
	if _, password, ok := req.BasicAuth(); ok {
		return password
	}
	scheme, value, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if s := fold(scheme); s == "bearer" || s == "token" {
		return strings.TrimSpace(value)
	}
	return ""
}

func badCredentials() *reply {
	r := refuse(http.StatusUnauthorized, "Bad credentials")
	return &r
}

func (s *Server) authenticate(req *http.Request) (caller, *reply) {
	word := credentials(req)
	switch {
	case word == "" && req.Header.Get("Authorization") == "":
		return caller{}, nil
	case strings.Count(word, ".") == 2:
		a, refused := s.verifyJWT(word)
		return caller{app: a}, refused
	}
	t := s.tokens[word]
	if t == nil || !t.expires.IsZero() && !s.clock().Before(t.expires) {
		return caller{}, badCredentials()
	}
	if i := t.installation; i != nil {
		if i.gone {
			return caller{}, badCredentials()
		}
		if !i.suspended.IsZero() {
			r := refuse(http.StatusForbidden, "This installation has been suspended")
			return caller{token: t}, &r
		}
	}
	return caller{token: t}, nil
}

// maxJWT is how far in the future an App's JWT may expire
// (docs.github.com, generating a JSON Web Token for a GitHub App).
const maxJWT = 10 * time.Minute

// verifyJWT finds the App that signed a JWT, RS256, with claims iss, iat and exp.
func (s *Server) verifyJWT(word string) (*app, *reply) {
	deny := func(message string) (*app, *reply) {
		r := refuse(http.StatusUnauthorized, "%s", message)
		return nil, &r
	}
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(word, ".")
	var head struct {
		Alg string `json:"alg"`
	}
	var claims struct {
		Iss json.RawMessage `json:"iss"`
		Iat json.Number     `json:"iat"`
		Exp json.Number     `json:"exp"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decodePart(parts[0], &head) || !decodePart(parts[1], &claims) || head.Alg != "RS256" {
		return deny(undecodable)
	}
	a := s.issuer(strings.Trim(string(claims.Iss), `"`))
	if a == nil {
		r := refuse(http.StatusNotFound, "Integration not found")
		return nil, &r
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return deny(undecodable)
	}
	now := s.clock()
	iat, err := claims.Iat.Float64()
	if err != nil || time.Unix(int64(iat), 0).After(now.Add(time.Second)) {
		return deny("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	}
	exp, err := claims.Exp.Float64()
	if err != nil || !time.Unix(int64(exp), 0).After(now) {
		return deny("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	}
	if time.Unix(int64(exp), 0).Sub(now) > maxJWT {
		return deny("'Expiration time' claim ('exp') is too far in the future")
	}
	return a, nil
}

func decodePart(part string, into any) bool {
	data, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(data, into) == nil
}

// issuer finds an App by its number or client ID.
func (s *Server) issuer(iss string) *app {
	if id, err := strconv.ParseInt(iss, 10, 64); err == nil {
		return s.apps[id]
	}
	for _, a := range s.apps {
		if a.clientID == iss && iss != "" {
			return a
		}
	}
	return nil
}

// levels in the order in which each includes those before.
var levels = []string{"read", "write", "admin"}

func enough(have, want string) bool {
	return slices.Index(levels, have) >= slices.Index(levels, want)
}

// has says whether permissions give one of the scopes at a level.
func (p permissions) has(level string, scopes ...string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool {
		if s == "metadata" {
			return level == "read" // every App has it
		}
		return p[s] != "" && enough(p[s], level)
	})
}

// covers says whether the installation, and a token narrowed to some of its
// repositories, reaches a repository.
func (i *installation) covers(r *repository) bool {
	return !i.gone && r.owner == i.account && (i.repositories == nil || i.repositories[r.id])
}

func (t *token) covers(r *repository) bool {
	return t.installation.covers(r) && (t.repositories == nil || t.repositories[r.id])
}

// authorise checks the route's need, and finds the repository of the path.
func (c *call) authorise() *reply {
	deny := func(r reply) *reply { return &r }
	n := c.route.need
	switch n.who {
	case theApp:
		if c.caller.app == nil {
			return deny(refuse(http.StatusUnauthorized, "A JSON web token could not be decoded"))
		}
	case installed:
		if c.caller.installation() == nil {
			return deny(refuse(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation."))
		}
	case signedIn:
		if c.caller.token == nil {
			return deny(refuse(http.StatusUnauthorized, "Requires authentication"))
		}
	}
	owner, name := c.args["owner"], c.args["repo"]
	if owner == "" {
		return nil
	}
	r, moved := c.lookup(owner, name)
	if r == nil {
		return deny(notFound())
	}
	c.repo = r
	if n.who == onRepository {
		if refused := c.may(n, r); refused != nil {
			return refused
		}
	}
	if moved {
		return deny(c.movedTo(r))
	}
	if r.archived && n.level == "write" {
		return deny(refuse(http.StatusForbidden, "Repository was archived so is read-only."))
	}
	return nil
}

// lookup finds a repository by its name, or by one that it had before.
func (s *Server) lookup(owner, name string) (r *repository, moved bool) {
	r = s.repositories[s.names[fold(owner+"/"+name)]]
	return r, r != nil && fold(r.fullName()) != fold(owner+"/"+name)
}

// may says why the caller may not do on r what n says; nil if it may.
func (c *call) may(n need, r *repository) *reply {
	deny := func(r reply) *reply { return &r }
	t := c.caller.token
	switch {
	case c.caller.app != nil:
		return deny(refuse(http.StatusUnauthorized, "Requires authentication"))
	case t == nil:
		if r.private {
			return deny(notFound())
		}
		if n.level != "read" {
			return deny(refuse(http.StatusUnauthorized, "Requires authentication"))
		}
	case t.installation != nil:
		if t.covers(r) {
			// What anybody may read needs no permission.
			if t.permissions.has(n.level, n.scopes...) || n.level == "read" && !r.private && !slices.Contains(n.scopes, "administration") {
				return nil
			}
			return deny(notIntegration(n))
		}
		if r.private {
			return deny(notFound())
		}
		if n.level != "read" {
			return deny(notIntegration(n))
		}
	default:
		role := c.role(r, t.account)
		if role == "" && r.private {
			return deny(notFound())
		}
		if n.appsOnly {
			return deny(refuse(http.StatusForbidden, "You must authenticate via a GitHub App."))
		}
		if !roleAllows(role, n) && !(n.level == "read" && !r.private) {
			return deny(refuse(http.StatusForbidden, "Must have admin rights to Repository."))
		}
	}
	return nil
}

func (c *call) movedTo(r *repository) reply {
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimPrefix(c.req.URL.EscapedPath(), "/api/v3"), "/"), "/", 4)
	to := c.api("/repositories/%d", r.id)
	if len(parts) == 4 {
		to += "/" + parts[3]
	}
	if q := c.req.URL.RawQuery; q != "" {
		to += "?" + q
	}
	status, message := http.StatusMovedPermanently, "Moved Permanently"
	if c.req.Method != http.MethodGet && c.req.Method != http.MethodHead {
		status, message = http.StatusTemporaryRedirect, "Temporary Redirect"
	}
	out := refuse(status, "%s", message)
	out.body.(object)["url"] = to
	out.header = http.Header{"Location": {to}}
	return out
}

// roles in the order in which each includes those before.
var roles = []string{"", "read", "triage", "write", "maintain", "admin"}

// role is what a person is to a repository; empty is nothing.
func (s *Server) role(r *repository, a *account) string {
	if a == nil {
		return ""
	}
	if a == r.owner {
		return "admin"
	}
	return r.roles[fold(a.login)]
}

func roleAllows(role string, n need) bool {
	at := func(want string) bool { return slices.Index(roles, role) >= slices.Index(roles, want) }
	switch n.level {
	case "read":
		return at("read")
	case "admin":
		return at("admin")
	}
	switch {
	case slices.Contains(n.scopes, "issues"):
		return at("read") // comments and reactions; labels are checked by hand
	case slices.Contains(n.scopes, "administration"):
		return at("admin")
	}
	return at("write")
}

// hourly is the primary limit of an installation (docs.github.com, rate limits for
// the REST API: at least 5,000 requests an hour).
const hourly = 5000

// quotaOf is what a caller's requests are counted against; nil for JWTs and nobody.
func (s *Server) quotaOf(c caller) *quota {
	switch {
	case c.token == nil:
		return nil
	case c.token.installation != nil:
		return &c.token.installation.quota
	}
	return c.token.quota
}

// spend counts a request, or says that none is left.
func (s *Server) spend(c caller) (reply, bool) {
	q := s.quotaOf(c)
	if q == nil {
		return reply{}, false
	}
	q.roll(s.now())
	if q.used >= hourly {
		who := "user"
		if i := c.installation(); i != nil {
			who = "installation ID " + strconv.FormatInt(i.id, 10)
		}
		return refuse(http.StatusForbidden, "API rate limit exceeded for %s.", who), true
	}
	q.used++
	return reply{}, false
}

// refund takes back the count of a request that was answered 304.
func (s *Server) refund(c caller) {
	if q := s.quotaOf(c); q != nil {
		q.used--
	}
}

// roll starts another hour if the present one is over.
func (q *quota) roll(now time.Time) {
	if q.start.IsZero() || now.Sub(q.start) >= time.Hour {
		q.start, q.used = now, 0
	}
}

func (c *call) quotaHeaders(h http.Header) {
	q := c.quotaOf(c.caller)
	if q == nil {
		return
	}
	for name, n := range map[string]int64{
		"X-Ratelimit-Limit":     hourly,
		"X-Ratelimit-Remaining": int64(hourly - q.used),
		"X-Ratelimit-Used":      int64(q.used),
		"X-Ratelimit-Reset":     q.start.Add(time.Hour).Unix(),
	} {
		h.Set(name, strconv.FormatInt(n, 10))
	}
	h.Set("X-Ratelimit-Resource", "core")
}

// ExhaustQuota leaves an installation without a request until its hour is over.
func (s *Server) ExhaustQuota(installation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.installation(installation)
	if err != nil {
		return err
	}
	i.quota = quota{start: s.now(), used: hourly}
	return nil
}

// ExpireTokens makes all tokens of an installation expire now.
func (s *Server) ExpireTokens(installation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.installation(installation)
	if err != nil {
		return err
	}
	for _, t := range s.tokens {
		if t.installation == i {
			t.expires = s.clock()
		}
	}
	return nil
}
