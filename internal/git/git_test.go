package git_test

import (
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

func open(t *testing.T, dir string) (*git.Clone, *git.Scratch) {
	t.Helper()
	c, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Scratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, s
}

func TestWholeWay(t *testing.T) {
	r := gittest.New(t)
	root := r.Commit("main", "", gittest.Files{"go.mod": "module a\n", "d/x": "1\n2\n3\n"})
	base := r.Commit("main", "main", gittest.Files{"d/x": "1\n2\n3\nbase\n"})
	head := r.Commit("-x", string(root), gittest.Files{"d/x": "head\n1\n2\n3\n", "go.mod": nil, "new": gittest.Exec("#!")}, gittest.Author(gittest.Dependabot), gittest.Message("bump x\n\nbody"))
	ctx := t.Context()
	c, s := open(t, r.Dir)

	refs, err := c.Refs(ctx)
	if err != nil || len(refs) != 2 || refs[0].Name != "refs/heads/-x" || refs[0].Commit != head || refs[1].Commit != base {
		t.Fatalf("refs %v, %v", refs, err)
	}
	fork, ok, err := s.MergeBase(ctx, base, head)
	if err != nil || !ok || fork != root {
		t.Fatalf("merge base %v %v %v", fork, ok, err)
	}
	commits, err := s.Commits(ctx, fork, head)
	if err != nil || len(commits) != 1 || commits[0].ID != head || commits[0].Message != "bump x\n\nbody" || commits[0].Author.Email != gittest.Dependabot.Email {
		t.Fatalf("commits %+v %v", commits, err)
	}
	changes, err := s.Diff(ctx, fork, head)
	if err != nil || len(changes) != 3 {
		t.Fatalf("changes %+v %v", changes, err)
	}
	blob := func(commit git.ID, path string) []byte {
		entries, err := s.Tree(ctx, commit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Path == path {
				data, err := s.Blob(ctx, e.ID)
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
		}
		return nil
	}
	merged, conflicts, err := s.MergeFile(ctx, blob(base, "d/x"), blob(fork, "d/x"), blob(head, "d/x"))
	if err != nil || conflicts != 0 || string(merged) != "head\n1\n2\n3\nbase\n" {
		t.Fatalf("merged %q %d %v", merged, conflicts, err)
	}
	im, err := s.Import(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.Blob(merged)
	if err != nil {
		t.Fatal(err)
	}
	spec := git.CommitSpec{Parent: base, Author: commits[0].Author, Committer: commits[0].Committer, Message: commits[0].Message}
	for _, ch := range changes {
		fc := git.FileChange{Path: ch.Path, Mode: ch.NewMode, ID: ch.New}
		if ch.Kind == git.Deleted {
			fc = git.FileChange{Path: ch.Path, Delete: true}
		}
		if ch.Path == "d/x" {
			fc.ID, fc.Blob = "", m
		}
		spec.Changes = append(spec.Changes, fc)
	}
	cm, err := im.Commit(spec)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := im.Close()
	if err != nil {
		t.Fatal(err)
	}
	tip := ids[cm]
	tree, clean, err := s.MergeTree(ctx, base, head)
	if err != nil || !clean {
		t.Fatalf("merge tree %v %v", clean, err)
	}
	got, err := s.Commit(ctx, tip)
	if err != nil || got.Tree != tree {
		t.Fatalf("tree %v, want %v (%v)", got.Tree, tree, err)
	}
	if err := s.Install(ctx, tip); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateRef(ctx, "refs/heads/bailiff/dependencies", tip, ""); err != nil {
		t.Fatal(err)
	}
	if r.Resolve("bailiff/dependencies") != tip {
		t.Error("the branch is not at the result")
	}
	r.Git("fsck", "--strict")
}
