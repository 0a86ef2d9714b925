package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	for _, want := range []string{`"left-pad": "^1.3.0"`, `"react": "18.3.1"`, `"react-dom": "18.3.1"`, `"semver": "^7.6.3"`} {
		if !strings.Contains(string(manifest), want) {
			t.Errorf("no %s in the result:\n%s", want, manifest)
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
