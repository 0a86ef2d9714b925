package fakegithub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

// pathEscape makes one segment of an address of a name.
func pathEscape(s string) string { return url.PathEscape(s) }

// pathEscapeAll escapes a path's segments.
func pathEscapeAll(s string) string {
	parts := strings.Split(s, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

func when(g git.Signature) string {
	return time.Unix(g.When.Unix, 0).UTC().Format(time.RFC3339)
}

func (s *Server) signature(name, email string) git.Signature {
	return git.Signature{Name: name, Email: email, When: git.Date{Unix: s.now().Unix(), Zone: "+0000"}}
}

func (s *Server) signatureOf(a *account) git.Signature { return s.signature(a.name, a.email) }

// webFlow commits what GitHub commits itself.
func (s *Server) webFlow() git.Signature { return s.signature("GitHub", "noreply@github.com") }

// gpgsig stands where GitHub's signature would. It cannot be verified by anybody.
const gpgsig = `-----BEGIN PGP SIGNATURE-----

c2ltdWxhdGVkLCBub3QgYSBzaWduYXR1cmU=
-----END PGP SIGNATURE-----`

// writeCommit stores a commit; GitHub signs what it commits in its own name.
func (s *Server) writeCommit(r *repository, spec bare.CommitSpec, signed bool) (git.ID, error) {
	if signed {
		spec.Signature = gpgsig
	}
	id, err := r.git.WriteCommit(s.ctx, spec)
	if err == nil && signed {
		r.signed[id] = true
	}
	return id, err
}

// CommitSpec says what somebody commits and pushes.
type CommitSpec struct {
	Branch  string            // made if it is not there
	From    string            // the branch that a new one starts from; empty: the default branch
	Files   map[string]string // path -> contents
	Delete  []string          // paths that go
	Message string            // empty: "Update files"
	As      string            // a login; empty: the owner
	// Amend replaces the branch's last commit: a force push.
	Amend bool
}

// Commit pushes a commit as somebody, with all that follows from a push, and gives its
// name. No protection holds it back.
func (s *Server) Commit(repository string, spec CommitSpec) (sha string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return "", err
	}
	id, err := s.commit(r, spec)
	return string(id), err
}

func (s *Server) commit(r *repository, spec CommitSpec) (git.ID, error) {
	by := r.owner
	if spec.As != "" {
		var err error
		if by, err = s.person(spec.As); err != nil {
			return "", err
		}
	}
	if spec.From == "" {
		spec.From = r.defaultBranch
	}
	if spec.Message == "" {
		spec.Message = "Update files"
	}
	tip := r.branch(spec.Branch)
	if tip == "" {
		tip = r.branch(spec.From)
	}
	var base git.ID
	var parents []git.ID
	if tip != "" {
		c, err := r.git.Commit(s.ctx, tip)
		if err != nil {
			return "", err
		}
		base, parents = c.Tree, []git.ID{tip}
		if spec.Amend {
			parents = c.Parents
		}
	}
	var edits []bare.Edit
	for path, data := range spec.Files {
		id, err := r.git.WriteBlob(s.ctx, []byte(data))
		if err != nil {
			return "", err
		}
		edits = append(edits, bare.Edit{Path: path, Mode: git.ModeFile, ID: id})
	}
	for _, path := range spec.Delete {
		edits = append(edits, bare.Edit{Path: path})
	}
	slices.SortFunc(edits, func(a, b bare.Edit) int { return strings.Compare(a.Path, b.Path) })
	tree, err := r.git.WriteTree(s.ctx, base, edits)
	if err != nil {
		return "", err
	}
	author := s.signatureOf(by)
	id, err := s.writeCommit(r, bare.CommitSpec{Tree: tree, Parents: parents, Author: author, Committer: author, Message: spec.Message}, false)
	if err != nil {
		return "", err
	}
	return id, s.setRef(r, "refs/heads/"+spec.Branch, id, by)
}

// DeleteBranch deletes a branch as somebody.
func (s *Server) DeleteBranch(repository, branch, as string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return err
	}
	by, err := s.person(as)
	if err != nil {
		return err
	}
	if r.branch(branch) == "" {
		return fmt.Errorf("%w: branch %q", ErrNotFound, branch)
	}
	return s.setRef(r, "refs/heads/"+branch, "", by)
}

// Branch tells where a branch stands; empty if there is none.
func (s *Server) Branch(repository, branch string) (sha string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return "", err
	}
	return string(r.branch(branch)), nil
}

