package fakegithub_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

// receiver is a webhook's end that checks signatures and keeps what comes.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	got    []delivery
	answer int
}

type delivery struct {
	event, guid, action string
	payload             map[string]any
	raw                 []byte
}

const secret = "a secret of the tests"

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, answer: http.StatusAccepted}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); req.Header.Get("X-Hub-Signature-256") != want {
		r.t.Errorf("signature %q, want %q", req.Header.Get("X-Hub-Signature-256"), want)
	}
	d := delivery{event: req.Header.Get("X-GitHub-Event"), guid: req.Header.Get("X-GitHub-Delivery"), raw: body}
	if err := json.Unmarshal(body, &d.payload); err != nil {
		r.t.Error(err)
	}
	d.action, _ = d.payload["action"].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, d)
	w.WriteHeader(r.answer)
}

// take gives what came so far and forgets it.
func (s *stage) take(r *receiver) []delivery {
	s.t.Helper()
	must(s.t, s.WaitDeliveries(ctx(s.t)))
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func names(list []delivery) []string {
	var out []string
	for _, d := range list {
		out = append(out, strings.TrimSuffix(d.event+"."+d.action, "."))
	}
	return out
}

func hooked(t *testing.T) (*stage, *receiver) {
	r := newReceiver(t)
	s := newStage(t, func(_ *fakegithub.Options, app *fakegithub.AppSpec, _ *fakegithub.RepositorySpec) {
		app.HookURL, app.Secret = r.URL, secret
	})
	s.take(r)
	return s, r
}

// Each thing that happens is told with the events that GitHub tells it with, and each
// payload is one that go-github reads.
func TestEvents(t *testing.T) {
	s, r := hooked(t)
	number := 0
	var check int64
	for _, c := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"a pull request is opened", func() error { number = s.propose("bump", map[string]string{"a": "1"}); return nil },
			[]string{"push", "create", "check_suite.requested", "pull_request.opened"}},
		{"its head moves", func() error {
			_, err := s.Commit(repo, fakegithub.CommitSpec{Branch: "bump", Files: map[string]string{"a": "2"}, As: "dependabot[bot]"})
			return err
		}, []string{"push", "check_suite.requested", "pull_request.synchronize"}},
		{"somebody comments", func() error { _, err := s.Comment(repo, number, "ann", "/bailiff consolidate 🎉"); return err }, []string{"issue_comment.created"}},
		{"and edits it", func() error {
			list, err := s.Comments(repo, number)
			must(t, err)
			return s.EditComment(repo, list[0].ID, "ann", "nothing")
		}, []string{"issue_comment.edited"}},
		{"a label comes", func() error { return s.Label(repo, number, "ann", "dependencies") }, []string{"pull_request.labeled"}},
		{"a check run of ours", func() error {
			run, _, err := s.github.Checks.CreateCheckRun(ctx(t), "acme", "widgets", github.CreateCheckRunOptions{
				Name: "x", HeadSHA: s.branch("bump"), Conclusion: github.String("success"),
				Actions: []*github.CheckRunAction{{Label: "Cancel", Description: "Stop", Identifier: "cancel"}},
			})
			check = run.GetID()
			return err
		}, []string{"check_run.created", "check_run.completed", "check_suite.completed"}},
		{"its Re-run", func() error { return s.Rerun(repo, check, "ann") }, []string{"check_run.rerequested"}},
		{"Re-run all", func() error { return s.RerunAll(repo, s.branch("bump"), s.app.ID, "ann") }, []string{"check_suite.rerequested"}},
		{"its button", func() error { return s.Press(repo, check, "cancel", "ann") }, []string{"check_run.requested_action"}},
		{"a status", func() error { return s.Status(repo, "bump", "lint", "success", "ann") }, []string{"status"}},
		{"a review", func() error { return s.Review(repo, number, "ann", "APPROVED") }, []string{"pull_request_review.submitted"}},
		{"the merge", func() error { _, err := s.MergePullRequest(repo, number, "ann", "merge"); return err },
			[]string{"pull_request.closed", "push", "check_suite.requested"}},
		{"the branch goes", func() error { return s.DeleteBranch(repo, "bump", "ann") }, []string{"push", "delete"}},
		{"the default branch is renamed", func() error { return s.RenameBranch(repo, "main", "trunk") }, []string{"push", "create", "push", "delete", "repository.edited"}},
		{"a rename", func() error { return s.Rename(repo, "gadgets") }, []string{"repository.renamed"}},
		{"archived", func() error { return s.Archive("acme/gadgets", true) }, []string{"repository.archived"}},
		{"made public", func() error { return s.SetPrivate("acme/gadgets", false) }, []string{"repository.publicized"}},
		{"given away", func() error { return s.Transfer("acme/gadgets", "zed") }, []string{"installation_repositories.removed"}},
		{"suspended", func() error { return s.Suspend(s.installation) }, []string{"installation.suspend"}},
		{"unsuspended", func() error { return s.Unsuspend(s.installation) }, []string{"installation.unsuspend"}},
		{"uninstalled", func() error { return s.Uninstall(s.installation) }, []string{"installation.deleted"}},
	} {
		must(t, c.do())
		got := s.take(r)
		if !slices.Equal(names(got), c.want) {
			t.Errorf("%s: %q, want %q", c.name, names(got), c.want)
		}
		for _, d := range got {
			i, _ := d.payload["installation"].(map[string]any)
			if id, _ := i["id"].(float64); int64(id) != s.installation {
				t.Errorf("%s: installation %v", d.event, i)
			}
			if _, err := github.ParseWebHook(d.event, d.raw); err != nil {
				t.Errorf("%s: %v", d.event, err)
			}
		}
	}
}

