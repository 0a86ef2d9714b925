package demo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/demo"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestTheSameRepositoryEveryTime(t *testing.T) {
	var heads [2]string
	for i := range heads {
		dir := filepath.Join(t.TempDir(), "repo")
		if _, err := demo.Write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		heads[i] = git(t, dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
	}
	if heads[0] != heads[1] {
		t.Errorf("two runs differ:\n%s\n%s", heads[0], heads[1])
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	branches, err := demo.Write(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(branches) < 12 {
		t.Errorf("%d branches, want a dozen", len(branches))
	}
	if at := git(t, dir, "symbolic-ref", "--short", "HEAD"); at != "main" {
		t.Errorf("checked out: %s", at)
	}
	if dirty := git(t, dir, "status", "--porcelain"); dirty != "" {
		t.Errorf("the working tree is not clean:\n%s", dirty)
	}
	for _, b := range branches {
		// What tells a bot's branch: one commit of its author on the base, whose
		// message ends with the trailer.
		if n := git(t, dir, "rev-list", "--count", "main.."+b.Name); n != "1" {
			t.Errorf("%s: %s commits", b.Name, n)
		}
		if author := git(t, dir, "log", "-1", "--format=%an <%ae>", b.Name); author != "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>" {
			t.Errorf("%s: author %s", b.Name, author)
		}
		message := git(t, dir, "log", "-1", "--format=%B", b.Name)
		if !strings.HasPrefix(message, b.Title+"\n\n") || !strings.Contains(message, "\n---\nupdated-dependencies:\n") {
			t.Errorf("%s: message %q", b.Name, message)
		}
	}
}

func TestPlainGitLeavesHalfOfIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	branches, err := demo.Write(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	before := git(t, dir, "rev-parse", "main")
	merged, err := demo.MergeInTurn(t.Context(), dir, branches, filepath.Join(t.TempDir(), "clone"))
	if err != nil {
		t.Fatal(err)
	}
	if conflicting := len(branches) - len(merged); len(merged) == 0 || conflicting < 4 {
		t.Errorf("git merges %d of %d", len(merged), len(branches))
	}
	if git(t, dir, "rev-parse", "main") != before {
		t.Error("main of the repository moved")
	}
}

func TestWriteRefusesAFolderWithFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.Write(t.Context(), dir); err == nil {
		t.Error("wrote into a folder that has files")
	}
}
