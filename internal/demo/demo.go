// Package demo makes a repository as dependency bots leave it: a small project in two
// languages with a dozen branches that were all opened from one base. What they change
// is what npm, go and dependabot really write for these versions, so that nothing has
// to be fetched, and the same repository comes out every time, commit by commit.
//
// Several of the branches conflict as text: neighbouring lines of package.json, two
// requirements of go.mod, two steps of a workflow. Others go together in ways that text
// does not show: react-dom needs the react of another branch; debug wants the old ms
// that another branch moves away, until a third bumps debug; semver is bumped twice.
package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed repo/*.txtar
var archives embed.FS

// start is the date of the base commit; each branch follows two minutes after the last.
var start = time.Date(2024, time.November, 4, 6, 0, 0, 0, time.UTC)

const between = 2 * time.Minute

// Who commits what, and the name that the commits' committer has on GitHub.
var (
	maintainer = person{"Lighthouse Keeper", "keeper@example.com"}
	dependabot = person{"dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"}
	platform   = person{"GitHub", "noreply@github.com"}
)

type person struct{ name, email string }

// Branch is a pull request of the demo repository.
type Branch struct {
	Name  string
	Title string
}

// Write makes the repository in dir, which must be empty or absent, with main checked
// out. It gives the branches in the order in which they were opened.
func Write(ctx context.Context, dir string) ([]Branch, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if there, err := os.ReadDir(dir); err != nil {
		return nil, err
	} else if len(there) > 0 {
		return nil, fmt.Errorf("%s is not empty: name a folder that is, or that does not exist", dir)
	}
	r := repo{dir: dir, now: start}
	if err := r.git(ctx, nil, nil, "init", "--quiet", "--template=", "--initial-branch=main"); err != nil {
		return nil, err
	}
	base, err := archives.ReadFile("repo/base.txtar")
	if err != nil {
		return nil, err
	}
	for _, file := range txtar.Parse(base).Files {
		name := filepath.Join(dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, file.Data, 0o644); err != nil {
			return nil, err
		}
	}
	if err := r.git(ctx, nil, nil, "add", "--all"); err != nil {
		return nil, err
	}
	if err := r.commit(ctx, maintainer, []byte("Light the lamp\n")); err != nil {
		return nil, err
	}
	names, err := fs.Glob(archives, "repo/[0-9]*.txtar")
	if err != nil {
		return nil, err
	}
	var branches []Branch
	for _, name := range names {
		b, err := r.open(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		branches = append(branches, b)
	}
	err = r.git(ctx, nil, nil, "checkout", "--quiet", "main")
	return branches, err
}

// open makes the branch that an archive describes.
func (r *repo) open(ctx context.Context, name string) (Branch, error) {
	data, err := archives.ReadFile(name)
	if err != nil {
		return Branch{}, err
	}
	parts := map[string][]byte{}
	for _, file := range txtar.Parse(data).Files {
		parts[file.Name] = file.Data
	}
	title, _, _ := bytes.Cut(parts["message"], []byte("\n"))
	b := Branch{Name: strings.TrimSpace(string(parts["branch"])), Title: string(title)}
	if err := r.git(ctx, nil, nil, "checkout", "--quiet", "-b", b.Name, "main"); err != nil {
		return Branch{}, err
	}
	if err := r.git(ctx, nil, parts["patch"], "apply", "--index", "-"); err != nil {
		return Branch{}, err
	}
	r.now = r.now.Add(between)
	return b, r.commit(ctx, dependabot, parts["message"])
}

// MergeInTurn merges the branches into main with plain git merge, one after the other,
// in a clone of the repository dir made at scratch, and gives those that git merged;
// the others conflict. It shows what the demo's repository is like without Bailiff.
func MergeInTurn(ctx context.Context, dir string, branches []Branch, scratch string) ([]Branch, error) {
	r := repo{dir: dir, now: start}
	if err := r.git(ctx, nil, nil, "clone", "--quiet", "--template=", dir, scratch); err != nil {
		return nil, err
	}
	r.dir = scratch
	var merged []Branch
	for _, b := range branches {
		err := r.git(ctx, platform.env(r.now), nil, "merge", "--quiet", "--no-edit", "origin/"+b.Name)
		var exit *exec.ExitError
		switch {
		case err == nil:
			merged = append(merged, b)
		case errors.As(err, &exit) && exit.ExitCode() == 1: // a conflict
			if err := r.git(ctx, nil, nil, "merge", "--abort"); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return merged, nil
}

type repo struct {
	dir string
	now time.Time
}

func (r *repo) commit(ctx context.Context, author person, message []byte) error {
	env := append(platform.env(r.now), "GIT_AUTHOR_NAME="+author.name, "GIT_AUTHOR_EMAIL="+author.email)
	err := r.git(ctx, env, message, "commit", "--quiet", "--cleanup=verbatim", "--file=-")
	return err
}

// env makes git take p for author and committer.
func (p person) env(at time.Time) []string {
	date := at.Format(time.RFC3339)
	return []string{
		"GIT_AUTHOR_NAME=" + p.name, "GIT_AUTHOR_EMAIL=" + p.email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + p.name, "GIT_COMMITTER_EMAIL=" + p.email, "GIT_COMMITTER_DATE=" + date,
	}
}

// git runs git without the person's configuration: a signing key or a hook of theirs
// would make another repository.
func (r *repo) git(ctx context.Context, env []string, stdin []byte, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GIT_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}
