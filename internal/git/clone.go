package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Clone is a repository of somebody else: read with care, and written only by
// [Scratch.Install] and [Clone.UpdateRef]. It may be used concurrently.
type Clone struct {
	run     *runner
	dir     string // that was opened, absolute
	gitDir  string // of the working tree that dir is in
	common  string // what all working trees share: refs, objects, configuration
	format  format
	shallow bool
}

// quiet switches off, in the commands that do run in the clone and so read its
// configuration, what that configuration could make them execute. None of the
// commands used is known to execute any of it.
var quiet = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.pager=cat",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"protocol.allow=never",
	"gc.auto=0",
	"maintenance.auto=false",
}

// Open finds the repository that holds dir: a working tree or any folder below,
// a linked working tree, a bare repository. It fails with [ErrNoGit],
// [ErrGitTooOld], [ErrNotRepository] or [ErrUnsafeOwner].
//
// A repository of another user is refused as git itself would, also by root;
// what the person's (or the machine's) safe.directory allows is allowed here.
func Open(ctx context.Context, dir string) (*Clone, error) {
	run, err := findGit(ctx)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("%w: %q cannot be entered (%w); give the folder of a clone", ErrNotRepository, dir, err)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("%w: %q is a file; give the folder of a clone", ErrNotRepository, dir)
	}
	c := &Clone{run: run, dir: abs}
	err = c.discover(ctx, nil)
	if said(err, "dubious ownership", "is owned by someone else") {
		trusted, cause := run.safeDirectories(ctx)
		if cause != nil {
			return nil, cause
		}
		err = c.discover(ctx, trusted)
	}
	switch {
	case err == nil:
		return c, nil
	case said(err, "dubious ownership", "is owned by someone else"):
		return nil, fmt.Errorf("%w: %q is not yours, so git does not trust it; if you do, run: git config --global --add safe.directory %s", ErrUnsafeOwner, dir, shellQuote(abs))
	case said(err, "not a git repository"):
		return nil, fmt.Errorf("%w: %q is in no clone; run in one, or give its folder", ErrNotRepository, dir)
	}
	return nil, fmt.Errorf("the repository at %q cannot be opened: %w", dir, err)
}

// discover asks git where everything is. Answers end in one newline each, and a
// folder's name can hold newlines too, so each question is a process of its own.
func (c *Clone) discover(ctx context.Context, trusted []string) error {
	env := configEnv(append(prefixed("safe.directory=", trusted), quiet...))
	// For values of safe.directory, and to be as lenient under sudo as git is.
	for _, name := range []string{"HOME", "SUDO_UID"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	ask := func(question ...string) (string, error) {
		out, err := c.run.output(ctx, call{dir: c.dir, env: env, args: append([]string{"rev-parse", "--path-format=absolute"}, question...)})
		return strings.TrimSuffix(string(out), "\n"), err
	}
	var err error
	if c.gitDir, err = ask("--git-dir"); err != nil {
		return err
	}
	if c.common, err = ask("--git-common-dir"); err != nil {
		return err
	}
	facts, err := ask("--is-shallow-repository", "--show-object-format")
	if err != nil {
		return err
	}
	shallow, name, _ := strings.Cut(facts, "\n")
	c.shallow = shallow == "true"
	for _, f := range []format{sha1Format, sha256Format} {
		if f.name == name {
			c.format = f
			return nil
		}
	}
	return fmt.Errorf("its objects are named by %q, which is not known here", name)
}

// safeDirectories reads the one setting safe.directory where git reads it from:
// the machine's, the person's and the environment's configuration, never a
// repository's.
func (r *runner) safeDirectories(ctx context.Context) ([]string, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_DIR=/dev/null"}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name == "HOME" || name == "XDG_CONFIG_HOME" || strings.HasPrefix(name, "GIT_CONFIG_") {
			env = append(env, kv)
		}
	}
	bare := &runner{git: r.git, env: env}
	out, err := bare.output(ctx, call{dir: "/", args: []string{"config", "--includes", "-z", "--get-all", "safe.directory"}})
	if exited(err, 1) { // it is not set
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// GitDir is the folder that all working trees of the clone share, absolute.
func (c *Clone) GitDir() string { return c.common }

// Shallow says whether the clone has only the youngest part of its history.
func (c *Clone) Shallow() bool { return c.shallow }

// Partial says whether the clone was made with a filter, so that objects can be
// missing from it that a fetch would bring.
func (c *Clone) Partial() bool {
	marks, _ := filepath.Glob(filepath.Join(globQuote(c.objects()), "pack", "*.promisor"))
	return len(marks) > 0
}

func (c *Clone) objects() string { return filepath.Join(c.common, "objects") }

// git runs a command in the clone. Only for commands that read no object and
// touch no working tree; see [quiet].
func (c *Clone) git(ctx context.Context, args ...string) ([]byte, error) {
	env := append(configEnv(quiet), "GIT_DIR="+c.gitDir)
	return c.run.output(ctx, call{dir: c.common, env: env, args: args})
}

// configEnv hands settings to git with the authority of a command line, in
// variables, since these take any bytes.
func configEnv(settings []string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, prefix+s)
	}
	return out
}

// shellQuote makes a word that a person can paste into a shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// globQuote takes the meaning from what filepath.Glob would interpret.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// readSmall reads a file of the clone that is small by nature. A missing file is
// an empty one; anything but a file (a pipe would never end) is refused.
func readSmall(path string) ([]byte, error) {
	const limit = 64 << 20
	fi, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, fmt.Errorf("%q is no ordinary file of at most %d bytes", path, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
