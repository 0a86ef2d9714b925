package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// MinVersion is the oldest git that has what is used here (merge-tree
// --write-tree came with it).
const MinVersion = "2.38"

const (
	minMajor, minMinor = 2, 38
	// stderrLimit bounds what is kept of a process's standard error, in bytes.
	stderrLimit = 8 << 10
	// killGrace is how long a killed process may keep its pipes open through a
	// child of its own before they are closed over its head.
	killGrace = 5 * time.Second
)

// shield is the environment of every git process, beside PATH. It hides the
// configuration of the machine and of the person, forbids transports and the
// fetching of missing objects (GIT_NO_LAZY_FETCH is unknown to old versions:
// there GIT_ALLOW_PROTOCOL has the same effect), and keeps git from asking.
var shield = []string{
	"LC_ALL=C",
	"TZ=UTC",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_SYSTEM=/dev/null",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ALLOW_PROTOCOL=none",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_PAGER=cat",
	"GIT_EDITOR=:",
	"GIT_COMMITTER_NAME=bailiff",
	"GIT_COMMITTER_EMAIL=bailiff@localhost",
	"GIT_AUTHOR_NAME=bailiff",
	"GIT_AUTHOR_EMAIL=bailiff@localhost",
}

// runner starts git.
type runner struct {
	git string   // absolute
	env []string // of every process
}

// call is one git process to be.
type call struct {
	dir   string   // to run in
	env   []string // beside the runner's
	stdin io.Reader
	args  []string // the first is the verb
}

// findGit looks git up on the PATH and checks its version.
func findGit(ctx context.Context) (*runner, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: install git %s or newer and see that it is on the PATH (%v)", ErrNoGit, MinVersion, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	r := &runner{git: path, env: append([]string{"PATH=" + os.Getenv("PATH")}, shield...)}
	out, err := r.output(ctx, call{dir: "/", args: []string{"version"}})
	if err != nil {
		return nil, err
	}
	return r, checkVersion(string(out))
}

// checkVersion reads the answer of "git version", such as
// "git version 2.39.5 (Apple Git-154)".
func checkVersion(answer string) error {
	fields := strings.Fields(answer)
	if len(fields) < 3 {
		return fmt.Errorf("%w: it answers %q when asked for its version; install git %s or newer", ErrGitTooOld, answer, MinVersion)
	}
	major, rest, _ := strings.Cut(fields[2], ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a < minMajor || a == minMajor && b < minMinor {
		return fmt.Errorf("%w: this is %s; install git %s or newer", ErrGitTooOld, printable(fields[2]), MinVersion)
	}
	return nil
}

// command prepares a process. Its context ends it.
func (r *runner) command(ctx context.Context, c call) (*exec.Cmd, *tail) {
	cmd := exec.CommandContext(ctx, r.git, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(append([]string{}, r.env...), c.env...)
	cmd.Stdin = c.stdin
	cmd.WaitDelay = killGrace
	words := &tail{limit: stderrLimit}
	cmd.Stderr = words
	return cmd, words
}

// output runs git to its end and returns its standard output. On a failure that
// is an exit code, what was printed until then is returned beside the error.
func (r *runner) output(ctx context.Context, c call) ([]byte, error) {
	out, _, err := r.outputs(ctx, c)
	return out, err
}

// outputs is output with the standard error.
func (r *runner) outputs(ctx context.Context, c call) ([]byte, string, error) {
	cmd, words := r.command(ctx, c)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.Bytes(), words.String(), explain(ctx, c.args[0], err, words)
}

// explain turns the end of a process into an error that says what git said.
func explain(ctx context.Context, verb string, err error, words *tail) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", verb, ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &exitError{verb: verb, code: exit.ExitCode(), stderr: words.String()}
	}
	return fmt.Errorf("git %s: %w", verb, err)
}

// tail keeps the last bytes that were written to it. It is written by one
// goroutine of os/exec and read after that one has ended.
type tail struct {
	limit int
	buf   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
