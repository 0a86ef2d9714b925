package fakegithub

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

// PullSpec says which pull request somebody opens.
type PullSpec struct {
	As             string // a login; empty: the owner
	Title, Body    string // empty title: the head's branch
	Head           string // a branch
	HeadRepository string // a fork's OWNER/NAME; empty: the repository itself
	Base           string // empty: the default branch
	Draft          bool
	Labels         []string
}

// OpenPullRequest opens one and gives its number.
func (s *Server) OpenPullRequest(repository string, spec PullSpec) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return 0, err
	}
	by := r.owner
	if spec.As != "" {
		if by, err = s.person(spec.As); err != nil {
			return 0, err
		}
	}
	from := r
	if spec.HeadRepository != "" {
		if from, err = s.repository(spec.HeadRepository); err != nil {
			return 0, err
		}
	}
	if spec.Base == "" {
		spec.Base = r.defaultBranch
	}
	if spec.Title == "" {
		spec.Title = spec.Head
	}
	i, err := s.openPull(r, from, spec, by, nil)
	if err != nil {
		return 0, err
	}
	for _, name := range spec.Labels {
		s.addLabel(r, i, name, by)
	}
	return i.number, nil
}

// openPull opens a pull request, or says in a refusal why GitHub would not.
func (s *Server) openPull(r, from *repository, spec PullSpec, by *account, through *app) (*issue, error) {
	head, base := from.branch(spec.Head), r.branch(spec.Base)
	switch {
	case head == "":
		return nil, &refusal{"head", "invalid", ""}
	case base == "":
		return nil, &refusal{"base", "invalid", ""}
	}
	for _, i := range r.issues {
		if p := i.pull; p != nil && !i.closed && p.head.repository == from && p.head.ref == spec.Head && p.base == spec.Base {
			return nil, &refusal{"", "custom", fmt.Sprintf("A pull request already exists for %s:%s.", from.owner.login, spec.Head)}
		}
	}
	if from != r {
		// The comparison needs both in one place.
		if err := r.git.Fetch(s.ctx, from.git.Dir, "refs/heads/"+spec.Head); err != nil {
			return nil, err
		}
	}
	cmp, err := r.git.Compare(s.ctx, base, head)
	if err != nil {
		return nil, err
	}
	if len(cmp.Ahead) == 0 {
		return nil, &refusal{"", "custom", fmt.Sprintf("No commits between %s and %s", spec.Base, spec.Head)}
	}
	i := s.newIssue(r, by, through, spec.Title, spec.Body)
	i.pull = &pull{
		head: pullSide{repository: from, owner: from.owner, ref: spec.Head, sha: head}, base: spec.Base, draft: spec.Draft,
	}
	if err := s.keepHead(r, i); err != nil {
		return nil, err
	}
	s.emitPull(r, i, "opened", by, nil)
	return i, nil
}

// refusal is why GitHub does not do a thing, in the parts of a 422.
type refusal struct{ field, code, message string }

func (e *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", e.field, e.code, e.message))
}

func (e *refusal) Is(target error) bool { return target == ErrRefused }

// invalidFrom makes a 422 of a refusal, a 500 of anything else.
func invalidFrom(resource string, err error) reply {
	var r *refusal
	if errors.As(err, &r) {
		return invalid(resource, r.field, r.code, r.message)
	}
	return broken(err)
}

func (s *Server) newIssue(r *repository, by *account, through *app, title, body string) *issue {
	r.lastNumber++
	i := &issue{
		id: s.nextID(), number: r.lastNumber, user: by, app: through, title: title, body: body, created: s.now(), updated: s.now(),
	}
	r.issues[i.number] = i
	return i
}

// comparison is what a pull request brings, as it stands.
func (s *Server) comparison(r *repository, i *issue) (*bare.Comparison, error) {
	base := s.baseSHA(r, i)
	return r.git.Compare(s.ctx, base, i.pull.head.sha)
}

// baseSHA is where the base stands, or stood when the pull request ended.
func (s *Server) baseSHA(r *repository, i *issue) git.ID {
	if i.pull.baseSHA != "" {
		return i.pull.baseSHA
	}
	return r.branch(i.pull.base)
}

// mergeable says whether git merges it; not known while GitHub is said to think.
func (s *Server) mergeable(r *repository, i *issue) (yes, known bool) {
	if i.closed {
		return false, false
	}
	at := [2]git.ID{s.baseSHA(r, i), i.pull.head.sha}
	if s.options.LazyMergeability && i.pull.looked != at {
		i.pull.looked = at
		return false, false
	}
	cmp, err := s.comparison(r, i)
	if err != nil {
		return false, false
	}
	_, clean, err := cmp.Merge(s.ctx)
	return clean, err == nil
}

