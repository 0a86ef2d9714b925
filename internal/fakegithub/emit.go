package fakegithub

import (
	"slices"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// eventScopes says which permission an App needs, to read, for an event.
var eventScopes = map[string][]string{
	"push": {"contents"}, "create": {"contents"}, "delete": {"contents"},
	"pull_request": {"pull_requests"}, "pull_request_review": {"pull_requests"},
	"issues": {"issues"}, "issue_comment": {"issues", "pull_requests"},
	"check_run": {"checks"}, "check_suite": {"checks"}, "status": {"statuses"},
	"repository": {"metadata"}, "label": {"metadata"}, "member": {"metadata"},
}

// emit tells every App that listens of an event on a repository. To only, if it is
// given, go those that are its owner's business alone.
func (s *Server) emit(r *repository, event string, sender *account, payload object, only *app) {
	payload["repository"], payload["sender"] = s.repositoryView(r), s.userView(sender)
	if r.owner.kind == kindOrganization {
		payload["organization"] = s.organizationView(r.owner)
	}
	for _, i := range s.listeners(r, event) {
		if only == nil || only == i.app {
			p := object{}
			for k, v := range payload {
				p[k] = v
			}
			s.to(i.app, i, r, event, p)
		}
	}
}

// listeners are the installations that hear of an event on a repository.
func (s *Server) listeners(r *repository, event string) []*installation {
	var list []*installation
	for _, i := range s.installations {
		if i.app.hookURL != "" && i.covers(r) && i.suspended.IsZero() && slices.Contains(i.events, event) && i.permissions.has("read", eventScopes[event]...) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *installation) int { return int(a.id - b.id) })
	return list
}

func (s *Server) organizationView(a *account) object {
	at := s.api("/orgs/%s", a.login)
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID("O", a.id), "url": at, "repos_url": at + "/repos", "events_url": at + "/events",
		"hooks_url": at + "/hooks", "issues_url": at + "/issues", "members_url": at + "/members{/member}",
		"public_members_url": at + "/public_members{/member}", "avatar_url": s.html("/avatars/%d", a.id), "description": "",
	}
}

// emitInstallation tells an App of one of its installations, asked for or not.
func (s *Server) emitInstallation(i *installation, action string, sender *account) {
	list := []object{}
	for _, r := range s.repositories {
		if i.covers(r) {
			list = append(list, shortRepository(r))
		}
	}
	slices.SortFunc(list, func(a, b object) int { return int(a["id"].(int64) - b["id"].(int64)) })
	s.to(i.app, i, nil, "installation", object{
		"action": action, "installation": s.installationView(i), "repositories": list, "requester": nil, "sender": s.userView(sender),
	})
}

func shortRepository(r *repository) object {
	return object{"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "private": r.private}
}

// deaf says that nobody listens, so that a payload need not be made.
func (s *Server) deaf(r *repository, event string) bool { return len(s.listeners(r, event)) == 0 }

func (s *Server) emitPull(r *repository, i *issue, action string, sender *account, more object) {
	if s.deaf(r, "pull_request") {
		return
	}
	payload := object{"action": action, "number": i.number, "pull_request": s.pullView(r, i)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(r, "pull_request", sender, payload, nil)
}

func (s *Server) emitComment(r *repository, i *issue, c *comment, action string, sender *account, more object) {
	if s.deaf(r, "issue_comment") {
		return
	}
	payload := object{"action": action, "issue": s.issueView(r, i), "comment": s.commentView(r, i, c)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(r, "issue_comment", sender, payload, nil)
}

func (s *Server) emitCheck(r *repository, run *checkRun, action string, sender *account, more object) {
	if s.deaf(r, "check_run") {
		return
	}
	payload := object{"action": action, "check_run": s.checkView(r, run)}
	for k, v := range more {
		payload[k] = v
	}
	var only *app
	if action == "rerequested" || action == "requested_action" {
		only = run.suite.app
	}
	s.emit(r, "check_run", sender, payload, only)
}

func (s *Server) emitSuite(r *repository, u *suite, action string, sender *account) {
	if s.deaf(r, "check_suite") {
		return
	}
	s.emit(r, "check_suite", sender, object{"action": action, "check_suite": s.suiteView(r, u)}, u.app)
}

// emitPush tells of a reference that moved; zero IDs mean made or gone.
func (s *Server) emitPush(r *repository, ref string, before, after git.ID, forced bool, sender *account) {
	if s.deaf(r, "push") && s.deaf(r, "create") && s.deaf(r, "delete") {
		return
	}
	const none = "0000000000000000000000000000000000000000"
	show := func(id git.ID) string {
		if id.IsZero() {
			return none
		}
		return string(id)
	}
	payload := object{
		"ref": ref, "before": show(before), "after": show(after), "created": before.IsZero(), "deleted": after.IsZero(), "forced": forced,
		"base_ref": nil, "compare": s.repositoryHTML(r) + "/compare/" + show(before) + "..." + show(after),
		"pusher": object{"name": sender.login, "email": sender.email}, "commits": []object{}, "head_commit": nil,
	}
	if !after.IsZero() {
		commits := s.pushedCommits(r, before, after)
		payload["commits"] = commits
		if head := s.pushedCommits(r, "", after); len(head) > 0 {
			payload["head_commit"] = head[0]
		}
	}
	s.emit(r, "push", sender, payload, nil)
	kind, name := "branch", ref
	for prefix, k := range map[string]string{"refs/heads/": "branch", "refs/tags/": "tag"} {
		if len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
			kind, name = k, ref[len(prefix):]
		}
	}
	switch {
	case before.IsZero():
		s.emit(r, "create", sender, object{"ref": name, "ref_type": kind, "master_branch": r.defaultBranch, "description": orNull(r.description), "pusher_type": "user"}, nil)
	case after.IsZero():
		s.emit(r, "delete", sender, object{"ref": name, "ref_type": kind, "pusher_type": "user"}, nil)
	}
}

// maxPushedCommits is how many a push event lists
// (docs.github.com, webhook events: up to 2048; fewer do for us).
const maxPushedCommits = 50

func (s *Server) pushedCommits(r *repository, before, after git.ID) []object {
	views := []object{}
	var list []git.Commit
	if before.IsZero() {
		c, err := r.git.Commit(s.ctx, after)
		if err != nil {
			return views
		}
		list = append(list, c)
	} else if cmp, err := r.git.Compare(s.ctx, before, after); err == nil {
		list = cmp.Ahead
	}
	for _, c := range list[max(0, len(list)-maxPushedCommits):] {
		added, removed, modified := []string{}, []string{}, []string{}
		if len(c.Parents) > 0 {
			files, _ := r.git.Diff(s.ctx, c.Parents[0], c.ID)
			for _, f := range files {
				switch f.Status {
				case "added":
					added = append(added, f.Path)
				case "removed":
					removed = append(removed, f.Path)
				default:
					modified = append(modified, f.Path)
				}
			}
		}
		views = append(views, object{
			"id": c.ID, "tree_id": c.Tree, "distinct": true, "message": c.Message, "timestamp": when(c.Committer),
			"url":    s.repositoryHTML(r) + "/commit/" + string(c.ID),
			"author": object{"name": c.Author.Name, "email": c.Author.Email, "username": s.loginOf(c.Author.Email)}, "committer": object{"name": c.Committer.Name, "email": c.Committer.Email},
			"added": added, "removed": removed, "modified": modified,
		})
	}
	return views
}
