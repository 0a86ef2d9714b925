package fakegithub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/contract"
)

// Octokit, which knows nothing of us, finds a GitHub here: with pages, GraphQL, checks
// and refusals where it expects them.
func TestOctokit(t *testing.T) {
	if testing.Short() {
		t.Skip("octokit spaces its writes by a second")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: scripts/setup octokit fetches it")
	}
	modules, err := filepath.Abs(filepath.Join("..", "..", ".cache", "octokit", "node_modules"))
	must(t, err)
	if _, err := os.Stat(filepath.Join(modules, "octokit")); err != nil {
		t.Skip("octokit is not installed: scripts/setup octokit fetches it")
	}
	s := newStage(t)
	for i := range 3 {
		s.propose(fmt.Sprint("b", i), map[string]string{"a": strconv.Itoa(i)})
	}
	through := httptest.NewServer(contract.Proxy(t, s.URL()))
	defer through.Close()
	cmd := exec.CommandContext(ctx(t), node, filepath.Join("octokit", "drive.mjs"))
	cmd.Env = append(os.Environ(),
		"APP_ID="+strconv.FormatInt(s.app.ID, 10), "PRIVATE_KEY="+string(s.app.Key), "API_URL="+through.URL+"/api/v3", "MODULES="+modules, "NO_PROXY=127.0.0.1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	type m = map[string]any
	var got m
	must(t, json.Unmarshal(out, &got))
	want := m{
		"app": s.app.Slug, "installation": float64(s.installation), "pulls": []any{3.0, 2.0, 1.0}, "annotations": 1.0, "readme": "widgets\n",
		"written": s.branch("b1"), "graph": []any{1.0, 2.0, 3.0}, "refused": "422 A pull request already exists for acme:b1.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	comments, err := s.Comments(repo, 1)
	must(t, err)
	runs, err := s.CheckRuns(repo)
	must(t, err)
	pulls, err := s.PullRequests(repo)
	must(t, err)
	if len(comments) != 1 || comments[0].Body != "from octokit 🎉" || !slices.Equal(comments[0].Reactions, []string{"rocket"}) ||
		len(runs) != 1 || runs[0].Conclusion != "neutral" || runs[0].ExternalID != "t_1" || !slices.Equal(pulls[0].Labels, []string{"octokit"}) {
		t.Errorf("comments %v, runs %v, pull requests %v", comments, runs, pulls)
	}
}