// loginOf finds the account that commits under an address.
func (s *Server) loginOf(email string) string {
	if a := s.accountOf(email); a != nil {
		return a.login
	}
	return ""
}

func (s *Server) accountOf(email string) *account {
	for _, a := range s.accounts {
		if a.email == email {
			return a
		}
	}
	// The number before the login may be that of the true GitHub.
	if name, ok := strings.CutSuffix(email, "@users.noreply.github.com"); ok {
		if _, login, found := strings.Cut(name, "+"); found {
			return s.accounts[fold(login)]
		}
	}
	return nil
}

// resolve finds the commit that a branch, tag, full reference or name says.
func (s *Server) resolve(r *repository, name string) git.ID {
	for _, ref := range []string{"refs/heads/" + name, "refs/tags/" + name, "refs/" + name, name} {
		if id := r.refs[ref]; id != "" {
			if c, err := r.git.Commit(s.ctx, id); err == nil {
				return c.ID
			}
		}
	}
	if name == "HEAD" {
		return r.branch(r.defaultBranch)
	}
	if id := git.ID(fold(name)); id.Valid() {
		if c, err := r.git.Commit(s.ctx, id); err == nil {
			return c.ID
		}
	}
	return ""
}

func (s *Server) verification(r *repository, id git.ID) object {
	v := object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	if r.signed[id] {
		v["verified"], v["reason"], v["signature"], v["payload"], v["verified_at"] = true, "valid", gpgsig, "", stamp(s.now())
	}
	return v
}

func identity(g git.Signature) object {
	return object{"name": g.Name, "email": g.Email, "date": when(g)}
}

// gitCommitView is a commit as the git database shows it.
func (s *Server) gitCommitView(r *repository, c git.Commit) object {
	at := s.repositoryAPI(r)
	parents := []object{}
	for _, p := range c.Parents {
		parents = append(parents, object{"sha": p, "url": at + "/git/commits/" + string(p), "html_url": s.repositoryHTML(r) + "/commit/" + string(p)})
	}
	return object{
		"sha": c.ID, "node_id": nodeSHA("C", c.ID), "url": at + "/git/commits/" + string(c.ID), "html_url": s.repositoryHTML(r) + "/commit/" + string(c.ID),
		"author": identity(c.Author), "committer": identity(c.Committer), "message": c.Message,
		"tree": object{"sha": c.Tree, "url": at + "/git/trees/" + string(c.Tree)}, "parents": parents, "verification": s.verification(r, c.ID),
	}
}

// commitView is a commit as everything else shows it.
func (s *Server) commitView(r *repository, c git.Commit) object {
	inner := s.gitCommitView(r, c)
	parents := inner["parents"]
	at := s.repositoryAPI(r) + "/commits/" + string(c.ID)
	for _, k := range []string{"sha", "node_id", "html_url", "parents"} {
		delete(inner, k)
	}
	inner["comment_count"] = 0
	return object{
		"sha": c.ID, "node_id": nodeSHA("C", c.ID), "url": at, "comments_url": at + "/comments", "html_url": s.repositoryHTML(r) + "/commit/" + string(c.ID),
		"commit": inner, "author": s.userView(s.accountOf(c.Author.Email)), "committer": s.userView(s.accountOf(c.Committer.Email)), "parents": parents,
	}
}

func (s *Server) fileView(r *repository, head git.ID, f bare.File) object {
	path := pathEscapeAll(f.Path)
	v := object{
		"sha": f.ID, "filename": f.Path, "status": f.Status, "additions": f.Additions, "deletions": f.Deletions, "changes": f.Additions + f.Deletions,
		"blob_url": s.repositoryHTML(r) + "/blob/" + string(head) + "/" + path, "raw_url": s.repositoryHTML(r) + "/raw/" + string(head) + "/" + path,
		"contents_url": s.repositoryAPI(r) + "/contents/" + path + "?ref=" + string(head),
	}
	if f.Patch != "" {
		v["patch"] = f.Patch
	}
	if f.OldPath != "" {
		v["previous_filename"] = f.OldPath
	}
	return v
}

func decodeContent(content, encoding string) ([]byte, error) {
	switch encoding {
	case "base64":
		return base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return -1
			}
			return r
		}, content))
	case "", "utf-8":
		return []byte(content), nil
	}
	return nil, errors.New("encoding must be utf-8 or base64")
}