func TestRedelivery(t *testing.T) {
	s, r := hooked(t)
	s.LoseDeliveries(fakegithub.Loss{Event: "pull_request"})
	s.LoseDeliveries(fakegithub.Loss{Event: "create", Unheard: true})
	s.propose("bump", map[string]string{"a": "1"})
	if got := names(s.take(r)); !slices.Equal(got, []string{"push", "check_suite.requested"}) {
		t.Fatalf("came: %q", got)
	}
	var failed *github.HookDelivery
	options := &github.ListCursorOptions{PerPage: 1}
	seen := 0
	for {
		list, resp, err := s.asApp.Apps.ListHookDeliveries(ctx(t), options)
		must(t, err)
		for _, d := range list {
			seen++
			if d.GetStatusCode() != http.StatusAccepted {
				failed = d
			}
			if d.GetEvent() == "create" {
				t.Error("what nobody heard of is listed")
			}
		}
		if options.Cursor = resp.Cursor; options.Cursor == "" {
			break
		}
	}
	if failed == nil || failed.GetEvent() != "pull_request" || seen != 4 { // with installation.created
		t.Fatalf("%d deliveries, failed: %v", seen, failed)
	}
	one, _, err := s.asApp.Apps.GetHookDelivery(ctx(t), failed.GetID())
	must(t, err)
	if one.Request == nil || !strings.Contains(string(one.Request.GetRawPayload()), `"action":"opened"`) {
		t.Errorf("one: %v", one)
	}
	// go-github takes any 202 for an error.
	_, resp, err := s.asApp.Apps.RedeliverHookDelivery(ctx(t), failed.GetID())
	if resp == nil || resp.StatusCode != http.StatusAccepted {
		t.Fatal(err)
	}
	got := s.take(r)
	if len(got) != 1 || got[0].guid != failed.GetGUID() || got[0].action != "opened" {
		t.Errorf("redelivered: %q, %v", names(got), got)
	}
	last := s.Deliveries()[len(s.Deliveries())-1]
	if !last.Redelivery || last.GUID != failed.GetGUID() || last.Code != http.StatusAccepted {
		t.Errorf("last: %+v", last)
	}
}

// An App hears nothing that its installation has no permission for.
func TestEventsNeedPermissions(t *testing.T) {
	s, r := hooked(t)
	must(t, s.SetPermissions(s.installation, map[string]string{"contents": "read"}))
	s.take(r)
	s.propose("bump", map[string]string{"a": "1"})
	if got := names(s.take(r)); !slices.Equal(got, []string{"push", "create"}) {
		t.Errorf("came: %q", got)
	}
	must(t, s.Suspend(s.installation))
	s.take(r)
	s.propose("other", map[string]string{"a": "1"})
	if got := names(s.take(r)); len(got) > 0 {
		t.Errorf("came while suspended: %q", got)
	}
}
