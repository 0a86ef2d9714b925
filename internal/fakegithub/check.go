package fakegithub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// requestSuites makes a check suite for each App that may write checks, as GitHub does
// for each push to a branch, and asks the App for its checks.
func (s *Server) requestSuites(r *repository, branch string, before, after git.ID, by *account) {
	for _, i := range s.installationsOn(r) {
		if !i.permissions.has("write", "checks") || !i.suspended.IsZero() {
			continue
		}
		u := s.suite(r, i.app, after)
		u.branch, u.before = branch, before
		s.emitSuite(r, u, "requested", by)
	}
}

func (s *Server) installationsOn(r *repository) []*installation {
	var list []*installation
	for _, i := range s.installations {
		if i.covers(r) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *installation) int { return int(a.id - b.id) })
	return list
}

// suite is an App's check suite for a commit.
func (s *Server) suite(r *repository, a *app, sha git.ID) *suite {
	for _, u := range r.suites {
		if u.app == a && u.sha == sha {
			return u
		}
	}
	u := &suite{id: s.nextID(), app: a, sha: sha, created: s.now(), updated: s.now()}
	for ref, at := range r.refs {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && at == sha {
			u.branch = name
		}
	}
	r.suites = append(r.suites, u)
	return u
}

// summary is a suite's status and conclusion, which follow from its runs.
func (r *repository) summary(u *suite) (status, conclusion string) {
	status = "queued"
	worst := []string{"action_required", "cancelled", "timed_out", "failure", "neutral", "skipped", "success"}
	at, n := len(worst), 0
	for _, run := range r.checks {
		if run.suite != u {
			continue
		}
		n++
		if run.status != "completed" {
			return run.status, ""
		}
		at = min(at, slices.Index(worst, run.conclusion))
	}
	if n > 0 {
		return "completed", worst[max(at, 0)]
	}
	return status, ""
}

func (s *Server) suiteView(r *repository, u *suite) object {
	at := fmt.Sprintf("%s/check-suites/%d", s.repositoryAPI(r), u.id)
	status, conclusion := r.summary(u)
	count := 0
	for _, run := range r.checks {
		if run.suite == u {
			count++
		}
	}
	v := object{
		"id": u.id, "node_id": nodeID("CS", u.id), "head_branch": orNull(u.branch), "head_sha": u.sha, "status": status, "conclusion": orNull(conclusion),
		"url": at, "before": orNull(string(u.before)), "after": u.sha, "pull_requests": s.pullsAt(r, u.sha), "app": s.appView(u.app),
		"created_at": stamp(u.created), "updated_at": stamp(u.updated), "latest_check_runs_count": count, "check_runs_url": at + "/check-runs",
		"repository": s.repositoryView(r), "rerequestable": true, "runs_rerequestable": true,
	}
	if c, err := r.git.Commit(s.ctx, u.sha); err == nil {
		v["head_commit"] = object{
			"id": c.ID, "tree_id": c.Tree, "message": c.Message, "timestamp": when(c.Committer),
			"author":    object{"name": c.Author.Name, "email": c.Author.Email},
			"committer": object{"name": c.Committer.Name, "email": c.Committer.Email},
		}
	}
	return v
}

// pullsAt are the open pull requests of the repository whose head is a commit. Those
// from forks are left out, as GitHub does.
func (s *Server) pullsAt(r *repository, sha git.ID) []object {
	views := []object{}
	for _, i := range r.pulls() {
		if i.closed || i.pull.head.sha != sha || i.pull.head.repository != r {
			continue
		}
		repo := object{"id": r.id, "url": s.repositoryAPI(r), "name": r.name}
		views = append(views, object{
			"id": i.id, "number": i.number, "url": fmt.Sprintf("%s/pulls/%d", s.repositoryAPI(r), i.number),
			"head": object{"ref": i.pull.head.ref, "sha": sha, "repo": repo}, "base": object{"ref": i.pull.base, "sha": s.baseSHA(r, i), "repo": repo},
		})
	}
	return views
}

