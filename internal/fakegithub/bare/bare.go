// Package bare keeps the git side of the simulated GitHub: bare repositories on disk,
// read through package git, written by git's own plumbing, and served over smart HTTP
// by "git http-backend".
//
// Every process has a fixed environment without the configuration of machine and
// person; the repositories have no hooks and no attributes. Names from requests reach
// git as references that were checked, as object names, or on standard input.
package bare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// ErrNotFound says that there is no such object, or one of another type.
var ErrNotFound = errors.New("no such object")

// shield is the environment of every git process, beside PATH and HOME.
var shield = []string{
	"LC_ALL=C",
	"TZ=UTC",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com",
	"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com",
}

// settings are the configuration of each repository: nothing in the background, and
// what GitHub allows a fetch to ask for.
var settings = [][2]string{
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"receive.autogc", "false"},
	{"uploadpack.allowFilter", "true"},
	{"uploadpack.allowAnySHA1InWant", "true"},
	{"core.logAllRefUpdates", "false"},
}

// Repo is a bare repository. It may be used concurrently. Close it.
type Repo struct {
	// Dir is the repository's folder.
	Dir string

	program string
	clone   *git.Clone

	mu      sync.Mutex // guards what follows
	scratch *git.Scratch
	commits map[git.ID]git.Commit
	compare map[[2]git.ID]*Comparison
}

// Init makes an empty repository in dir, whose parent is there.
func Init(ctx context.Context, dir, defaultBranch string) (*Repo, error) {
	if err := git.CheckRef("refs/heads/" + defaultBranch); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", git.ErrNoGit, err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	r := &Repo{Dir: dir, program: program, commits: map[git.ID]git.Commit{}, compare: map[[2]git.ID]*Comparison{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := r.git(ctx, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch="+defaultBranch); err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, s := range settings {
		section, key, _ := strings.Cut(s[0], ".")
		fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, key, s[1])
	}
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = config.WriteString(b.String())
	if err := errors.Join(err, config.Close()); err != nil {
		return nil, err
	}
	r.clone, err = git.Open(ctx, dir)
	return r, err
}

// Close ends the repository's processes. What is on disk stays.
func (r *Repo) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == nil {
		return nil
	}
	err := r.scratch.Close()
	r.scratch = nil
	return err
}

// Fetch brings branches and tags of another repository on this machine, those of the
// same name replaced; or what the given refspecs say.
func (r *Repo) Fetch(ctx context.Context, from string, refspecs ...string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if len(refspecs) == 0 {
		refspecs = []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", from}
	_, err = r.git(ctx, nil, append(args, refspecs...)...)
	return err
}

// Refs lists all references with the objects they name.
func (r *Repo) Refs(ctx context.Context) (map[string]git.ID, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return nil, err
	}
	refs := map[string]git.ID{}
	for line := range strings.Lines(string(out)) {
		if name, id, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			refs[name] = git.ID(id)
		}
	}
	return refs, nil
}

// SetRef moves a reference that stands at old (empty: is not there) to to (empty: it
// goes).
func (r *Repo) SetRef(ctx context.Context, name string, to, old git.ID) error {
	if err := git.CheckRef(name); err != nil {
		return err
	}
	zero := git.ID(strings.Repeat("0", 40))
	if old == "" {
		old = zero
	}
	var line string
	if to == "" {
		line = fmt.Sprintf("delete %s\x00%s\x00", name, old)
	} else {
		line = fmt.Sprintf("update %s\x00%s\x00%s\x00", name, to, old)
	}
	_, err := r.git(ctx, strings.NewReader(line), "update-ref", "-z", "--no-deref", "--stdin")
	return err
}

// SetHead makes a branch, born or not, the one that a clone checks out.
func (r *Repo) SetHead(ctx context.Context, branch string) error {
	name := "refs/heads/" + branch
	if err := git.CheckRef(name); err != nil {
		return err
	}
	_, err := r.git(ctx, nil, "symbolic-ref", "HEAD", name)
	return err
}

// git runs git in the repository and gives what it printed.
func (r *Repo) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	out, _, err := r.run(ctx, nil, stdin, args...)
	return out, err
}

// run is git with more environment; the exit code of a git that was run to its end
// stands beside the error.
func (r *Repo) run(ctx context.Context, env []string, stdin io.Reader, args ...string) (_ []byte, code int, _ error) {
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = r.Dir
	cmd.Env = append(r.environment(), env...)
	cmd.Stdin = stdin
	cmd.WaitDelay = 5 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return out.Bytes(), code, err
}

func (r *Repo) environment() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Dir,
		"GIT_DIR=" + r.Dir,
	}, shield...)
}
