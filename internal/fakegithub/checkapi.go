package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// Limits of check runs (docs.github.com, REST API endpoints for check runs). Text is
// counted in bytes, where GitHub's own description counts characters: bots are refused
// by bytes.
const (
	maxAnnotations   = 50
	maxCheckText     = 65535
	maxActions       = 3
	maxActionLabel   = 20
	maxActionSummary = 40
)

var conclusions = []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"}

type checkRequest struct {
	Name        string     `json:"name"`
	HeadSHA     string     `json:"head_sha"`
	ExternalID  *string    `json:"external_id"`
	DetailsURL  *string    `json:"details_url"`
	Status      string     `json:"status"`
	Conclusion  string     `json:"conclusion"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string      `json:"title"`
		Summary     *string      `json:"summary"`
		Text        *string      `json:"text"`
		Annotations []annotation `json:"annotations"`
	} `json:"output"`
	Actions []checkAction `json:"actions"`
}

// check says what is wrong with a request for a check run; nil: nothing.
func (in checkRequest) check(creating bool) *reply {
	deny := func(field, message string) *reply {
		r := invalid("CheckRun", field, "custom", message)
		return &r
	}
	switch {
	case creating && in.Name == "":
		return deny("name", "name wasn't supplied.")
	case creating && in.HeadSHA == "":
		return deny("head_sha", "head_sha wasn't supplied.")
	case in.Status == "completed" && in.Conclusion == "":
		return deny("conclusion", "conclusion is required when status is completed")
	case in.Status != "" && !slices.Contains([]string{"queued", "in_progress", "completed"}, in.Status):
		return deny("status", in.Status+" is not a member of the statuses")
	case in.Conclusion != "" && !slices.Contains(conclusions, in.Conclusion) || in.Conclusion == "stale":
		return deny("conclusion", in.Conclusion+" cannot be set as a conclusion")
	case len(in.Actions) > maxActions:
		return deny("actions", fmt.Sprintf("at most %d actions", maxActions))
	}
	for _, a := range in.Actions {
		n := utf8.RuneCountInString
		if n(a.Label) > maxActionLabel || n(a.Identifier) > maxActionLabel || n(a.Description) > maxActionSummary || a.Label == "" || a.Identifier == "" || a.Description == "" {
			return deny("actions", fmt.Sprintf("an action has a label and an identifier of at most %d characters and a description of at most %d", maxActionLabel, maxActionSummary))
		}
	}
	if o := in.Output; o != nil {
		switch {
		case creating && (o.Title == nil || o.Summary == nil):
			return deny("output", "output needs title and summary")
		case o.Summary != nil && len(*o.Summary) > maxCheckText:
			return deny("summary", fmt.Sprintf("Only %d characters are allowed; %d were supplied.", maxCheckText, len(*o.Summary)))
		case o.Text != nil && len(*o.Text) > maxCheckText:
			return deny("text", fmt.Sprintf("Only %d characters are allowed; %d were supplied.", maxCheckText, len(*o.Text)))
		case len(o.Annotations) > maxAnnotations:
			return deny("annotations", fmt.Sprintf("No more than %d annotations are allowed in a request", maxAnnotations))
		}
		for _, a := range o.Annotations {
			if a.Path == "" || a.StartLine < 1 || a.EndLine < a.StartLine || a.Message == "" || !slices.Contains([]string{"notice", "warning", "failure"}, a.AnnotationLevel) {
				return deny("annotations", "an annotation needs path, start_line, end_line, annotation_level and message")
			}
		}
	}
	return nil
}

func (c *call) createCheck() reply {
	in, bad := decode[checkRequest](c)
	if bad == nil {
		bad = in.check(true)
	}
	if bad != nil {
		return *bad
	}
	sha := c.resolve(c.repo, in.HeadSHA)
	if string(sha) != in.HeadSHA {
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", in.HeadSHA)
	}
	run := &checkRun{id: c.nextID(), suite: c.suite(c.repo, c.caller.actingApp(), sha), name: in.Name, status: "queued"}
	c.repo.checks = append(c.repo.checks, run)
	c.apply(run, in)
	c.emitCheck(c.repo, run, "created", c.caller.account(), nil)
	c.finished(c.repo, run)
	return created(c.checkView(c.repo, run))
}

// apply changes a run as a request says. A run that is completed stays so.
func (c *call) apply(run *checkRun, in checkRequest) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	if in.Name != "" {
		run.name = in.Name
	}
	set(&run.externalID, in.ExternalID)
	set(&run.detailsURL, in.DetailsURL)
	if o := in.Output; o != nil {
		run.hasOutput = true
		set(&run.title, o.Title)
		set(&run.summary, o.Summary)
		set(&run.text, o.Text)
		run.annotations = append(run.annotations, o.Annotations...)
	}
	if in.Actions != nil {
		run.actions = in.Actions
	}
	if in.StartedAt != nil {
		run.started = *in.StartedAt
	} else if run.started.IsZero() {
		run.started = c.now()
	}
	switch {
	case in.Conclusion != "": // which completes it, said or not
		run.status, run.conclusion, run.completed = "completed", in.Conclusion, c.now()
		if in.CompletedAt != nil {
			run.completed = *in.CompletedAt
		}
	case run.status != "completed" && in.Status != "":
		run.status = in.Status
	}
}

// ownCheck is the run of the path; only its App may write it.
func (c *call) ownCheck() (*checkRun, *reply) {
	run := c.repo.check(c.number("check_run_id"))
	if run == nil {
		r := notFound()
		return nil, &r
	}
	if run.suite.app != c.caller.actingApp() {
		r := refuse(http.StatusForbidden, "Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", c.caller.actingApp().id)
		return nil, &r
	}
	return run, nil
}

func (c *call) updateCheck() reply {
	run, refused := c.ownCheck()
	if refused != nil {
		return *refused
	}
	in, bad := decode[checkRequest](c)
	if bad == nil {
		bad = in.check(false)
	}
	if bad != nil {
		return *bad
	}
	before := run.status
	c.apply(run, in)
	if before != "completed" {
		c.finished(c.repo, run)
	}
	return ok(c.checkView(c.repo, run))
}

func (c *call) getCheck() reply {
	run := c.repo.check(c.number("check_run_id"))
	if run == nil {
		return notFound()
	}
	return ok(c.checkView(c.repo, run))
}

func (c *call) listAnnotations() reply {
	run := c.repo.check(c.number("check_run_id"))
	if run == nil {
		return notFound()
	}
	views := []object{}
	for _, a := range paged(c, run.annotations) {
		views = append(views, object{
			"path": a.Path, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": a.StartColumn, "end_column": a.EndColumn,
			"annotation_level": a.AnnotationLevel, "message": a.Message, "title": orNull(a.Title), "raw_details": orNull(a.RawDetails),
			"blob_href": c.repositoryHTML(c.repo) + "/blob/" + string(run.suite.sha) + "/" + pathEscapeAll(a.Path),
		})
	}
	return ok(views)
}

// rerequestCheck asks the App that owns the run to run it again. GitHub resets nothing
// before the App answers.
func (c *call) rerequestCheck() reply {
	run, refused := c.ownCheck()
	if refused != nil {
		return *refused
	}
	if run.status != "completed" {
		return refuse(http.StatusUnprocessableEntity, "This check run is not rerequestable")
	}
	c.emitCheck(c.repo, run, "rerequested", c.caller.account(), nil)
	return created(object{})
}

func (c *call) checksForRef() reply {
	sha := c.resolve(c.repo, c.args["ref"])
	if sha == "" {
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.args["ref"])
	}
	return c.listChecks(func(run *checkRun) bool { return run.suite.sha == sha }, c.repo.latestChecks(sha))
}

func (c *call) checksOfSuite() reply {
	u := c.suiteOfPath()
	if u == nil {
		return notFound()
	}
	mine := func(run *checkRun) bool { return run.suite == u }
	return c.listChecks(mine, slices.DeleteFunc(c.repo.latestChecks(u.sha), func(run *checkRun) bool { return !mine(run) }))
}

// listChecks filters what a query asks for: the latest of each name, or all.
func (c *call) listChecks(member func(*checkRun) bool, latest []*checkRun) reply {
	query := c.req.URL.Query()
	list := latest
	if query.Get("filter") == "all" {
		list = nil
		for _, run := range slices.Backward(c.repo.checks) {
			if member(run) {
				list = append(list, run)
			}
		}
	}
	wanted := func(key, value string) bool { return query.Get(key) == "" || query.Get(key) == value }
	list = slices.DeleteFunc(list, func(run *checkRun) bool {
		return !wanted("check_name", run.name) || !wanted("status", run.status) || !wanted("app_id", fmt.Sprint(run.suite.app.id))
	})
	views := []object{}
	for _, run := range paged(c, list) {
		views = append(views, c.checkView(c.repo, run))
	}
	return ok(object{"total_count": len(list), "check_runs": views})
}

func (c *call) suiteOfPath() *suite {
	for _, u := range c.repo.suites {
		if u.id == c.number("check_suite_id") {
			return u
		}
	}
	return nil
}

func (c *call) getSuite() reply {
	u := c.suiteOfPath()
	if u == nil {
		return notFound()
	}
	return ok(c.suiteView(c.repo, u))
}

func (c *call) suitesForRef() reply {
	sha := c.resolve(c.repo, c.args["ref"])
	views, n := []object{}, 0
	for _, u := range c.repo.suites {
		if u.sha == sha {
			views = append(views, c.suiteView(c.repo, u))
			n++
		}
	}
	return ok(object{"total_count": n, "check_suites": paged(c, views)})
}

func (c *call) createStatus() reply {
	in, bad := decode[struct {
		State       string `json:"state"`
		Context     string `json:"context"`
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}](c)
	if bad != nil {
		return *bad
	}
	sha := c.resolve(c.repo, c.args["sha"])
	switch {
	case sha == "":
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.args["sha"])
	case !slices.Contains([]string{"error", "failure", "pending", "success"}, in.State):
		return invalid("Status", "state", "invalid", "")
	case in.Context == "":
		in.Context = "default"
	}
	st := &status{sha: sha, context: in.Context, state: in.State, description: in.Description, target: in.TargetURL, user: c.caller.account()}
	c.setStatus(c.repo, st)
	return created(c.statusView(c.repo, st))
}

func (c *call) combinedStatus() reply {
	sha := c.resolve(c.repo, c.args["ref"])
	if sha == "" {
		return notFound()
	}
	list := c.repo.latestStatuses(sha)
	state, rank := "pending", []string{"success", "pending", "failure", "error"}
	if len(list) > 0 {
		state = "success"
	}
	views := []object{}
	for _, st := range list {
		if slices.Index(rank, st.state) > slices.Index(rank, state) {
			state = st.state
		}
		views = append(views, c.statusView(c.repo, st))
	}
	if state == "error" {
		state = "failure"
	}
	at := c.repositoryAPI(c.repo) + "/commits/" + string(sha)
	return ok(object{
		"state": state, "sha": sha, "total_count": len(list), "statuses": paged(c, views), "repository": c.repositoryView(c.repo),
		"commit_url": at, "url": at + "/status",
	})
}

func (c *call) listStatuses() reply {
	sha := c.resolve(c.repo, c.args["ref"])
	views := []object{}
	for _, st := range slices.Backward(c.repo.statuses) {
		if st.sha == sha {
			views = append(views, c.statusView(c.repo, st))
		}
	}
	return ok(paged(c, views))
}
