package bare

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// WriteBlob stores a file's contents.
func (r *Repo) WriteBlob(ctx context.Context, data []byte) (git.ID, error) {
	return r.hash(ctx, "blob", data)
}

func (r *Repo) hash(ctx context.Context, kind string, data []byte) (git.ID, error) {
	out, err := r.git(ctx, bytes.NewReader(data), "hash-object", "-w", "-t", kind, "--stdin")
	if err != nil {
		return "", err
	}
	return git.ParseID(strings.TrimSpace(string(out)))
}

// Edit is what becomes of one path of a tree.
type Edit struct {
	Path string   // see git.CheckPath
	Mode git.Mode // ModeNone: the path goes; ModeTree: ID is a whole tree
	ID   git.ID
}

// WriteTree stores the tree base (zero: an empty one) with edits.
func (r *Repo) WriteTree(ctx context.Context, base git.ID, edits []Edit) (git.ID, error) {
	dir, err := os.MkdirTemp(r.Dir, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	if !base.IsZero() {
		if _, _, err := r.run(ctx, env, nil, "read-tree", string(base)); err != nil {
			return "", err
		}
	}
	var lines strings.Builder
	for _, e := range edits {
		if err := git.CheckPath(e.Path); err != nil {
			return "", err
		}
		switch e.Mode {
		case git.ModeTree:
			entries, err := r.Tree(ctx, e.ID)
			if err != nil {
				return "", err
			}
			for _, in := range entries {
				fmt.Fprintf(&lines, "%s %s\t%s/%s\x00", in.Mode, in.ID, e.Path, in.Path)
			}
		case git.ModeNone:
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", 40), e.Path)
		default:
			fmt.Fprintf(&lines, "%s %s\t%s\x00", e.Mode, e.ID, e.Path)
		}
	}
	if _, _, err := r.run(ctx, env, strings.NewReader(lines.String()), "update-index", "--add", "--replace", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, _, err := r.run(ctx, env, nil, "write-tree")
	if err != nil {
		return "", err
	}
	return git.ParseID(strings.TrimSpace(string(out)))
}

// CommitSpec is a commit to be.
type CommitSpec struct {
	Tree              git.ID
	Parents           []git.ID
	Author, Committer git.Signature
	Message           string
	Signature         string // the text of a gpgsig header; empty: none
}

// WriteCommit stores a commit. ErrNotFound if its tree or a parent is not there.
func (r *Repo) WriteCommit(ctx context.Context, spec CommitSpec) (git.ID, error) {
	var b strings.Builder
	if _, err := r.List(ctx, spec.Tree, false); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "tree %s\n", spec.Tree)
	for _, p := range spec.Parents {
		if _, err := r.Commit(ctx, p); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	for _, who := range []struct {
		role string
		git.Signature
	}{{"author", spec.Author}, {"committer", spec.Committer}} {
		fmt.Fprintf(&b, "%s %s <%s> %d %s\n", who.role, plain(who.Name), plain(who.Email), who.When.Unix, zone(who.When))
	}
	if spec.Signature != "" {
		fmt.Fprintf(&b, "gpgsig %s\n", strings.ReplaceAll(strings.TrimSpace(spec.Signature), "\n", "\n "))
	}
	b.WriteString("\n" + strings.ReplaceAll(spec.Message, "\x00", "\uFFFD"))
	return r.hash(ctx, "commit", []byte(b.String()))
}

// Signed says whether a commit carries a signature, of whoever.
func (r *Repo) Signed(ctx context.Context, id git.ID) (bool, error) {
	out, err := r.git(ctx, nil, "cat-file", "commit", string(id))
	if err != nil {
		return false, err
	}
	head, _, _ := strings.Cut(string(out), "\n\n")
	return strings.Contains(head, "\ngpgsig "), nil
}

// plain takes out what a signature line cannot hold.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == '<' || c == '>' {
			return -1
		}
		return c
	}, s))
}

func zone(d git.Date) string {
	if d.Zone == "" {
		return "+0000"
	}
	return d.Zone
}
