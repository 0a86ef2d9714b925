package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (c *call) listPulls() reply {
	query := c.req.URL.Query()
	state := query.Get("state")
	views := []object{}
	list := slices.DeleteFunc(c.repo.pulls(), func(i *issue) bool {
		head := i.pull.head.owner.login + ":" + i.pull.head.ref
		return state != "all" && i.closed != (state == "closed") ||
			query.Get("base") != "" && query.Get("base") != i.pull.base ||
			query.Get("head") != "" && fold(query.Get("head")) != fold(head)
	})
	if query.Get("sort") == "updated" {
		slices.SortStableFunc(list, func(a, b *issue) int { return b.updated.Compare(a.updated) })
	}
	if query.Get("direction") == "asc" {
		slices.Reverse(list)
	}
	for _, i := range paged(c, list) {
		views = append(views, c.simplePullView(c.repo, i))
	}
	return ok(views)
}

func (c *call) createPull() reply {
	in, bad := decode[struct {
		Title               *string `json:"title"`
		Body                string  `json:"body"`
		Head                string  `json:"head"`
		HeadRepo            string  `json:"head_repo"`
		Base                string  `json:"base"`
		Draft               bool    `json:"draft"`
		MaintainerCanModify *bool   `json:"maintainer_can_modify"`
	}](c)
	if bad != nil {
		return *bad
	}
	for field, value := range map[string]string{"head": in.Head, "base": in.Base} {
		if value == "" {
			return invalid("PullRequest", field, "missing_field", "")
		}
	}
	if in.Title == nil || *in.Title == "" {
		return invalid("PullRequest", "title", "missing_field", "")
	}
	if r := tooLong("PullRequest", in.Body); r != nil {
		return *r
	}
	from, ref := c.repo, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		ref = branch
		name := c.repo.name
		if in.HeadRepo != "" {
			name = in.HeadRepo
		}
		if fold(owner) != fold(c.repo.owner.login) {
			if from, _ = c.lookup(owner, name); from == nil {
				return invalid("PullRequest", "head", "invalid", "")
			}
		}
	}
	i, err := c.openPull(c.repo, from, PullSpec{Title: *in.Title, Body: in.Body, Head: ref, Base: in.Base, Draft: in.Draft}, c.caller.account(), c.caller.actingApp())
	if err != nil {
		return invalidFrom("PullRequest", err)
	}
	i.pull.maintainerCanModify = in.MaintainerCanModify != nil && *in.MaintainerCanModify && from != c.repo
	return created(c.pullView(c.repo, i))
}

// maxBodyRunes is the longest body of an issue, pull request or comment, in characters
// (GitHub answers "body is too long (maximum is 65536 characters)").
const maxBodyRunes = 65536

func tooLong(resource, body string) *reply {
	if n := len([]rune(body)); n > maxBodyRunes {
		r := invalid(resource, "body", "custom", fmt.Sprintf("body is too long (maximum is %d characters)", maxBodyRunes))
		return &r
	}
	return nil
}

// pull is the pull request of the path.
func (c *call) pull() *issue {
	if i := c.repo.issues[int(c.number("number"))]; i != nil && i.pull != nil {
		return i
	}
	return nil
}

func (c *call) getPull() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	return ok(c.pullView(c.repo, i))
}

func (c *call) updatePull() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	in, bad := decode[struct {
		Title *string `json:"title"`
		Body  *string `json:"body"`
		State string  `json:"state"`
		Base  string  `json:"base"`
	}](c)
	if bad != nil {
		return *bad
	}
	by := c.caller.account()
	if in.Body != nil {
		if r := tooLong("PullRequest", *in.Body); r != nil {
			return *r
		}
	}
	changes := object{}
	if in.Base != "" && in.Base != i.pull.base {
		if c.repo.branch(in.Base) == "" {
			return invalid("PullRequest", "base", "invalid", "")
		}
		changes["base"] = object{"ref": object{"from": i.pull.base}, "sha": object{"from": c.baseSHA(c.repo, i)}}
		i.pull.base = in.Base
	}
	i.edit(in.Title, in.Body, changes)
	if len(changes) > 0 {
		i.updated = c.now()
		c.emitPull(c.repo, i, "edited", by, object{"changes": changes})
	}
	switch in.State {
	case "", "open", "closed":
	default:
		return invalid("PullRequest", "state", "invalid", "")
	}
	if in.State != "" {
		if err := c.setClosed(c.repo, i, in.State == "closed", by); err != nil {
			return invalidFrom("PullRequest", err)
		}
	}
	return ok(c.pullView(c.repo, i))
}

// edit changes title and body and notes what they were.
func (i *issue) edit(title, body *string, changes object) {
	if title != nil && *title != "" && *title != i.title {
		changes["title"] = object{"from": i.title}
		i.title = *title
	}
	if body != nil && *body != i.body {
		changes["body"] = object{"from": i.body}
		i.body = *body
	}
}

// maxPullFiles and maxPullCommits are where GitHub's lists end
// (docs.github.com, list pull requests files; list commits on a pull request).
const (
	maxPullFiles   = 3000
	maxPullCommits = 250
)

func (c *call) pullFiles() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	cmp, err := c.comparison(c.repo, i)
	if err != nil {
		return broken(err)
	}
	files, err := cmp.Files(c.ctx)
	if err != nil {
		return broken(err)
	}
	views := []object{}
	for _, f := range paged(c, files[:min(len(files), maxPullFiles)]) {
		views = append(views, c.fileView(c.repo, i.pull.head.sha, f))
	}
	return ok(views)
}

