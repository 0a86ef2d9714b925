package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
)

// issue is the issue or pull request of the path, if the caller may see that kind.
func (c *call) issue() (*issue, *reply) {
	deny := func(r reply) *reply { return &r }
	i := c.repo.issues[int(c.number("number"))]
	if i == nil {
		return nil, deny(notFound())
	}
	if i.pull == nil && c.repo.noIssues {
		return nil, deny(refuse(http.StatusGone, "Issues are disabled for this repo"))
	}
	if t := c.caller.token; i.pull == nil && t != nil && t.installation != nil {
		if n := c.route.need; n.level == "write" && !t.permissions.has("write", "issues") {
			return nil, deny(notIntegration(writing("issues")))
		}
	}
	return i, nil
}

func (s *Server) issueView(r *repository, i *issue) object {
	at := fmt.Sprintf("%s/issues/%d", s.repositoryAPI(r), i.number)
	kind := "issues"
	if i.pull != nil {
		kind = "pull"
	}
	page := fmt.Sprintf("%s/%s/%d", s.repositoryHTML(r), kind, i.number)
	state := "open"
	var reason any
	if i.closed {
		state = "closed"
		if i.pull == nil {
			reason = "completed"
		}
	}
	v := object{
		"id": i.id, "node_id": nodeID("I", i.id), "number": i.number, "title": i.title, "body": orNull(i.body), "user": s.userView(i.user),
		"state": state, "state_reason": reason, "locked": i.locked, "active_lock_reason": nil, "comments": len(i.comments),
		"url": at, "repository_url": s.repositoryAPI(r), "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"timeline_url": at + "/timeline", "html_url": page, "created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closedAt),
		"labels": s.labelViews(r, i.labels), "assignee": nil, "assignees": []any{}, "milestone": nil, "author_association": s.association(r, i.user),
		"reactions": rollup(at, i.reactions), "performed_via_github_app": s.appView(i.app),
	}
	if i.pull != nil {
		v["draft"] = i.pull.draft
		v["pull_request"] = object{
			"url": fmt.Sprintf("%s/pulls/%d", s.repositoryAPI(r), i.number), "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
			"merged_at": stamp(i.pull.mergedAt),
		}
	}
	return v
}

func (c *call) listIssues() reply {
	query := c.req.URL.Query()
	state := query.Get("state")
	list := slices.DeleteFunc(c.repo.sortedIssues(), func(i *issue) bool {
		return state != "all" && i.closed != (state == "closed") || query.Get("labels") != "" && !i.hasLabel(query.Get("labels"))
	})
	slices.Reverse(list)
	views := []object{}
	for _, i := range paged(c, list) {
		views = append(views, c.issueView(c.repo, i))
	}
	return ok(views)
}

func (c *call) createIssue() reply {
	if c.repo.noIssues {
		return refuse(http.StatusGone, "Issues has been disabled in this repository.")
	}
	in, bad := decode[struct {
		Title  any      `json:"title"`
		Body   string   `json:"body"`
		Labels []string `json:"labels"`
	}](c)
	if bad != nil {
		return *bad
	}
	title, _ := in.Title.(string)
	if title == "" {
		return invalid("Issue", "title", "missing_field", "")
	}
	if r := tooLong("Issue", in.Body); r != nil {
		return *r
	}
	by := c.caller.account()
	i := c.newIssue(c.repo, by, c.caller.actingApp(), title, in.Body)
	c.emit(c.repo, "issues", by, object{"action": "opened", "issue": c.issueView(c.repo, i)}, nil)
	for _, name := range in.Labels {
		c.addLabel(c.repo, i, name, by)
	}
	return created(c.issueView(c.repo, i))
}

func (c *call) getIssue() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	return ok(c.issueView(c.repo, i))
}

func (c *call) updateIssue() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	in, bad := decode[struct {
		Title  *string  `json:"title"`
		Body   *string  `json:"body"`
		State  string   `json:"state"`
		Labels []string `json:"labels"`
	}](c)
	if bad != nil {
		return *bad
	}
	by := c.caller.account()
	changes := object{}
	i.edit(in.Title, in.Body, changes)
	if len(changes) > 0 {
		i.updated = c.now()
		if i.pull != nil {
			c.emitPull(c.repo, i, "edited", by, object{"changes": changes})
		} else {
			c.emit(c.repo, "issues", by, object{"action": "edited", "issue": c.issueView(c.repo, i), "changes": changes}, nil)
		}
	}
	if in.Labels != nil {
		c.setLabels(i, in.Labels)
	}
	if in.State != "" {
		if err := c.setClosed(c.repo, i, in.State == "closed", by); err != nil {
			return invalidFrom("Issue", err)
		}
	}
	return ok(c.issueView(c.repo, i))
}

func (s *Server) commentView(r *repository, i *issue, c *comment) object {
	at := fmt.Sprintf("%s/issues/comments/%d", s.repositoryAPI(r), c.id)
	kind := "issues"
	if i.pull != nil {
		kind = "pull"
	}
	return object{
		"id": c.id, "node_id": nodeID("IC", c.id), "url": at, "issue_url": fmt.Sprintf("%s/issues/%d", s.repositoryAPI(r), i.number),
		"html_url": fmt.Sprintf("%s/%s/%d#issuecomment-%d", s.repositoryHTML(r), kind, i.number, c.id), "body": c.body, "user": s.userView(c.user),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": s.association(r, c.user),
		"reactions": rollup(at, c.reactions), "performed_via_github_app": s.appView(c.app),
	}
}

