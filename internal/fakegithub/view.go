package fakegithub

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// api is the address of something in the API; arguments are numbers and names that
// were checked when they were made.
func (s *Server) api(format string, args ...any) string {
	return s.url + "/api/v3" + fmt.Sprintf(format, args...)
}

func (s *Server) html(format string, args ...any) string {
	return s.url + fmt.Sprintf(format, args...)
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// or is a string, or null when it is empty.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nodeID(kind string, id int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", kind, id))
}

func nodeSHA(kind string, id git.ID) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s:%s", kind, id))
}

func (s *Server) userView(a *account) any {
	if a == nil {
		return nil
	}
	at := s.api("/users/%s", a.login)
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID("U", a.id), "type": a.kind, "site_admin": false,
		"avatar_url": s.html("/avatars/%d", a.id), "gravatar_id": "", "url": at, "html_url": s.html("/%s", a.login),
		"followers_url": at + "/followers", "following_url": at + "/following{/other_user}",
		"gists_url": at + "/gists{/gist_id}", "starred_url": at + "/starred{/owner}{/repo}",
		"subscriptions_url": at + "/subscriptions", "organizations_url": at + "/orgs", "repos_url": at + "/repos",
		"events_url": at + "/events{/privacy}", "received_events_url": at + "/received_events", "user_view_type": "public",
	}
}

// repositoryURLs are the addresses that a repository is shown with, below its own.
var repositoryURLs = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}",
	"comments_url": "/comments{/number}", "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
	"contents_url": "/contents/{+path}", "contributors_url": "/contributors", "deployments_url": "/deployments",
	"downloads_url": "/downloads", "events_url": "/events", "forks_url": "/forks", "git_commits_url": "/git/commits{/sha}",
	"git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}", "hooks_url": "/hooks",
	"issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}",
	"languages_url": "/languages", "merges_url": "/merges", "milestones_url": "/milestones{/number}",
	"notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}",
	"releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
	"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams",
	"trees_url": "/git/trees{/sha}",
}

func (s *Server) repositoryAPI(r *repository) string {
	return s.api("/repos/%s", r.fullName())
}

func (s *Server) repositoryHTML(r *repository) string { return s.html("/%s", r.fullName()) }

func (s *Server) repositoryView(r *repository) any {
	if r == nil {
		return nil
	}
	at, open := s.repositoryAPI(r), 0
	for _, i := range r.issues {
		if !i.closed {
			open++
		}
	}
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	v := object{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "owner": s.userView(r.owner),
		"private": r.private, "visibility": visibility, "description": orNull(r.description), "fork": r.fork != nil,
		"url": at, "html_url": s.repositoryHTML(r), "archived": r.archived, "disabled": false,
		"git_url": "git" + s.url[4:] + "/" + r.fullName() + ".git", "clone_url": s.repositoryHTML(r) + ".git",
		"ssh_url": "git@localhost:" + r.fullName() + ".git", "svn_url": s.repositoryHTML(r), "mirror_url": nil, "homepage": nil,
		"default_branch": r.defaultBranch, "language": nil, "license": nil, "topics": []string{},
		"forks": 0, "forks_count": 0, "watchers": 0, "watchers_count": 0, "stargazers_count": 0, "size": 1,
		"open_issues": open, "open_issues_count": open, "is_template": false, "allow_forking": true, "web_commit_signoff_required": false,
		"has_issues": !r.noIssues, "has_projects": false, "has_downloads": true, "has_wiki": false, "has_pages": false, "has_discussions": false,
		"created_at": stamp(r.created), "updated_at": stamp(r.updated), "pushed_at": stamp(r.pushed),
	}
	for name, suffix := range repositoryURLs {
		v[name] = at + suffix
	}
	return v
}

// fullRepositoryView has what only the repository's own address shows.
func (s *Server) fullRepositoryView(r *repository, role string) any {
	v := s.repositoryView(r).(object)
	v["network_count"], v["subscribers_count"] = 0, 0
	v["allow_merge_commit"], v["allow_squash_merge"], v["allow_rebase_merge"] = true, true, false
	v["delete_branch_on_merge"], v["allow_auto_merge"] = r.deleteBranchOnMerge, false
	v["permissions"] = permissionFlags(role)
	return v
}

func permissionFlags(role string) object {
	flags := object{}
	for flag, least := range map[string]string{"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"} {
		flags[flag] = slices.Index(roles, role) >= slices.Index(roles, least)
	}
	return flags
}

func (s *Server) appView(a *app) any {
	if a == nil {
		return nil
	}
	return object{
		"id": a.id, "node_id": nodeID("A", a.id), "slug": a.slug, "name": a.name, "description": orNull(a.description),
		"client_id": a.clientID, "owner": s.userView(a.owner), "external_url": a.external, "html_url": s.html("/apps/%s", a.slug),
		"created_at": stamp(a.created), "updated_at": stamp(a.created), "permissions": a.permissions, "events": nonNil(a.events),
	}
}

func (s *Server) installationView(i *installation) any {
	selection := "all"
	if i.repositories != nil {
		selection = "selected"
	}
	return object{
		"id": i.id, "account": s.userView(i.account), "app_id": i.app.id, "app_slug": i.app.slug, "client_id": i.app.clientID,
		"target_id": i.account.id, "target_type": i.account.kind, "repository_selection": selection,
		"access_tokens_url": s.api("/app/installations/%d/access_tokens", i.id), "repositories_url": s.api("/installation/repositories"),
		"html_url": s.html("/settings/installations/%d", i.id), "permissions": i.permissions, "events": nonNil(i.events),
		"created_at": stamp(i.created), "updated_at": stamp(i.created), "single_file_name": nil, "has_multiple_single_files": false,
		"single_file_paths": []string{}, "suspended_at": stamp(i.suspended), "suspended_by": s.userView(i.suspendedBy),
	}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) labelView(r *repository, l *label) object {
	return object{
		"id": l.id, "node_id": nodeID("LA", l.id), "name": l.name, "color": l.color, "default": false, "description": orNull(l.description),
		"url": s.repositoryAPI(r) + "/labels/" + pathEscape(l.name),
	}
}

func (s *Server) labelViews(r *repository, list []*label) []object {
	views := []object{}
	for _, l := range list {
		views = append(views, s.labelView(r, l))
	}
	return views
}

// reactionKinds are GitHub's, and the keys of a rollup.
var reactionKinds = []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"}

func rollup(at string, list []*reaction) object {
	v := object{"url": at + "/reactions", "total_count": len(list)}
	for _, k := range reactionKinds {
		v[k] = 0
	}
	for _, r := range list {
		v[r.content] = v[r.content].(int) + 1
	}
	return v
}

func (s *Server) reactionView(r *reaction) object {
	return object{"id": r.id, "node_id": nodeID("RE", r.id), "user": s.userView(r.user), "content": r.content, "created_at": stamp(r.created)}
}
