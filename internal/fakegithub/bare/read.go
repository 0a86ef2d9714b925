package bare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// reader is the scratch that objects are read through, made when first needed.
func (r *Repo) reader(ctx context.Context) (*git.Scratch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == nil {
		// Its processes serve later requests too.
		s, err := r.clone.Scratch(context.WithoutCancel(ctx))
		if err != nil {
			return nil, err
		}
		r.scratch = s
	}
	return r.scratch, nil
}

// Commit reads a commit. ErrNotFound if there is none of that name.
func (r *Repo) Commit(ctx context.Context, id git.ID) (git.Commit, error) {
	r.mu.Lock()
	c, ok := r.commits[id]
	r.mu.Unlock()
	if ok {
		return c, nil
	}
	s, err := r.reader(ctx)
	if err != nil {
		return git.Commit{}, err
	}
	c, err = s.Commit(ctx, id)
	if err != nil {
		return git.Commit{}, absent(err)
	}
	r.mu.Lock()
	r.commits[id] = c
	r.mu.Unlock()
	return c, nil
}

// Blob reads a file's contents. ErrNotFound if there is none of that name.
func (r *Repo) Blob(ctx context.Context, id git.ID) ([]byte, error) {
	s, err := r.reader(ctx)
	if err != nil {
		return nil, err
	}
	data, err := s.Blob(ctx, id)
	return data, absent(err)
}

// Tree lists the files of a commit or tree, however deep. ErrNotFound if there is
// none of that name.
func (r *Repo) Tree(ctx context.Context, id git.ID) ([]git.Entry, error) {
	s, err := r.reader(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := s.Tree(ctx, id)
	return entries, absent(err)
}

// Node is an entry of one folder.
type Node struct {
	Path string
	Mode git.Mode
	ID   git.ID
	Size int64 // of a blob
}

// Type is git's word for what the node is.
func (n Node) Type() string {
	switch n.Mode {
	case git.ModeTree:
		return "tree"
	case git.ModeModule:
		return "commit"
	}
	return "blob"
}

// List lists a tree, of this folder alone or with all below. ErrNotFound if there is
// no tree of that name.
func (r *Repo) List(ctx context.Context, tree git.ID, recursive bool) ([]Node, error) {
	if !tree.Valid() {
		return nil, ErrNotFound
	}
	args := []string{"ls-tree", "-z", "--long", "--full-tree"}
	if recursive {
		args = append(args, "-r", "-t")
	}
	out, err := r.git(ctx, nil, append(args, "--end-of-options", string(tree))...)
	if err != nil {
		return nil, errors.Join(ErrNotFound, err)
	}
	var nodes []Node
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			continue
		}
		mode, err := strconv.ParseUint(fields[0], 8, 32)
		if err != nil {
			return nil, err
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64) // "-" for what is no blob
		nodes = append(nodes, Node{Path: path, Mode: git.Mode(mode), ID: git.ID(fields[2]), Size: size})
	}
	return nodes, nil
}

// Find is the node at a path of a commit; the empty path is the root.
func (r *Repo) Find(ctx context.Context, commit git.ID, path string) (Node, error) {
	c, err := r.Commit(ctx, commit)
	if err != nil {
		return Node{}, err
	}
	at := Node{Mode: git.ModeTree, ID: c.Tree}
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.Mode != git.ModeTree {
			return Node{}, ErrNotFound
		}
		nodes, err := r.List(ctx, at.ID, false)
		if err != nil {
			return Node{}, err
		}
		i := slices.IndexFunc(nodes, func(n Node) bool { return n.Path == name })
		if i < 0 {
			return Node{}, ErrNotFound
		}
		at = nodes[i]
	}
	at.Path = path
	return at, nil
}

// Contains says whether everything of old is in the history of id.
func (r *Repo) Contains(ctx context.Context, id, old git.ID) (bool, error) {
	if id == old {
		return true, nil
	}
	_, code, err := r.run(ctx, nil, nil, "merge-base", "--is-ancestor", string(old), string(id))
	if code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Log lists up to limit commits from a tip, youngest first.
func (r *Repo) Log(ctx context.Context, tip git.ID, path string, skip, limit int) ([]git.Commit, error) {
	args := []string{"rev-list", "--skip=" + strconv.Itoa(skip), "--max-count=" + strconv.Itoa(limit), string(tip)}
	if path != "" {
		args = append(args, "--", ":(literal)"+path)
	}
	out, err := r.git(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var list []git.Commit
	for line := range strings.Lines(string(out)) {
		c, err := r.Commit(ctx, git.ID(strings.TrimSpace(line)))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func absent(err error) error {
	if errors.Is(err, git.ErrMissing) || errors.Is(err, git.ErrNotA) || errors.Is(err, git.ErrBadID) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}