func (c *call) listComments() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	views := []object{}
	for _, m := range paged(c, i.comments) {
		views = append(views, c.commentView(c.repo, i, m))
	}
	return ok(views)
}

type bodyRequest struct {
	Body *string `json:"body"`
}

func (in bodyRequest) check() *reply {
	if in.Body == nil || *in.Body == "" {
		r := invalid("IssueComment", "body", "missing_field", "")
		return &r
	}
	return tooLong("IssueComment", *in.Body)
}

func (c *call) createComment() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	in, bad := decode[bodyRequest](c)
	if bad == nil {
		bad = in.check()
	}
	if bad != nil {
		return *bad
	}
	by := c.caller.account()
	if i.locked && !c.mayWrite(by) {
		return refuse(http.StatusForbidden, "Unable to create comment because issue is locked.")
	}
	return created(c.commentView(c.repo, i, c.comment(c.repo, i, by, c.caller.actingApp(), *in.Body)))
}

// mayWrite says whether a person writes to the repository; an App does not count.
func (c *call) mayWrite(a *account) bool {
	return slices.Index(roles, c.role(c.repo, a)) >= slices.Index(roles, "write")
}

func (s *Server) comment(r *repository, i *issue, by *account, through *app, body string) *comment {
	m := &comment{id: s.nextID(), user: by, app: through, body: body, created: s.now(), updated: s.now()}
	i.comments = append(i.comments, m)
	i.updated = s.now()
	s.emitComment(r, i, m, "created", by, nil)
	return m
}

// findComment finds a comment and what it is on.
func (r *repository) findComment(id int64) (*issue, *comment) {
	for _, i := range r.issues {
		for _, m := range i.comments {
			if m.id == id {
				return i, m
			}
		}
	}
	return nil, nil
}

func (c *call) getComment() reply {
	i, m := c.repo.findComment(c.number("comment_id"))
	if m == nil {
		return notFound()
	}
	return ok(c.commentView(c.repo, i, m))
}

func (c *call) updateComment() reply {
	i, m := c.repo.findComment(c.number("comment_id"))
	if m == nil {
		return notFound()
	}
	in, bad := decode[bodyRequest](c)
	if bad == nil {
		bad = in.check()
	}
	if bad != nil {
		return *bad
	}
	by := c.caller.account()
	if m.user != by && !c.mayWrite(by) {
		return notIntegration(c.route.need)
	}
	c.editComment(c.repo, i, m, by, *in.Body)
	return ok(c.commentView(c.repo, i, m))
}

func (s *Server) editComment(r *repository, i *issue, m *comment, by *account, body string) {
	before := m.body
	m.body, m.updated = body, s.now()
	s.emitComment(r, i, m, "edited", by, object{"changes": object{"body": object{"from": before}}})
}

func (c *call) deleteComment() reply {
	i, m := c.repo.findComment(c.number("comment_id"))
	if m == nil {
		return notFound()
	}
	i.comments = slices.DeleteFunc(i.comments, func(x *comment) bool { return x == m })
	c.emitComment(c.repo, i, m, "deleted", c.caller.account(), nil)
	return empty()
}

// reactionsOf is where the reactions of the path's issue or comment are kept.
func (c *call) reactionsOf() (*[]*reaction, *reply) {
	if c.args["comment_id"] != "" {
		if _, m := c.repo.findComment(c.number("comment_id")); m != nil {
			return &m.reactions, nil
		}
		r := notFound()
		return nil, &r
	}
	i, refused := c.issue()
	if refused != nil {
		return nil, refused
	}
	return &i.reactions, nil
}

func (c *call) listReactions() reply {
	list, refused := c.reactionsOf()
	if refused != nil {
		return *refused
	}
	views := []object{}
	for _, r := range paged(c, *list) {
		views = append(views, c.reactionView(r))
	}
	return ok(views)
}

// createReaction answers 200 for one that the caller gave before.
func (c *call) createReaction() reply {
	list, refused := c.reactionsOf()
	if refused != nil {
		return *refused
	}
	in, bad := decode[struct {
		Content string `json:"content"`
	}](c)
	if bad != nil {
		return *bad
	}
	if !slices.Contains(reactionKinds, in.Content) {
		return invalid("Reaction", "content", "invalid", "")
	}
	by := c.caller.account()
	for _, r := range *list {
		if r.user == by && r.content == in.Content {
			return ok(c.reactionView(r))
		}
	}
	r := &reaction{id: c.nextID(), user: by, content: in.Content, created: c.now()}
	*list = append(*list, r)
	return created(c.reactionView(r))
}

func (c *call) deleteReaction() reply {
	list, refused := c.reactionsOf()
	if refused != nil {
		return *refused
	}
	*list = slices.DeleteFunc(*list, func(r *reaction) bool { return r.id == c.number("reaction_id") })
	return empty()
}

func (c *call) lockIssue() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	i.locked = c.req.Method == http.MethodPut
	return empty()
}
