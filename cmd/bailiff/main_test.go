package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bailiff": func() {
			os.Exit(run(&program{ctx: context.Background(), stdout: os.Stdout, stderr: os.Stderr}, os.Args[1:]))
		},
		"bailiffcode": exitCode,
	})
}

// exitCode runs a command, passes on what it says, and succeeds if it ends with
// the code that is wanted: bailiffcode 3 COMMAND...
func exitCode() {
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); c.ProcessState == nil || strconv.Itoa(c.ProcessState.ExitCode()) != os.Args[1] {
		fmt.Fprintf(os.Stderr, "%v; wanted exit code %s\n", err, os.Args[1])
		os.Exit(1)
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "Pat Person")
				e.Setenv("GIT_"+who+"_EMAIL", "pat@example.com")
				e.Setenv("GIT_"+who+"_DATE", "2026-01-05T09:00:00Z")
			}
			return nil
		},
	})
}

// What a repository names reaches a terminal only as text, in refusals too.
func TestErrorsArePrintable(t *testing.T) {
	var said bytes.Buffer
	p := &program{ctx: t.Context(), stdout: io.Discard, stderr: &said}
	if code := run(p, []string{"consolidate", t.TempDir() + "/\x1b]0;title\a\u202e"}); code != 1 {
		t.Errorf("exit %d", code)
	}
	if strings.ContainsAny(said.String(), "\x1b\a\u202e") || !strings.HasPrefix(said.String(), "bailiff: ") {
		t.Errorf("said %q", said.String())
	}
}
