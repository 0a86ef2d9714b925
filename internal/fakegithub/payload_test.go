package fakegithub_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
	"github.com/bailiff-bot/bailiff/internal/fakegithub/contract"
)

// notSimulated are keys of real payloads that belong to what is not simulated, or that
// GitHub sends no longer.
var notSimulated = []string{"repository.custom_properties", "repository.master_branch", "repository.stargazers"}

// Payloads have what real ones have: every key of an example of the same event and
// action stands in ours too, two levels deep.
func TestPayloadsLikeRealOnes(t *testing.T) {
	path := contract.Find()
	if path == "" {
		t.Skip("real payloads are kept beside GitHub's API description, which is not here")
	}
	dir := filepath.Join(filepath.Dir(path), "..", "webhooks")
	s, r := hooked(t)
	number := s.propose("bump", map[string]string{"a": "1"})
	id, err := s.Comment(repo, number, "ann", "hi")
	must(t, err)
	must(t, s.EditComment(repo, id, "ann", "ho"))
	must(t, s.Label(repo, number, "ann", "dependencies"))
	_, err = s.Commit(repo, fakegithub.CommitSpec{Branch: "bump", Files: map[string]string{"a": "2"}, As: "ann"})
	must(t, err)
	run, _, err := s.github.Checks.CreateCheckRun(ctx(t), "acme", "widgets", github.CreateCheckRunOptions{
		Name: "x", HeadSHA: s.branch("bump"), Conclusion: github.String("success"), Actions: []*github.CheckRunAction{{Label: "a", Description: "b", Identifier: "c"}},
	})
	must(t, err)
	must(t, s.Rerun(repo, run.GetID(), "ann"))
	must(t, s.Press(repo, run.GetID(), "c", "ann"))
	must(t, s.Status(repo, "bump", "lint", "success", "ann"))
	must(t, s.Review(repo, number, "ann", "APPROVED"))
	_, err = s.MergePullRequest(repo, number, "ann", "merge")
	must(t, err)
	must(t, s.DeleteBranch(repo, "bump", "ann"))
	must(t, s.Rename(repo, "gadgets"))
	must(t, s.Suspend(s.installation))
	compared := 0
	for _, d := range s.take(r) {
		data, err := os.ReadFile(filepath.Join(dir, d.event+".json"))
		must(t, err)
		var examples []map[string]any
		must(t, json.Unmarshal(data, &examples))
		for _, e := range examples {
			if action, _ := e["action"].(string); action == d.action {
				compared++
				for _, key := range missing(e, d.payload, "", 2) {
					if !slices.Contains(notSimulated, key) {
						t.Errorf("%s.%s lacks %s", d.event, d.action, key)
					}
				}
				break
			}
		}
	}
	if compared < 15 {
		t.Errorf("only %d payloads were compared", compared)
	}
}

// missing are the keys of want that have lacks, down to some depth.
func missing(want, have map[string]any, at string, depth int) []string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		there, ok := have[k]
		if !ok {
			list = append(list, at+k)
			continue
		}
		a, isMap := want[k].(map[string]any)
		b, too := there.(map[string]any)
		if isMap && too && depth > 1 {
			list = append(list, missing(a, b, at+k+".", depth-1)...)
		}
	}
	return list
}