// setClosed closes or reopens an issue or pull request.
func (s *Server) setClosed(r *repository, i *issue, closed bool, by *account) error {
	if i.closed == closed {
		return nil
	}
	if !closed && i.pull != nil {
		if i.pull.merged {
			return &refusal{"state", "invalid", "The pull request cannot be reopened because it was merged."}
		}
		from := i.pull.head.repository
		if from == nil || from.branch(i.pull.head.ref) == "" {
			return &refusal{"state", "invalid", fmt.Sprintf("state cannot be changed. The %s branch has been deleted.", i.pull.head.ref)}
		}
		i.pull.head.sha = from.branch(i.pull.head.ref)
	}
	i.closed, i.updated = closed, s.now()
	action := "reopened"
	i.closedAt = time.Time{}
	if closed {
		action, i.closedAt = "closed", s.now()
	}
	if i.pull == nil {
		s.emit(r, "issues", by, object{"action": action, "issue": s.issueView(r, i)}, nil)
		return nil
	}
	if !closed {
		i.pull.baseSHA = ""
		if err := s.keepHead(r, i); err != nil {
			return err
		}
	} else if i.pull.baseSHA == "" {
		i.pull.baseSHA = r.branch(i.pull.base)
	}
	s.emitPull(r, i, action, by, nil)
	return nil
}

// merged marks a pull request as merged by a commit that is on the base.
func (s *Server) merged(r *repository, i *issue, commit git.ID, by *account) error {
	i.pull.merged, i.pull.mergedAt, i.pull.mergedBy, i.pull.mergeCommit = true, s.now(), by, commit
	return s.setClosed(r, i, true, by)
}

// mergeRefusal says why a pull request cannot be merged now; empty if it can.
func (s *Server) mergeRefusal(r *repository, i *issue, method string, by *account) (string, error) {
	if i.closed {
		return "Pull Request is not mergeable", nil
	}
	if i.pull.draft {
		return "Pull Request is still a draft", nil
	}
	if clean, _ := s.mergeableNow(r, i); !clean {
		return "Pull Request is not mergeable", nil
	}
	p := r.protections[i.pull.base]
	if p == nil || !p.EnforceAdmins && s.role(r, by) == "admin" {
		return "", nil
	}
	if missing := s.missingChecks(r, p, i.pull.head.sha); len(missing) > 0 {
		return requiredCheck(missing), nil
	}
	if p.RequiredReviews > 0 && i.decision(p) != "APPROVED" {
		return fmt.Sprintf("At least %d approving review is required by reviewers with write access.", p.RequiredReviews), nil
	}
	if p.Strict {
		cmp, err := s.comparison(r, i)
		if err != nil {
			return "", err
		}
		if cmp.Behind > 0 {
			return "Head branch is out of date. Review and try the merge again.", nil
		}
	}
	if method == "squash" {
		return "", nil
	}
	return s.signatureRefusal(r, p, s.baseSHA(r, i), i.pull.head.sha)
}

func (s *Server) mergeableNow(r *repository, i *issue) (bool, error) {
	cmp, err := s.comparison(r, i)
	if err != nil {
		return false, err
	}
	_, clean, err := cmp.Merge(s.ctx)
	return clean, err
}

// merge merges a pull request that nothing stands against.
func (s *Server) merge(r *repository, i *issue, method, title, message string, by *account) (git.ID, error) {
	cmp, err := s.comparison(r, i)
	if err != nil {
		return "", err
	}
	tree, _, err := cmp.Merge(s.ctx)
	if err != nil {
		return "", err
	}
	base, head := s.baseSHA(r, i), i.pull.head.sha
	spec := bare.CommitSpec{Tree: tree, Parents: []git.ID{base, head}, Author: s.signatureOf(by), Committer: s.webFlow()}
	if title == "" {
		title = fmt.Sprintf("Merge pull request #%d from %s/%s", i.number, i.pull.head.owner.login, i.pull.head.ref)
		if method == "squash" {
			title = fmt.Sprintf("%s (#%d)", i.title, i.number)
		}
		if message == "" {
			message = i.title
		}
	}
	if method == "squash" {
		spec.Parents = []git.ID{base}
		spec.Author = s.signatureOf(i.user)
	}
	spec.Message = strings.TrimSpace(title + "\n\n" + message)
	id, err := s.writeCommit(r, spec, true)
	if err != nil {
		return "", err
	}
	// A merge commit would find the pull request merged by itself; a squash would not.
	if err := s.merged(r, i, id, by); err != nil {
		return "", err
	}
	if err := s.setRef(r, "refs/heads/"+i.pull.base, id, by); err != nil {
		return "", err
	}
	if from := i.pull.head.repository; r.deleteBranchOnMerge && from == r {
		return id, s.setRef(r, "refs/heads/"+i.pull.head.ref, "", by)
	}
	return id, nil
}

