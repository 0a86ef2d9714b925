package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MergeFile merges two versions of a text line by line, as git does. Where they
// conflict it counts the places, and the result holds git's markers there. A
// version with a NUL is binary: it conflicts with any other, once, and there is
// no merged result.
func (s *Scratch) MergeFile(ctx context.Context, ours, base, theirs []byte) (merged []byte, conflicts int, err error) {
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(theirs, base):
		return ours, 0, s.alive()
	case bytes.Equal(ours, base):
		return theirs, 0, s.alive()
	}
	for _, side := range [][]byte{ours, base, theirs} {
		if bytes.IndexByte(side, 0) >= 0 {
			return nil, 1, s.alive()
		}
	}
	if err := s.alive(); err != nil {
		return nil, 0, err
	}
	dir, err := os.MkdirTemp(s.dir, "merge-*")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := []string{"ours", "base", "theirs"}
	for i, data := range [][]byte{ours, base, theirs} {
		if err := os.WriteFile(filepath.Join(dir, names[i]), data, 0o600); err != nil {
			return nil, 0, err
		}
	}
	c := s.call(nil, append([]string{"merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs"}, names...)...)
	c.dir = dir
	merged, _, err = s.run(ctx, c)
	// The exit code is the number of conflicts, up to 127; above are failures.
	var exit *exitError
	if errors.As(err, &exit) && exit.code > 0 && exit.code < 128 {
		return merged, exit.code, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return merged, 0, nil
}

// MergeTree tells which tree "git merge" would make of two commits in a
// repository without attributes and configuration, and whether without a
// conflict. Only the name of the tree is to be had: its objects are not kept.
// [ErrUnrelated] if nothing is common.
func (s *Scratch) MergeTree(ctx context.Context, a, b ID) (tree ID, clean bool, err error) {
	if err := s.check(a, b); err != nil {
		return "", false, err
	}
	if err := s.alive(); err != nil {
		return "", false, err
	}
	if err := s.haveTrees(ctx, a, b); err != nil {
		return "", false, err
	}
	// Elsewhere, so that Install does not bring them into the clone.
	dir, err := os.MkdirTemp(s.dir, "merge-*")
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := s.call(nil, "merge-tree", "--write-tree", "--no-messages", "-z", string(a), string(b))
	c.env = append(c.env, "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quote(filepath.Join(s.dir, "objects")))
	out, _, err := s.run(ctx, c)
	if said(err, "unrelated histories") {
		return "", false, fmt.Errorf("%w: %s and %s", ErrUnrelated, a, b)
	}
	if err != nil && !exited(err, 1) {
		return "", false, s.blame(ctx, err, a, b)
	}
	first, _, _ := strings.Cut(string(out), "\x00")
	tree, bad := ParseID(first)
	return tree, err == nil, bad
}

// haveTrees looks through the trees that a merge is made of, if any can be
// missing at all: git before 2.44 takes a missing one for an empty one.
func (s *Scratch) haveTrees(ctx context.Context, a, b ID) error {
	if !s.clone.Partial() {
		return nil
	}
	ids, err := s.mergeBases(ctx, a, b)
	for _, id := range append(ids, a, b) {
		if err == nil {
			_, err = s.Tree(ctx, id)
		}
	}
	return err
}
