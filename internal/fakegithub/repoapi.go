package fakegithub

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

func (c *call) getRepository() reply {
	role := c.role(c.repo, c.caller.account())
	return ok(c.fullRepositoryView(c.repo, role))
}

func (c *call) updateRepository() reply {
	in, bad := decode[struct {
		Name          *string `json:"name"`
		Description   *string `json:"description"`
		Private       *bool   `json:"private"`
		Archived      *bool   `json:"archived"`
		DefaultBranch *string `json:"default_branch"`
		HasIssues     *bool   `json:"has_issues"`
	}](c)
	if bad != nil {
		return *bad
	}
	r, by := c.repo, c.caller.account()
	if in.DefaultBranch != nil {
		if r.branch(*in.DefaultBranch) == "" {
			return invalid("Repository", "default_branch", "invalid", "")
		}
		if err := c.setDefaultBranch(r, *in.DefaultBranch, by); err != nil {
			return broken(err)
		}
	}
	if in.Description != nil {
		r.description = *in.Description
	}
	if in.HasIssues != nil {
		r.noIssues = !*in.HasIssues
	}
	if in.Private != nil {
		c.setPrivate(r, *in.Private, by)
	}
	if in.Archived != nil {
		c.setArchived(r, *in.Archived, by)
	}
	if in.Name != nil && *in.Name != r.name {
		if err := c.rename(r, r.owner, *in.Name, by); err != nil {
			return invalid("Repository", "name", "custom", err.Error())
		}
	}
	return ok(c.fullRepositoryView(r, c.role(r, by)))
}