func (c *call) pullCommits() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	cmp, err := c.comparison(c.repo, i)
	if err != nil {
		return broken(err)
	}
	views := []object{}
	for _, commit := range paged(c, cmp.Ahead[:min(len(cmp.Ahead), maxPullCommits)]) {
		views = append(views, c.commitView(c.repo, commit))
	}
	return ok(views)
}

func (c *call) isMerged() reply {
	if i := c.pull(); i == nil || !i.pull.merged {
		return notFound()
	}
	return empty()
}

func (c *call) mergePull() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	in, bad := decode[struct {
		CommitTitle   string `json:"commit_title"`
		CommitMessage string `json:"commit_message"`
		SHA           string `json:"sha"`
		MergeMethod   string `json:"merge_method"`
	}](c)
	if bad != nil {
		return *bad
	}
	if in.SHA != "" && in.SHA != string(i.pull.head.sha) {
		return refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	}
	switch in.MergeMethod {
	case "":
		in.MergeMethod = "merge"
	case "merge", "squash":
	case "rebase":
		return refuse(http.StatusMethodNotAllowed, "Rebase merges are not allowed on this repository.")
	default:
		return invalid("PullRequest", "merge_method", "invalid", "")
	}
	by := c.caller.account()
	why, err := c.mergeRefusal(c.repo, i, in.MergeMethod, by)
	if err != nil {
		return broken(err)
	}
	if why != "" {
		return refuse(http.StatusMethodNotAllowed, "%s", why)
	}
	if !i.closed {
		word, err := c.workflowRefusal(c.repo, c.caller.token, i.pull.base, c.baseSHA(c.repo, i), i.pull.head.sha)
		if err != nil {
			return broken(err)
		}
		if word != "" {
			return refuse(http.StatusForbidden, "%s", word)
		}
	}
	sha, err := c.merge(c.repo, i, in.MergeMethod, in.CommitTitle, in.CommitMessage, by)
	if err != nil {
		return broken(err)
	}
	return ok(object{"sha": sha, "merged": true, "message": "Pull Request successfully merged"})
}

func (c *call) commitPulls() reply {
	sha := c.resolve(c.repo, c.args["ref"])
	views := []object{}
	for _, i := range c.repo.pulls() {
		cmp, err := c.comparison(c.repo, i)
		if err != nil {
			continue
		}
		for _, commit := range cmp.Ahead {
			if commit.ID == sha {
				views = append(views, c.simplePullView(c.repo, i))
			}
		}
	}
	return ok(views)
}

func (c *call) listReviews() reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	views := []object{}
	for _, v := range paged(c, i.pull.reviews) {
		views = append(views, c.reviewView(c.repo, i, v))
	}
	return ok(views)
}

func (s *Server) reviewView(r *repository, i *issue, v *review) object {
	page := fmt.Sprintf("%s/pull/%d#pullrequestreview-%d", s.repositoryHTML(r), i.number, v.id)
	at := fmt.Sprintf("%s/pulls/%d", s.repositoryAPI(r), i.number)
	return object{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": s.userView(v.user), "body": v.body, "state": v.state, "html_url": page,
		"pull_request_url": at, "submitted_at": stamp(v.submitted), "commit_id": v.commit, "author_association": s.association(r, v.user),
		"_links": object{"html": object{"href": page}, "pull_request": object{"href": at}},
	}
}

// Review gives a review as somebody: APPROVED, CHANGES_REQUESTED or COMMENTED.
func (s *Server) Review(repository string, number int, as, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return err
	}
	if i.pull == nil || !slices.Contains([]string{"APPROVED", "CHANGES_REQUESTED", "COMMENTED"}, state) {
		return fmt.Errorf("%w: review %q of #%d", ErrRefused, state, number)
	}
	v := &review{id: s.nextID(), user: by, state: state, commit: i.pull.head.sha, submitted: s.now()}
	i.pull.reviews = append(i.pull.reviews, v)
	view := s.reviewView(r, i, v)
	view["state"] = fold(state)
	s.emit(r, "pull_request_review", by, object{"action": "submitted", "review": view, "pull_request": s.simplePullView(r, i)}, nil)
	return nil
}

// locate finds what a person acts on.
func (s *Server) locate(repository string, number int, as string) (*repository, *issue, *account, error) {
	r, err := s.repository(repository)
	if err != nil {
		return nil, nil, nil, err
	}
	i := r.issues[number]
	if i == nil {
		return nil, nil, nil, fmt.Errorf("%w: %s#%d", ErrNotFound, repository, number)
	}
	by, err := s.person(as)
	return r, i, by, err
}

// ClosePullRequest closes a pull request or issue as somebody.
func (s *Server) ClosePullRequest(repository string, number int, as string) error {
	return s.setState(repository, number, as, true)
}

// ReopenPullRequest opens it again.
func (s *Server) ReopenPullRequest(repository string, number int, as string) error {
	return s.setState(repository, number, as, false)
}

func (s *Server) setState(repository string, number int, as string, closed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return err
	}
	return s.setClosed(r, i, closed, by)
}

// MergePullRequest merges as somebody, method merge or squash, and gives the commit. It
// fails with ErrRefused where GitHub would answer 405.
func (s *Server) MergePullRequest(repository string, number int, as, method string) (sha string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return "", err
	}
	if i.pull == nil {
		return "", fmt.Errorf("%w: #%d is no pull request", ErrRefused, number)
	}
	why, err := s.mergeRefusal(r, i, method, by)
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", fmt.Errorf("%w: %s", ErrRefused, why)
	}
	id, err := s.merge(r, i, method, "", "", by)
	return string(id), err
}
