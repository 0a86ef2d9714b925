package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/opinion"
)

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lighthouse")
	var out, said bytes.Buffer
	p := &program{ctx: t.Context(), stdout: &out, stderr: &said}
	if code := run(p, []string{"demo", dir}); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, &out, &said)
	}
	for _, want := range []string{
		dir,
		"git merge, one branch after the other, gets ",
		"superseded by dependabot/npm_and_yarn/semver-7.6.3",
		"\n12 merged, 1 superseded, 0 left out, in ",
		"The result is the branch bailiff/dependencies",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
	show := exec.CommandContext(t.Context(), "git", "-C", dir, "show", "bailiff/dependencies:package.json")
	manifest, err := show.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"left-pad": "^1.3.0"`, `"ms": "^2.1.3"`, `"debug": "^4.3.7"`, `"react": "18.3.1"`, `"react-dom": "18.3.1"`, `"semver": "^7.6.3"`} {
		if !strings.Contains(string(manifest), want) {
			t.Errorf("no %s in the result:\n%s", want, manifest)
		}
	}
}

// What the demo shows is what npm and go accept, and nothing that no side said.
func TestDemoGivesWhatPackageManagersAccept(t *testing.T) {
	if testing.Short() {
		t.Skip("package managers take their time")
	}
	judge, err := opinion.NewJudge()
	if errors.Is(err, opinion.ErrNoTools) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	dir := filepath.Join(scratch, "lighthouse")
	p := &program{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard}
	if code := run(p, []string{"demo", dir}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	refs, err := exec.CommandContext(t.Context(), "git", "-C", dir, "for-each-ref", "--format=%(refname:short)", "refs/heads").Output()
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]string{}
	var world []string
	for i, branch := range strings.Fields(string(refs)) {
		trees[branch] = filepath.Join(scratch, fmt.Sprint(i))
		if err := corpus.WriteTree(t.Context(), dir, branch, trees[branch]); err != nil {
			t.Fatal(err)
		}
		if branch != "bailiff/dependencies" {
			world = append(world, trees[branch])
		}
	}
	result := opinion.Subject{Tree: trees["bailiff/dependencies"], World: world}
	for _, checker := range []string{"npm", "go", "provenance"} {
		o := judge.Ask(t.Context(), opinion.Project{Dir: ".", Checker: checker}, result)
		if o.Verdict == opinion.Refused {
			t.Errorf("%s: %q\n%s", o.Tool, o.Problems, o.Output)
		} else if o.Verdict == opinion.Unable {
			t.Logf("%s cannot judge: %s", o.Tool, o.Why)
		}
	}
}

func TestDemoRefusesAFolderWithFiles(t *testing.T) {
	var out, said bytes.Buffer
	p := &program{ctx: t.Context(), stdout: &out, stderr: &said}
	if code := run(p, []string{"demo", "."}); code != 1 {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(said.String(), "not empty") {
		t.Errorf("said %q", said.String())
	}
}
