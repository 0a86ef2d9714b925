package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitEnv makes git the same on every machine: no configuration of the user's or the
// system's, one committer, one date, messages in English.
var gitEnv = []string{
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=corpus", "GIT_AUTHOR_EMAIL=corpus@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
	"GIT_COMMITTER_NAME=corpus", "GIT_COMMITTER_EMAIL=corpus@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	"LC_ALL=C",
}

// git runs git in dir and gives its standard output without the last newline. On a
// failure the error holds what git said; errors.As finds the *exec.ExitError.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitWith(ctx, dir, nil, args...)
}

func gitWith(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), gitEnv...), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()+out.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Clone makes a clone of the case in dir, with main checked out and one
// remote-tracking branch a pull request, as a maintainer would have it.
func (c Case) Clone(ctx context.Context, dir string) error {
	_, err := git(ctx, "", "clone", "--quiet", "--branch", "main", filepath.Join(c.dir, c.Bundle), dir)
	return err
}

// WriteTree writes the files of a commit or tree of the repository repo into dir.
func WriteTree(ctx context.Context, repo, treeish, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "bailiff-index-")
	if err != nil {
		return err
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	_, err = gitWith(ctx, repo, index, "read-tree", "--end-of-options", treeish)
	if err == nil {
		_, err = gitWith(ctx, repo, index, "checkout-index", "--all", "--force", "--prefix="+dir+"/")
	}
	return errors.Join(err, os.RemoveAll(scratch))
}

// Tree is the SHA of a commit's tree.
func Tree(ctx context.Context, repo, commit string) (string, error) {
	return git(ctx, repo, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
}

// Changed lists the files that differ between two commits.
func Changed(ctx context.Context, repo, from, to string) ([]string, error) {
	out, err := git(ctx, repo, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}

// ReadFile gives a file of a commit; it is empty where the commit has no such file.
func ReadFile(ctx context.Context, repo, commit, file string) (string, error) {
	listed, err := git(ctx, repo, "--literal-pathspecs", "ls-tree", "-z", commit, "--", file)
	if err != nil || listed == "" {
		return "", err
	}
	info, _, _ := strings.Cut(listed, "\t")
	fields := strings.Fields(info)
	if len(fields) != 3 || fields[1] != "blob" {
		return "", nil
	}
	return git(ctx, repo, "cat-file", "blob", fields[2])
}
