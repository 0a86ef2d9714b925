package measure_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/measure"
)

// fake is the environment variable that makes the test binary play the program: it
// prints the variable's value and ends with the code before the first colon.
const fake = "BAILIFF_TEST_FAKE"

func TestMain(m *testing.M) {
	if answer := os.Getenv(fake); answer != "" {
		var code int
		rest := ""
		if _, err := fmt.Sscanf(answer, "%d:", &code); err == nil {
			_, rest, _ = strings.Cut(answer, ":")
		}
		if len(os.Args) != 4 || os.Args[1] != "consolidate" || os.Args[2] != "--json" {
			code, rest = 64, fmt.Sprint(os.Args)
		}
		fmt.Fprint(os.Stdout, rest)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A tiny case: two pull requests that change neighbouring lines of a go.mod, which
// plain git cannot merge both.
func tiny(t *testing.T) corpus.Case {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo, "-c", "user.name=bot", "-c", "user.email=bot@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(a, b string) {
		t.Helper()
		text := fmt.Sprintf("module m\n\nrequire (\n\texample.com/a %s\n\texample.com/b %s\n)\n", a, b)
		if err := os.WriteFile(filepath.Join(repo, "go.mod"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "go.mod")
		git("commit", "-q", "-m", a+b)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write("v1.0.0", "v1.0.0")
	main := git("rev-parse", "HEAD")
	prs := []map[string]any{}
	for i, versions := range [][2]string{{"v1.1.0", "v1.0.0"}, {"v1.0.0", "v1.1.0"}} {
		branch := fmt.Sprintf("dependabot/go_modules/x-%d", i)
		git("checkout", "-q", "-b", branch, "main")
		write(versions[0], versions[1])
		prs = append(prs, map[string]any{
			"number": i + 1, "branch": branch, "commit": git("rev-parse", "HEAD"), "merge_base_commit": main,
			"files": []string{"go.mod"}, "ecosystems": []string{"go"},
		})
	}
	git("bundle", "create", "-q", filepath.Join(dir, "tiny.bundle"), "--all")
	data, err := json.Marshal(map[string]any{"id": "tiny", "bundle": "tiny.bundle", "main_commit": main, "ecosystems": []string{"go"}, "prs": prs})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tiny.case.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return cases[0]
}

func runFake(t *testing.T, c corpus.Case, answer string) measure.Row {
	t.Helper()
	t.Setenv(fake, answer)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	row, err := (&measure.Runner{Bailiff: []string{self}, Clock: clock}).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestRun(t *testing.T) {
	c := tiny(t)
	one, two := c.PullRequests[0].Commit, c.PullRequests[1].Commit
	row := runFake(t, c, fmt.Sprintf(`3:{"result_sha":%q,"pull_requests":[
		{"head_sha":%q,"outcome":"merged"},
		{"head_sha":%q,"outcome":"left_out","reason_code":"text_conflict","reason":"both change a line"}],
		"files":[{"path":"go.mod","method":"text"}]}`, one, one, two))
	if b := row.Bailiff; b.Merged != 1 || b.LeftOut != 1 || b.Superseded != 0 || b.Error != "" || b.Sound != nil {
		t.Errorf("bailiff: %+v", b)
	}
	if g := row.Git; g.Merged != 1 || g.LeftOut != 1 {
		t.Errorf("git: %+v", g)
	}
	if f := row.Fates[1]; f.Outcome != "left_out" || f.Code != "text_conflict" || !f.Adapted || f.GitMerged {
		t.Errorf("the second's fate: %+v", f)
	}
	if f := row.Fates[0]; len(f.Stale) != 0 || !f.GitMerged {
		t.Errorf("the first's fate: %+v", f)
	}
	var out strings.Builder
	measure.WriteHead(&out)
	row.Write(&out)
	for _, want := range []string{"#2 left_out text_conflict: both change a line", "merged as text: go.mod"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}

// A result that claims what it does not have is found out.
func TestRunFindsOutAFalseClaim(t *testing.T) {
	c := tiny(t)
	one, two := c.PullRequests[0].Commit, c.PullRequests[1].Commit
	row := runFake(t, c, fmt.Sprintf(`0:{"result_sha":%q,"pull_requests":[
		{"head_sha":%q,"outcome":"merged"},{"head_sha":%q,"outcome":"merged"}]}`, one, one, two))
	if got := row.Fates[1].Stale; len(got) != 1 || !strings.Contains(got[0], "example.com/b v1.0.0") {
		t.Errorf("stale: %q", got)
	}
	if totals := measure.Sum([]measure.Row{row}); totals.Stale != 1 {
		t.Errorf("stale in the totals: %d", totals.Stale)
	}
}

func TestRunOfAProgramThatFails(t *testing.T) {
	for name, answer := range map[string]string{
		"refuses":     "1:",
		"is no JSON":  "0:Segmentation fault",
		"leaves none": `0:{"pull_requests":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			row := runFake(t, tiny(t), answer)
			if row.Bailiff.Merged != 0 || row.Bailiff.LeftOut != 2 || row.Fates[0].Outcome != "unseen" {
				t.Errorf("%+v", row)
			}
			if (row.Bailiff.Error == "") != (name == "leaves none") {
				t.Errorf("error %q", row.Bailiff.Error)
			}
		})
	}
}

func TestSum(t *testing.T) {
	yes, no := true, false
	rows := []measure.Row{
		{
			Bailiff: measure.Side{Sound: &yes, Merged: 2}, Git: measure.Side{Sound: &no, Merged: 1, LeftOut: 1},
			Fates: []measure.Fate{
				{Outcome: "merged", Adapted: true, Ecosystems: []string{"npm"}, GitMerged: true},
				{Outcome: "superseded", Adapted: true, Ecosystems: []string{"npm", "go"}},
			},
		},
		{
			Bailiff: measure.Side{Sound: &no, LeftOut: 2}, Git: measure.Side{LeftOut: 2},
			Fates: []measure.Fate{
				{Outcome: "left_out", Code: "needs_tool", Adapted: true, Ecosystems: []string{"npm"}},
				{Outcome: "left_out", Code: "text_conflict", Ecosystems: []string{"pip"}},
			},
		},
	}
	got := measure.Sum(rows)
	if a := got.Adapted; a.PullRequests != 3 || a.Merged != 1 || a.Superseded != 1 || a.LeftOut != 1 || a.Cases != 2 || a.UnsoundCases != 1 {
		t.Errorf("adapted: %+v", a)
	}
	if a := got.All; a.PullRequests != 4 || a.GitMerged != 1 || a.WholeAndSound != 1 || a.GitWhole != 0 || a.GitUnsound != 1 {
		t.Errorf("all: %+v", a)
	}
	if n := got.ByEcosystem["npm"]; n.PullRequests != 3 || n.Cases != 2 {
		t.Errorf("npm: %+v", n)
	}
	if got.Codes["left_out needs_tool"] != 1 || len(got.Codes) != 1 {
		t.Errorf("codes: %v", got.Codes)
	}
	if share := got.Adapted.Share(); share < 66 || share > 67 {
		t.Errorf("share: %v", share)
	}
	if share := (measure.Total{}).Share(); share != 100 {
		t.Errorf("share of nothing: %v", share)
	}
}