func (s *Server) checkView(r *repository, c *checkRun) object {
	at := fmt.Sprintf("%s/check-runs/%d", s.repositoryAPI(r), c.id)
	page := s.repositoryHTML(r) + "/runs/" + strconv.FormatInt(c.id, 10)
	details := c.detailsURL
	if details == "" {
		details = page
	}
	return object{
		"id": c.id, "node_id": nodeID("CR", c.id), "name": c.name, "head_sha": c.suite.sha, "external_id": c.externalID, "url": at, "html_url": page,
		"details_url": details, "status": c.status, "conclusion": orNull(c.conclusion), "started_at": stamp(c.started), "completed_at": stamp(c.completed),
		"output": object{
			"title": orNull(c.title), "summary": orNull(c.summary), "text": orNull(c.text),
			"annotations_count": len(c.annotations), "annotations_url": at + "/annotations",
		},
		"check_suite": object{"id": c.suite.id}, "app": s.appView(c.suite.app), "pull_requests": s.pullsAt(r, c.suite.sha),
	}
}

// latestChecks are a commit's check runs without those that a later one of the same
// name and App replaced.
func (r *repository) latestChecks(sha git.ID) []*checkRun {
	var list []*checkRun
	for _, c := range r.checks {
		if c.suite.sha != sha {
			continue
		}
		list = slices.DeleteFunc(list, func(x *checkRun) bool { return x.name == c.name && x.suite == c.suite })
		list = append(list, c)
	}
	slices.Reverse(list)
	return list
}

func (r *repository) latestStatuses(sha git.ID) []*status {
	var list []*status
	for _, st := range r.statuses {
		if st.sha != sha {
			continue
		}
		list = slices.DeleteFunc(list, func(x *status) bool { return x.context == st.context })
		list = append(list, st)
	}
	return list
}

// rollup is GraphQL's statusCheckRollup: a state, and check runs counted by theirs. The
// state is empty where there is neither run nor status.
func (r *repository) rollup(sha git.ID) (state string, counts map[string]int) {
	counts = map[string]int{}
	rank := []string{"", "SUCCESS", "PENDING", "FAILURE", "ERROR"}
	add := func(s string) {
		if slices.Index(rank, s) > slices.Index(rank, state) {
			state = s
		}
	}
	for _, c := range r.latestChecks(sha) {
		if c.status != "completed" {
			counts[strings.ToUpper(c.status)]++
			add("PENDING")
			continue
		}
		counts[strings.ToUpper(c.conclusion)]++
		if passing(c.conclusion) {
			add("SUCCESS")
		} else {
			add("FAILURE")
		}
	}
	for _, st := range r.latestStatuses(sha) {
		add(strings.ToUpper(st.state))
	}
	return state, counts
}

// CheckSpec is a check run of another App than the one under test, made in one go.
type CheckSpec struct {
	App        int64
	SHA        string
	Name       string
	Status     string // empty: completed, with a conclusion
	Conclusion string // success, failure, ...
}

// Check makes a check run and gives its number.
func (s *Server) Check(repository string, spec CheckSpec) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return 0, err
	}
	a := s.apps[spec.App]
	sha := s.resolve(r, spec.SHA)
	if a == nil || sha == "" {
		return 0, fmt.Errorf("%w: App %d or commit %q", ErrNotFound, spec.App, spec.SHA)
	}
	c := &checkRun{id: s.nextID(), suite: s.suite(r, a, sha), name: spec.Name, status: spec.Status, conclusion: spec.Conclusion, started: s.now()}
	if c.status == "" {
		c.status, c.completed = "completed", s.now()
	}
	r.checks = append(r.checks, c)
	s.emitCheck(r, c, "created", a.bot, nil)
	s.finished(r, c)
	return c.id, nil
}

// CompleteCheck ends a check run that was made so.
func (s *Server) CompleteCheck(repository string, id int64, conclusion string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, c, err := s.findCheck(repository, id)
	if err != nil {
		return err
	}
	c.status, c.conclusion, c.completed = "completed", conclusion, s.now()
	s.finished(r, c)
	return nil
}

// finished tells of a run that is completed, and of its suite once all of it is.
func (s *Server) finished(r *repository, c *checkRun) {
	if c.status != "completed" {
		return
	}
	c.suite.updated = s.now()
	s.emitCheck(r, c, "completed", c.suite.app.bot, nil)
	if status, _ := r.summary(c.suite); status == "completed" {
		s.emit(r, "check_suite", c.suite.app.bot, object{"action": "completed", "check_suite": s.suiteView(r, c.suite)}, nil)
	}
}

func (s *Server) findCheck(repository string, id int64) (*repository, *checkRun, error) {
	r, err := s.repository(repository)
	if err != nil {
		return nil, nil, err
	}
	c := r.check(id)
	if c == nil {
		return nil, nil, fmt.Errorf("%w: check run %d", ErrNotFound, id)
	}
	return r, c, nil
}

