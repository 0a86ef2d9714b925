package corpus_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
)

func find(t *testing.T, id string) corpus.Case {
	t.Helper()
	cases := corpustest.Cases(t)
	i := slices.IndexFunc(cases, func(c corpus.Case) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no case %s", id)
	}
	return cases[i]
}

func TestCorpusIsWhole(t *testing.T) {
	cases := corpustest.Cases(t)
	var prs, known int
	for _, c := range cases {
		prs += len(c.PullRequests)
		for _, pr := range c.PullRequests {
			if pr.Branch == "" || pr.Commit == "" || len(pr.Files) == 0 {
				t.Errorf("%s: pull request %d lacks its branch, commit or files", c.ID, pr.Number)
			}
			for _, file := range pr.Files {
				if corpus.FormatOf(file).Ecosystem == "" {
					t.Errorf("%s: no format knows %s", c.ID, file)
					continue
				}
				known++
			}
		}
	}
	// The figures of the corpus's README.
	if len(cases) != 63 || prs != 594 || known == 0 {
		t.Errorf("%d cases with %d pull requests, want 63 with 594", len(cases), prs)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, content := range map[string]string{
		"nothing in the folder": "",
		"no JSON":               "{",
		"not a case":            `{"id":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if content != "" {
				if err := os.WriteFile(filepath.Join(dir, "x.case.json"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if cases, err := corpus.Load(dir); err == nil {
				t.Errorf("loaded %v", cases)
			}
		})
	}
}

func TestFormatOf(t *testing.T) {
	for file, want := range map[string]struct {
		name    string
		adapted bool
	}{
		"package.json":                  {"package.json", true},
		"web/package-lock.json":         {"package-lock.json", true},
		"vendor/modules.txt":            {"vendor/modules.txt", true},
		"x/vendor/modules.txt":          {"vendor/modules.txt", true},
		"modules.txt":                   {"modules.txt", false},
		".github/workflows/ci.yml":      {"workflow", true},
		".github/actions/x/action.yml":  {"action", true},
		"docker/Dockerfile":             {"Dockerfile", true},
		"docker/Dockerfile.make":        {"Dockerfile", true},
		"requirements/requirements.txt": {"requirements", false},
		"dev-requirements.txt":          {"requirements", false},
		"README":                        {"README", false},
	} {
		if got := corpus.FormatOf(file); got.Name != want.name || got.Adapted != want.adapted {
			t.Errorf("FormatOf(%q) = %+v, want %+v", file, got, want)
		}
	}
}

func TestAdapted(t *testing.T) {
	pr := corpus.PullRequest{Files: []string{"package.json", "api/go.mod"}}
	if !pr.Adapted() {
		t.Error("package.json and go.mod are adapted")
	}
	pr.Files = append(pr.Files, "poetry.lock")
	if pr.Adapted() {
		t.Error("poetry.lock is not adapted")
	}
	if got, want := pr.Formats(), []string{"go.mod", "package.json", "poetry.lock"}; !slices.Equal(got, want) {
		t.Errorf("Formats() = %v, want %v", got, want)
	}
}

// The last of fd's six pull requests of that day conflicts with an earlier one in
// Cargo.lock.
func TestMergeInTurn(t *testing.T) {
	c := find(t, "sharkdp__fd__2022-10-01-4f1bcfe")
	clone := filepath.Join(t.TempDir(), "clone")
	if err := c.Clone(t.Context(), clone); err != nil {
		t.Fatal(err)
	}
	m, err := c.MergeInTurn(t.Context(), clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Merged, []int{1097, 1122, 1123, 1124, 1125}) || !slices.Equal(m.Conflicted, []int{1126}) {
		t.Errorf("merged %v, conflicted %v", m.Merged, m.Conflicted)
	}
	out := filepath.Join(t.TempDir(), "tree")
	if err := corpus.WriteTree(t.Context(), clone, m.Commit, out); err != nil {
		t.Fatal(err)
	}
	before, err := corpus.Tree(t.Context(), clone, c.MainCommit)
	if err != nil {
		t.Fatal(err)
	}
	after, err := corpus.Tree(t.Context(), clone, m.Commit)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Error("merging changed nothing")
	}
	if _, err := os.Stat(filepath.Join(out, "Cargo.lock")); err != nil {
		t.Error(err)
	}
}
