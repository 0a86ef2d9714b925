package fakegithub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

func notes(n int) []*github.CheckRunAnnotation {
	var list []*github.CheckRunAnnotation
	for i := range n {
		list = append(list, &github.CheckRunAnnotation{
			Path: github.String("go.mod"), StartLine: github.Int(i + 1), EndLine: github.Int(i + 1), AnnotationLevel: github.String("notice"), Message: github.String("here"),
		})
	}
	return list
}

func output(annotations int) *github.CheckRunOutput {
	return &github.CheckRunOutput{Title: github.String("Merging"), Summary: github.String("task t_1"), Annotations: notes(annotations)}
}

func TestCheckRunLifecycle(t *testing.T) {
	s := newStage(t)
	checks, head := s.github.Checks, s.branch("main")
	run, _, err := checks.CreateCheckRun(ctx(t), "acme", "widgets", github.CreateCheckRunOptions{
		Name: "bailiff/consolidate", HeadSHA: head, ExternalID: github.String("t_1"), Status: github.String("queued"),
		Actions: []*github.CheckRunAction{{Label: "Cancel", Description: "Stop it", Identifier: "cancel"}},
	})
	must(t, err)
	if run.GetStatus() != "queued" || run.GetExternalID() != "t_1" || run.GetApp().GetID() != s.app.ID {
		t.Errorf("created: %v", run)
	}
	update := func(o github.UpdateCheckRunOptions) (*github.CheckRun, error) {
		o.Name = "bailiff/consolidate"
		run, _, err := checks.UpdateCheckRun(ctx(t), "acme", "widgets", run.GetID(), o)
		return run, err
	}
	_, err = update(github.UpdateCheckRunOptions{Status: github.String("in_progress"), Output: output(50)})
	must(t, err)
	_, err = update(github.UpdateCheckRunOptions{Output: output(20)})
	must(t, err)
	_, err = update(github.UpdateCheckRunOptions{Output: output(51)})
	status(t, err, 422, "50 annotations")
	_, err = update(github.UpdateCheckRunOptions{Status: github.String("completed")})
	status(t, err, 422, "conclusion")
	_, err = update(github.UpdateCheckRunOptions{Conclusion: github.String("action_required")})
	must(t, err)
	again, err := update(github.UpdateCheckRunOptions{Status: github.String("in_progress")})
	must(t, err)
	if again.GetStatus() != "completed" || again.GetOutput().GetAnnotationsCount() != 70 {
		t.Errorf("after it was completed: %v", again)
	}
	annotations, resp, err := checks.ListCheckRunAnnotations(ctx(t), "acme", "widgets", run.GetID(), &github.ListOptions{PerPage: 50})
	must(t, err)
	if len(annotations) != 50 || resp.NextPage != 2 {
		t.Errorf("%d annotations, next page %d", len(annotations), resp.NextPage)
	}
	list, _, err := checks.ListCheckRunsForRef(ctx(t), "acme", "widgets", "main", &github.ListCheckRunsOptions{CheckName: github.String("bailiff/consolidate")})
	must(t, err)
	if list.GetTotal() != 1 || list.CheckRuns[0].GetConclusion() != "action_required" {
		t.Errorf("list: %v", list)
	}
	suites, _, err := checks.ListCheckSuitesForRef(ctx(t), "acme", "widgets", head, nil)
	must(t, err)
	if suites.GetTotal() != 1 || suites.CheckSuites[0].GetConclusion() != "action_required" {
		t.Errorf("suites: %v", suites)
	}
}

func TestCheckRunLimits(t *testing.T) {
	s := newStage(t)
	action := github.CheckRunAction{Label: "Cancel", Description: "Stop it", Identifier: "cancel"}
	long := strings.Repeat("x", 65536)
	for name, c := range map[string]struct {
		change func(*github.CreateCheckRunOptions)
		word   string
	}{
		"no such commit": {func(o *github.CreateCheckRunOptions) { o.HeadSHA = strings.Repeat("a", 40) }, "No commit found for SHA"},
		"a fourth button": {func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{&action, &action, &action, &action}
		}, "at most 3"},
		"a long identifier": {func(o *github.CreateCheckRunOptions) {
			a := action
			a.Identifier = strings.Repeat("i", 21)
			o.Actions = []*github.CheckRunAction{&a}
		}, "at most 20"},
		"a long description": {func(o *github.CreateCheckRunOptions) {
			a := action
			a.Description = strings.Repeat("d", 41)
			o.Actions = []*github.CheckRunAction{&a}
		}, "at most 40"},
		"a long summary": {func(o *github.CreateCheckRunOptions) {
			o.Output = &github.CheckRunOutput{Title: &action.Label, Summary: &long}
		}, "65535"},
		"emoji count as bytes": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(0)
			o.Output.Text = github.String(strings.Repeat("🎉", 16384))
		}, "65535"},
		"no summary":     {func(o *github.CreateCheckRunOptions) { o.Output = &github.CheckRunOutput{Title: &action.Label} }, "summary"},
		"an unknown end": {func(o *github.CreateCheckRunOptions) { o.Conclusion = github.String("fine") }, "conclusion"},
	} {
		t.Run(name, func(t *testing.T) {
			o := github.CreateCheckRunOptions{Name: "x", HeadSHA: s.branch("main")}
			c.change(&o)
			_, _, err := s.github.Checks.CreateCheckRun(ctx(t), "acme", "widgets", o)
			status(t, err, 422, c.word)
		})
	}
}

// Only the App that made a run changes it, and statuses stand beside runs.
func TestCheckRunsOfOthers(t *testing.T) {
	s := newStage(t)
	ci, err := s.App(fakegithub.AppSpec{Name: "CI", Owner: "ci", Permissions: map[string]string{"checks": "write"}, Key: appKey()})
	must(t, err)
	id, err := s.Check(repo, fakegithub.CheckSpec{App: ci.ID, SHA: "main", Name: "test", Status: "in_progress"})
	must(t, err)
	_, _, err = s.github.Checks.UpdateCheckRun(ctx(t), "acme", "widgets", id, github.UpdateCheckRunOptions{Name: "test", Conclusion: github.String("success")})
	status(t, err, 403, fmt.Sprintf("Invalid app_id `%d`", s.app.ID))
	must(t, s.CompleteCheck(repo, id, "failure"))
	_, _, err = s.github.Repositories.CreateStatus(ctx(t), "acme", "widgets", s.branch("main"), &github.RepoStatus{State: github.String("success"), Context: github.String("lint")})
	must(t, err)
	combined, _, err := s.github.Repositories.GetCombinedStatus(ctx(t), "acme", "widgets", "main", nil)
	must(t, err)
	if combined.GetState() != "success" || combined.GetTotalCount() != 1 {
		t.Errorf("combined: %v", combined)
	}
	runs, err := s.CheckRuns(repo)
	must(t, err)
	if len(runs) != 1 || runs[0].Conclusion != "failure" {
		t.Errorf("runs: %v", runs)
	}
}