func (r *repository) check(id int64) *checkRun {
	for _, c := range r.checks {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Rerun presses Re-run on a check run as somebody.
func (s *Server) Rerun(repository string, check int64, as string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, c, err := s.findCheck(repository, check)
	if err != nil {
		return err
	}
	by, err := s.person(as)
	if err != nil {
		return err
	}
	s.emitCheck(r, c, "rerequested", by, nil)
	return nil
}

// RerunAll presses Re-run all checks on a commit as somebody, for one App's suite.
func (s *Server) RerunAll(repository, sha string, appID int64, as string) error {
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
	for _, u := range r.suites {
		if u.app.id == appID && string(u.sha) == sha {
			s.emitSuite(r, u, "rerequested", by)
			return nil
		}
	}
	return fmt.Errorf("%w: check suite of App %d at %s", ErrNotFound, appID, sha)
}

// Press presses one of a check run's buttons as somebody.
func (s *Server) Press(repository string, check int64, identifier, as string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, c, err := s.findCheck(repository, check)
	if err != nil {
		return err
	}
	by, err := s.person(as)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(c.actions, func(a checkAction) bool { return a.Identifier == identifier }) {
		return fmt.Errorf("%w: check run %d has no button %q", ErrNotFound, check, identifier)
	}
	s.emitCheck(r, c, "requested_action", by, object{"requested_action": object{"identifier": identifier}})
	return nil
}

// Status sets a commit status as somebody: error, failure, pending or success.
func (s *Server) Status(repository, sha, context, state, as string) error {
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
	id := s.resolve(r, sha)
	if id == "" {
		return fmt.Errorf("%w: commit %q", ErrNotFound, sha)
	}
	s.setStatus(r, &status{sha: id, context: context, state: state, user: by})
	return nil
}

func (s *Server) setStatus(r *repository, st *status) {
	st.id, st.created = s.nextID(), s.now()
	r.statuses = append(r.statuses, st)
	view := s.statusView(r, st)
	payload := object{"id": st.id, "sha": st.sha, "name": r.fullName(), "branches": []any{}}
	for _, k := range []string{"state", "context", "description", "target_url", "created_at", "updated_at"} {
		payload[k] = view[k]
	}
	if c, err := r.git.Commit(s.ctx, st.sha); err == nil {
		payload["commit"] = s.commitView(r, c)
	}
	s.emit(r, "status", st.user, payload, nil)
}

func (s *Server) statusView(r *repository, st *status) object {
	return object{
		"id": st.id, "node_id": nodeID("SC", st.id), "url": s.repositoryAPI(r) + "/statuses/" + string(st.sha), "state": st.state, "context": st.context,
		"description": orNull(st.description), "target_url": orNull(st.target), "avatar_url": s.html("/avatars/%d", st.user.id),
		"created_at": stamp(st.created), "updated_at": stamp(st.created), "creator": s.userView(st.user),
	}
}

// CheckRun is one as it stands.
type CheckRun struct {
	ID                        int64
	App                       int64
	Name, ExternalID, HeadSHA string
	Status, Conclusion        string
	DetailsURL                string
	Title, Summary, Text      string
	Annotations               []Annotation
	Actions                   []string // identifiers of buttons
	Started, Completed        time.Time
}

// Annotation is a line that a check run comments on.
type Annotation struct {
	Path                  string
	StartLine, EndLine    int
	Level, Title, Message string
}

// CheckRuns lists a repository's check runs, oldest first.
func (s *Server) CheckRuns(repository string) ([]CheckRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return nil, err
	}
	list := []CheckRun{}
	for _, c := range r.checks {
		v := CheckRun{
			ID: c.id, App: c.suite.app.id, Name: c.name, ExternalID: c.externalID, HeadSHA: string(c.suite.sha), Status: c.status, Conclusion: c.conclusion,
			DetailsURL: c.detailsURL, Title: c.title, Summary: c.summary, Text: c.text, Started: c.started, Completed: c.completed,
		}
		for _, a := range c.annotations {
			v.Annotations = append(v.Annotations, Annotation{Path: a.Path, StartLine: a.StartLine, EndLine: a.EndLine, Level: a.AnnotationLevel, Title: a.Title, Message: a.Message})
		}
		for _, a := range c.actions {
			v.Actions = append(v.Actions, a.Identifier)
		}
		list = append(list, v)
	}
	return list, nil
}