// decision is GraphQL's reviewDecision: empty when no reviews are asked for.
func (i *issue) decision(p *Protection) string {
	latest := map[*account]string{}
	for _, v := range i.pull.reviews {
		if v.state != "COMMENTED" {
			latest[v.user] = v.state
		}
	}
	approvals := 0
	for _, state := range latest {
		switch state {
		case "CHANGES_REQUESTED":
			return "CHANGES_REQUESTED"
		case "APPROVED":
			approvals++
		}
	}
	if p == nil || p.RequiredReviews == 0 {
		return ""
	}
	if approvals >= p.RequiredReviews {
		return "APPROVED"
	}
	return "REVIEW_REQUIRED"
}

func (s *Server) association(r *repository, a *account) string {
	switch {
	case a == r.owner:
		return "OWNER"
	case r.owner.members[fold(a.login)]:
		return "MEMBER"
	case r.roles[fold(a.login)] != "":
		return "COLLABORATOR"
	}
	return "NONE"
}

// simplePullView is a pull request in a list.
func (s *Server) simplePullView(r *repository, i *issue) object {
	p, n := i.pull, fmt.Sprint(i.number)
	at, page := s.repositoryAPI(r), s.repositoryHTML(r)+"/pull/"+n
	self, issueURL := at+"/pulls/"+n, at+"/issues/"+n
	link := func(to string) object { return object{"href": to} }
	state := "open"
	if i.closed {
		state = "closed"
	}
	base := object{"label": r.owner.login + ":" + p.base, "ref": p.base, "sha": s.baseSHA(r, i), "user": s.userView(r.owner), "repo": s.repositoryView(r)}
	head := object{"label": p.head.owner.login + ":" + p.head.ref, "ref": p.head.ref, "sha": p.head.sha, "user": s.userView(p.head.owner), "repo": s.repositoryView(p.head.repository)}
	return object{
		"id": i.id, "node_id": nodeID("PR", i.id), "number": i.number, "state": state, "locked": i.locked, "title": i.title, "body": orNull(i.body),
		"user": s.userView(i.user), "draft": p.draft, "url": self, "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
		"issue_url": issueURL, "commits_url": self + "/commits", "review_comments_url": self + "/comments",
		"review_comment_url": at + "/pulls/comments{/number}", "comments_url": issueURL + "/comments", "statuses_url": at + "/statuses/" + string(p.head.sha),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closedAt), "merged_at": stamp(p.mergedAt),
		"merge_commit_sha": orNull(string(p.mergeCommit)), "assignee": nil, "assignees": []any{}, "requested_reviewers": []any{}, "requested_teams": []any{},
		"labels": s.labelViews(r, i.labels), "milestone": nil, "auto_merge": nil, "active_lock_reason": nil, "author_association": s.association(r, i.user),
		"base": base, "head": head,
		"_links": object{
			"self": link(self), "html": link(page), "issue": link(issueURL), "comments": link(issueURL + "/comments"), "commits": link(self + "/commits"),
			"review_comments": link(self + "/comments"), "review_comment": link(at + "/pulls/comments{/number}"), "statuses": link(at + "/statuses/" + string(p.head.sha)),
		},
	}
}

// pullView is a pull request by itself.
func (s *Server) pullView(r *repository, i *issue) object {
	v := s.simplePullView(r, i)
	additions, deletions, files, commits := 0, 0, 0, 0
	if cmp, err := s.comparison(r, i); err == nil {
		commits = len(cmp.Ahead)
		if list, err := cmp.Files(s.ctx); err == nil {
			files = len(list)
			for _, f := range list {
				additions += f.Additions
				deletions += f.Deletions
			}
		}
	}
	v["additions"], v["deletions"], v["changed_files"], v["commits"] = additions, deletions, files, commits
	v["comments"], v["review_comments"], v["maintainer_can_modify"] = len(i.comments), 0, i.pull.maintainerCanModify
	v["merged"], v["merged_by"], v["rebaseable"] = i.pull.merged, s.userView(i.pull.mergedBy), nil
	v["mergeable"], v["mergeable_state"] = nil, "unknown"
	if yes, known := s.mergeable(r, i); known {
		v["mergeable"], v["mergeable_state"] = yes, s.mergeState(r, i, yes)
	}
	return v
}

func (s *Server) mergeState(r *repository, i *issue, clean bool) string {
	if !clean {
		return "dirty"
	}
	if i.pull.draft {
		return "draft"
	}
	p := r.protections[i.pull.base]
	if p != nil {
		if len(s.missingChecks(r, p, i.pull.head.sha)) > 0 || i.decision(p) == "REVIEW_REQUIRED" {
			return "blocked"
		}
		if cmp, err := s.comparison(r, i); p.Strict && err == nil && cmp.Behind > 0 {
			return "behind"
		}
	}
	if state, _ := r.rollup(i.pull.head.sha); slices.Contains([]string{"FAILURE", "ERROR", "PENDING"}, state) {
		return "unstable"
	}
	return "clean"
}

// pulls are a repository's pull requests, youngest first.
func (r *repository) pulls() []*issue {
	var list []*issue
	for _, i := range r.sortedIssues() {
		if i.pull != nil {
			list = append(list, i)
		}
	}
	slices.Reverse(list)
	return list
}