func (c *call) listBranches() reply {
	names := []string{}
	for ref := range c.repo.refs {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	views := []object{}
	for _, name := range paged(c, names) {
		sha := c.repo.branch(name)
		views = append(views, object{
			"name": name, "protected": c.repo.protections[name] != nil,
			"commit": object{"sha": sha, "url": c.repositoryAPI(c.repo) + "/commits/" + string(sha)},
		})
	}
	return ok(views)
}

func (c *call) branchView(name string) (object, error) {
	commit, err := c.repo.git.Commit(c.ctx, c.repo.branch(name))
	if err != nil {
		return nil, err
	}
	at := c.repositoryAPI(c.repo) + "/branches/" + pathEscape(name)
	p := c.repo.protections[name]
	protection := object{"enabled": p != nil, "required_status_checks": object{"enforcement_level": "off", "contexts": []string{}, "checks": []any{}}}
	if p != nil {
		protection["required_status_checks"] = object{"enforcement_level": "non_admins", "contexts": nonNil(p.RequiredChecks), "checks": checkList(p)}
	}
	return object{
		"name": name, "commit": c.commitView(c.repo, commit), "protected": p != nil, "protection": protection, "protection_url": at + "/protection",
		"_links": object{"self": at, "html": c.repositoryHTML(c.repo) + "/tree/" + pathEscapeAll(name)},
	}, nil
}

func (c *call) getBranch() reply {
	name := c.args["branch"]
	if c.repo.branch(name) == "" {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	v, err := c.branchView(name)
	if err != nil {
		return broken(err)
	}
	return ok(v)
}

func (c *call) renameBranch() reply {
	in, bad := decode[struct {
		NewName string `json:"new_name"`
	}](c)
	if bad != nil {
		return *bad
	}
	from := c.args["branch"]
	if c.repo.branch(from) == "" {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	if git.CheckRef("refs/heads/"+in.NewName) != nil || c.repo.branch(in.NewName) != "" {
		return invalid("Branch", "new_name", "invalid", "")
	}
	if err := c.moveBranch(c.repo, from, in.NewName, c.caller.account()); err != nil {
		return broken(err)
	}
	v, err := c.branchView(in.NewName)
	if err != nil {
		return broken(err)
	}
	return created(v)
}

func (c *call) getPermission() reply {
	a := c.accounts[fold(c.args["username"])]
	if a == nil {
		return refuse(http.StatusNotFound, "%s is not a user", c.args["username"])
	}
	role := c.role(c.repo, a)
	if role == "" && !c.repo.private {
		role = "read" // anybody may read it
	}
	// The old word knows neither maintain nor triage.
	permission := map[string]string{"": "none", "triage": "read", "maintain": "write"}[role]
	if permission == "" {
		permission = role
	}
	name := role
	if name == "" {
		name = "none"
	}
	user := c.userView(a).(object)
	user["role_name"], user["permissions"] = name, permissionFlags(role)
	return ok(object{"permission": permission, "role_name": name, "user": user})
}

func (c *call) isCollaborator() reply {
	a := c.accounts[fold(c.args["username"])]
	if a == nil || c.role(c.repo, a) == "" {
		return notFound()
	}
	return empty()
}

func checkList(p *Protection) []object {
	list := []object{}
	for _, name := range p.RequiredChecks {
		list = append(list, object{"context": name, "app_id": nil})
	}
	return list
}

// protectionView is GitHub's two shapes in one: what PUT answers has fewer words.
func (c *call) protectionView(branch string, p *Protection) object {
	at := c.repositoryAPI(c.repo) + "/branches/" + pathEscape(branch) + "/protection"
	on := func(b bool) object { return object{"enabled": b} }
	v := object{
		"url": at, "enforce_admins": object{"url": at + "/enforce_admins", "enabled": p.EnforceAdmins},
		"required_signatures":     object{"url": at + "/required_signatures", "enabled": p.RequiredSignatures},
		"required_linear_history": on(false), "allow_force_pushes": on(p.AllowForcePushes), "allow_deletions": on(p.AllowDeletions),
		"block_creations": on(false), "required_conversation_resolution": on(false), "lock_branch": on(false), "allow_fork_syncing": on(false),
	}
	if len(p.RequiredChecks) > 0 {
		v["required_status_checks"] = c.statusPolicy(at, p)
	}
	if p.RequiredReviews > 0 || p.PullRequestsOnly {
		v["required_pull_request_reviews"] = object{
			"url": at + "/required_pull_request_reviews", "dismiss_stale_reviews": false, "require_code_owner_reviews": false,
			"required_approving_review_count": p.RequiredReviews,
		}
	}
	return v
}

func (c *call) statusPolicy(at string, p *Protection) object {
	return object{
		"url": at + "/required_status_checks", "strict": p.Strict, "contexts": nonNil(p.RequiredChecks), "checks": checkList(p),
		"contexts_url": at + "/required_status_checks/contexts",
	}
}

// protection is that of the path's branch.
func (c *call) protection() (*Protection, *reply) {
	if c.repo.branch(c.args["branch"]) == "" {
		r := refuse(http.StatusNotFound, "Branch not found")
		return nil, &r
	}
	p := c.repo.protections[c.args["branch"]]
	if p == nil {
		r := refuse(http.StatusNotFound, "Branch not protected")
		return nil, &r
	}
	return p, nil
}

func (c *call) getProtection() reply {
	p, refused := c.protection()
	if refused != nil {
		return *refused
	}
	return ok(c.protectionView(c.args["branch"], p))
}

func (c *call) putProtection() reply {
	branch := c.args["branch"]
	if c.repo.branch(branch) == "" {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	in, bad := decode[struct {
		EnforceAdmins        *bool `json:"enforce_admins"`
		AllowForcePushes     *bool `json:"allow_force_pushes"`
		AllowDeletions       bool  `json:"allow_deletions"`
		RequiredStatusChecks *struct {
			Strict   bool     `json:"strict"`
			Contexts []string `json:"contexts"`
			Checks   []struct {
				Context string `json:"context"`
			} `json:"checks"`
		} `json:"required_status_checks"`
		Reviews *struct {
			Count int `json:"required_approving_review_count"`
		} `json:"required_pull_request_reviews"`
	}](c)
	if bad != nil {
		return *bad
	}
	p := &Protection{AllowDeletions: in.AllowDeletions}
	if old := c.repo.protections[branch]; old != nil {
		p.RequiredSignatures = old.RequiredSignatures // has an address of its own
	}
	p.EnforceAdmins = in.EnforceAdmins != nil && *in.EnforceAdmins
	p.AllowForcePushes = in.AllowForcePushes != nil && *in.AllowForcePushes
	if checks := in.RequiredStatusChecks; checks != nil {
		p.Strict, p.RequiredChecks = checks.Strict, checks.Contexts
		for _, one := range checks.Checks {
			if !slices.Contains(p.RequiredChecks, one.Context) {
				p.RequiredChecks = append(p.RequiredChecks, one.Context)
			}
		}
	}
	if in.Reviews != nil {
		p.RequiredReviews, p.PullRequestsOnly = in.Reviews.Count, true
	}
	c.repo.protections[branch] = p
	return ok(c.protectionView(branch, p))
}

func (c *call) deleteProtection() reply {
	if _, refused := c.protection(); refused != nil {
		return *refused
	}
	delete(c.repo.protections, c.args["branch"])
	return empty()
}

func (c *call) requiredChecks() reply {
	p, refused := c.protection()
	if refused != nil {
		return *refused
	}
	if len(p.RequiredChecks) == 0 {
		return refuse(http.StatusNotFound, "Required status checks not enabled")
	}
	return ok(c.statusPolicy(c.protectionView(c.args["branch"], p)["url"].(string), p))
}

func (c *call) requiredSignatures() reply {
	p, refused := c.protection()
	if refused != nil {
		return *refused
	}
	switch c.req.Method {
	case http.MethodPost:
		p.RequiredSignatures = true
	case http.MethodDelete:
		p.RequiredSignatures = false
		return empty()
	}
	return ok(c.protectionView(c.args["branch"], p)["required_signatures"])
}

// rulesForBranch lists rules of rulesets. There are none here; branch protection shows
// elsewhere.
func (c *call) rulesForBranch() reply { return ok([]any{}) }

// Protect protects a branch; nil takes the protection away.
func (s *Server) Protect(repository, branch string, p *Protection) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return err
	}
	if p == nil {
		delete(r.protections, branch)
		return nil
	}
	kept := *p
	r.protections[branch] = &kept
	return nil
}

// manage runs a change of a repository by its owner.
func (s *Server) manage(name string, change func(r *repository) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(name)
	if err != nil {
		return err
	}
	return change(r)
}

// Rename gives a repository another name. The old one leads to it.
func (s *Server) Rename(fullName, name string) error {
	return s.manage(fullName, func(r *repository) error { return s.rename(r, r.owner, name, r.owner) })
}

// Transfer gives a repository to another account, which is made if it is not there.
func (s *Server) Transfer(fullName, owner string) error {
	return s.manage(fullName, func(r *repository) error {
		a, err := s.account(owner, kindUser)
		if err != nil {
			return err
		}
		return s.rename(r, a, r.name, r.owner)
	})
}

func (s *Server) rename(r *repository, owner *account, name string, by *account) error {
	if !goodName.MatchString(name) || name == "." || name == ".." || strings.HasSuffix(name, ".git") {
		return fmt.Errorf("%w: the name %q", ErrRefused, name)
	}
	to := fold(owner.login + "/" + name)
	if other := s.repositories[s.names[to]]; other != nil && other != r && fold(other.fullName()) == to {
		return fmt.Errorf("%w: name already exists on this account", ErrRefused)
	}
	oldName, oldOwner := r.name, r.owner
	// Who hears of a transfer is who had the repository.
	heard := s.listeners(r, "repository")
	r.owner, r.name = owner, name
	s.names[to] = r.id
	payload := object{"action": "renamed", "changes": object{"repository": object{"name": object{"from": oldName}}}}
	if owner != oldOwner {
		key := map[string]string{kindUser: "user", kindOrganization: "organization"}[oldOwner.kind]
		payload["action"], payload["changes"] = "transferred", object{"owner": object{"from": object{key: s.userView(oldOwner)}}}
	}
	s.emit(r, "repository", by, payload, nil)
	for _, i := range heard {
		if !i.covers(r) {
			s.to(i.app, i, r, "installation_repositories", object{
				"action": "removed", "installation": s.installationView(i), "repository_selection": "all", "requester": nil,
				"repositories_added": []any{}, "repositories_removed": []object{shortRepository(r)}, "sender": s.userView(by),
			})
		}
	}
	return nil
}

// Archive makes a repository read-only, or writable again.
func (s *Server) Archive(fullName string, yes bool) error {
	return s.manage(fullName, func(r *repository) error { s.setArchived(r, yes, r.owner); return nil })
}

func (s *Server) setArchived(r *repository, yes bool, by *account) {
	if r.archived != yes {
		r.archived = yes
		s.emit(r, "repository", by, object{"action": map[bool]string{true: "archived", false: "unarchived"}[yes]}, nil)
	}
}

// SetPrivate changes who may see a repository.
func (s *Server) SetPrivate(fullName string, yes bool) error {
	return s.manage(fullName, func(r *repository) error { s.setPrivate(r, yes, r.owner); return nil })
}

func (s *Server) setPrivate(r *repository, yes bool, by *account) {
	if r.private != yes {
		r.private = yes
		s.emit(r, "repository", by, object{"action": map[bool]string{true: "privatized", false: "publicized"}[yes]}, nil)
	}
}

// RenameBranch renames a branch with all that stands on it: pull requests, protection,
// and that it is the default one.
func (s *Server) RenameBranch(fullName, from, to string) error {
	return s.manage(fullName, func(r *repository) error {
		if r.branch(from) == "" {
			return fmt.Errorf("%w: branch %q", ErrNotFound, from)
		}
		return s.moveBranch(r, from, to, r.owner)
	})
}

func (s *Server) moveBranch(r *repository, from, to string, by *account) error {
	sha := r.branch(from)
	if err := r.git.SetRef(s.ctx, "refs/heads/"+to, sha, ""); err != nil {
		return err
	}
	if err := r.git.SetRef(s.ctx, "refs/heads/"+from, "", sha); err != nil {
		return err
	}
	r.refs["refs/heads/"+to] = sha
	delete(r.refs, "refs/heads/"+from)
	if p := r.protections[from]; p != nil {
		r.protections[to] = p
		delete(r.protections, from)
	}
	for _, i := range r.sortedIssues() {
		if i.pull == nil || i.closed {
			continue
		}
		if i.pull.base == from {
			i.pull.base = to
			s.emitPull(r, i, "edited", by, object{"changes": object{"base": object{"ref": object{"from": from}, "sha": object{"from": sha}}}})
		}
		if i.pull.head.repository == r && i.pull.head.ref == from {
			i.pull.head.ref = to
		}
	}
	s.emitPush(r, "refs/heads/"+to, "", sha, false, by)
	s.emitPush(r, "refs/heads/"+from, sha, "", false, by)
	if r.defaultBranch == from {
		return s.setDefaultBranch(r, to, by)
	}
	return nil
}

func (s *Server) setDefaultBranch(r *repository, branch string, by *account) error {
	if r.defaultBranch == branch {
		return nil
	}
	before := r.defaultBranch
	if err := r.git.SetHead(s.ctx, branch); err != nil {
		return err
	}
	r.defaultBranch = branch
	s.emit(r, "repository", by, object{"action": "edited", "changes": object{"default_branch": object{"from": before}}}, nil)
	return nil
}

// DeleteRepository deletes one. Pull requests that came from it lose their head
// repository.
func (s *Server) DeleteRepository(fullName string) error {
	return s.manage(fullName, func(r *repository) error {
		s.emit(r, "repository", r.owner, object{"action": "deleted"}, nil)
		delete(s.repositories, r.id)
		for _, other := range s.repositories {
			for _, i := range other.issues {
				if i.pull != nil && i.pull.head.repository == r {
					i.pull.head.repository = nil
				}
			}
		}
		return r.git.Close()
	})
}

// Empty takes all branches and tags away, as if nothing had ever been pushed.
func (s *Server) Empty(fullName string) error {
	return s.manage(fullName, func(r *repository) error {
		for _, ref := range slices.Sorted(maps.Keys(r.refs)) {
			if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/") {
				if err := s.setRef(r, ref, "", r.owner); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Fork copies a repository to another account, which is made if it is not there.
func (s *Server) Fork(fullName, owner string) error {
	return s.manage(fullName, func(r *repository) error {
		f, err := s.newRepository(RepositorySpec{Name: owner + "/" + r.name, Private: r.private, DefaultBranch: r.defaultBranch})
		if err != nil {
			return err
		}
		f.fork = r
		if err := f.git.Fetch(s.ctx, r.git.Dir); err != nil {
			return err
		}
		f.refs, err = f.git.Refs(s.ctx)
		return err
	})
}
