package fakegithub

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
)

// maxPush bounds a push, in bytes (GitHub's own limit is 2 GB).
const maxPush = 2 << 30

// serveGit answers git's smart HTTP. path is OWNER, NAME and one of three suffixes.
func (s *Server) serveGit(w http.ResponseWriter, req *http.Request, path []string) {
	suffix := strings.Join(path[2:], "/")
	name, push := routeFetch, suffix == "git-receive-pack"
	switch suffix {
	case "info/refs":
		name = routeFetchRefs
		push = req.URL.Query().Get("service") == "git-receive-pack"
	case "git-receive-pack":
		name = routePush
	}
	fault, settle := s.enter(req, name)
	if status, answered := s.failFirst(w, req, fault); answered {
		settle(status, 0)
		return
	}
	r, who, refused := s.admitGit(req, path, push)
	var installation int64
	if i := who.installation(); i != nil {
		installation = i.id
	}
	if refused != nil {
		settle(refused.status, installation)
		refused.writeText(w)
		return
	}
	if suffix == "info/refs" {
		recorded := httptest.NewRecorder()
		r.git.Serve(recorded, req, "/"+suffix)
		settle(recorded.Code, installation)
		replay(w, recorded)
		return
	}
	body, done, err := bare.Spool(req, maxPush)
	if err != nil {
		settle(http.StatusBadRequest, installation)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer done()
	if !push {
		settle(http.StatusOK, installation)
		r.git.Serve(w, req, "/"+suffix)
		return
	}
	// A client may ask about its push as soon as it has the answer, so the
	// consequences come first.
	recorded := httptest.NewRecorder()
	s.receive(recorded, req, body, r, who)
	if fault.afterEffect(w, func(status int) { settle(status, installation) }) {
		return
	}
	settle(recorded.Code, installation)
	replay(w, recorded)
}

func replay(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for k, v := range from.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(from.Code)
	w.Write(from.Body.Bytes()) //nolint:errcheck // a client that left hears nothing
}

// writeText answers git, which shows plain text to its user.
func (r reply) writeText(w http.ResponseWriter) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	message, _ := r.body.(object)["message"].(string)
	http.Error(w, message, r.status)
}

// admitGit finds the repository and says who may do what with it.
func (s *Server) admitGit(req *http.Request, path []string, push bool) (*repository, caller, *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deny := func(status int, message string) *reply {
		r := refuse(status, "%s", message)
		if status == http.StatusUnauthorized {
			r.header = http.Header{"Www-Authenticate": {`Basic realm="GitHub"`}}
		}
		return &r
	}
	who, refused := s.authenticate(req)
	if refused != nil {
		if refused.status == http.StatusUnauthorized {
			return nil, who, deny(http.StatusUnauthorized, "Invalid username or token. Password authentication is not supported for Git operations.")
		}
		return nil, who, refused
	}
	r, moved := s.lookup(path[0], strings.TrimSuffix(path[1], ".git"))
	nobody := who.token == nil
	if r == nil && nobody {
		return nil, who, deny(http.StatusUnauthorized, "Authentication required")
	}
	if r == nil || who.app != nil {
		return nil, who, deny(http.StatusNotFound, "Repository not found.")
	}
	readable, writable := !r.private, false
	switch {
	case nobody:
	case who.token.installation != nil:
		covered := who.token.covers(r)
		readable = readable || covered && who.token.permissions.has("read", "contents")
		writable = covered && who.token.permissions.has("write", "contents")
	default:
		role := s.role(r, who.token.account)
		readable = readable || role != ""
		writable = roleAllows(role, writing("contents"))
	}
	switch {
	case nobody && (push || !readable):
		return nil, who, deny(http.StatusUnauthorized, "Authentication required")
	case !readable:
		return nil, who, deny(http.StatusNotFound, "Repository not found.")
	case push && !writable:
		return nil, who, deny(http.StatusForbidden, "Write access to repository not granted.")
	case push && r.archived:
		return nil, who, deny(http.StatusForbidden, "This repository was archived so it is read-only.")
	case moved:
		refused := deny(http.StatusMovedPermanently, "Moved Permanently")
		to := s.repositoryHTML(r) + ".git/" + strings.Join(path[2:], "/")
		if q := req.URL.RawQuery; q != "" {
			to += "?" + q
		}
		refused.header = http.Header{"Location": {to}}
		return nil, who, refused
	}
	return r, who, nil
}

// receive takes a push: looks at it, refuses it as a whole or lets git do it, and draws
// the consequences.
func (s *Server) receive(w http.ResponseWriter, req *http.Request, body io.ReadSeeker, r *repository, who caller) {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	commands, capabilities, size, err := bare.Commands(body)
	if err == nil {
		_, err = body.Seek(size, io.SeekStart)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said, why, err := s.inspect(r, who, commands, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if len(why) > 0 {
		bare.Refuse(w, commands, capabilities, said, why)
		return
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.git.Serve(w, req, "/git-receive-pack")
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := r.git.Refs(s.ctx)
	for _, c := range commands {
		if err == nil && now[c.Ref] != r.refs[c.Ref] {
			err = s.pushed(r, c.Ref, r.refs[c.Ref], now[c.Ref], who.account())
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// inspect finds what GitHub refuses in a push: what is said, and the reason of each
// reference that is refused.
func (s *Server) inspect(r *repository, who caller, commands []bare.Command, pack io.Reader) (said string, why map[string]string, err error) {
	s.mu.Lock()
	curious := false // whether commits must be looked at
	for _, c := range commands {
		branch, ok := strings.CutPrefix(c.Ref, "refs/heads/")
		curious = curious || !c.New.IsZero() &&
			(ok && r.protections[branch] != nil || who.installation() != nil && !who.token.permissions.has("write", "workflows"))
	}
	s.mu.Unlock()
	if curious {
		// An empty pack is no pack: the objects are there already.
		if err := r.git.Unpack(s.ctx, pack); err != nil && !errors.Is(err, bare.ErrNoPack) {
			return "", nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	why = map[string]string{}
	for _, c := range commands {
		if !strings.HasPrefix(c.Ref, "refs/heads/") && !strings.HasPrefix(c.Ref, "refs/tags/") {
			why[c.Ref] = "deny updating a hidden ref"
			continue
		}
		old := r.refs[c.Ref]
		refusal, err := s.protectionRefusal(r, c.Ref, old, c.New, who.account())
		if err != nil {
			return "", nil, err
		}
		if refusal != "" {
			said += "error: GH006: Protected branch update failed for " + c.Ref + ".\nerror: " + refusal + "\n"
			why[c.Ref] = "protected branch hook declined"
			continue
		}
		if why[c.Ref], err = s.workflowRefusal(r, who.token, c.Ref, old, c.New); err != nil {
			return "", nil, err
		}
		if why[c.Ref] == "" {
			delete(why, c.Ref)
		}
	}
	return said, why, nil
}
