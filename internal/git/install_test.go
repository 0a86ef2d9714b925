package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// packs lists the files in a clone's pack folder.
func packs(t *testing.T, gitDir string) []fs.FileInfo {
	t.Helper()
	var list []fs.FileInfo
	for _, e := range must(os.ReadDir(filepath.Join(gitDir, "objects/pack")))(t) {
		list = append(list, must(e.Info())(t))
	}
	return list
}

func TestInstall(t *testing.T) {
	for _, perm := range []os.FileMode{0o755, 0o750, 0o700, 0o775} {
		t.Run(perm.String(), func(t *testing.T) {
			r := gittest.New(t)
			base := r.Commit("main", "", gittest.Files{"f": "0"})
			if err := os.Chmod(filepath.Join(r.GitDir, "objects/pack"), perm); err != nil {
				t.Fatal(err)
			}
			_, s := open(t, r.Dir)
			tip := importOne(t, s, git.CommitSpec{Parent: base, Author: gittest.Person, Committer: gittest.Person})
			importOne(t, s, git.CommitSpec{Parent: base, Author: gittest.Dependabot, Committer: gittest.Person})
			for range 2 {
				if err := s.Install(t.Context(), tip); err != nil {
					t.Fatal(err)
				}
			}
			list := packs(t, r.GitDir)
			if len(list) != 4 {
				t.Errorf("%d files, want two packs and two indexes", len(list))
			}
			for _, fi := range list {
				if !strings.HasPrefix(fi.Name(), "pack-") || fi.Mode() != perm&0o444 {
					t.Errorf("%s is %v in a folder of %v", fi.Name(), fi.Mode(), perm)
				}
			}
			r.Git("cat-file", "-e", string(tip))
		})
	}
}

// TestInstallAfterACrash: a pack without its index, whatever is in it, and a
// temporary file are what a power cut leaves.
func TestInstallAfterACrash(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "0"})
	_, s := open(t, r.Dir)
	tip := importOne(t, s, git.CommitSpec{Parent: base, Author: gittest.Person, Committer: gittest.Person})
	made := must(filepath.Glob(filepath.Join(s.Dir(), "objects/pack/*.pack")))(t)
	write(t, filepath.Join(r.GitDir, "objects/pack", filepath.Base(made[0])), "half")
	write(t, filepath.Join(r.GitDir, "objects/pack/tmp_pack_123"), "half")
	if err := s.Install(t.Context(), tip); err != nil {
		t.Fatal(err)
	}
	r.Git("cat-file", "-e", string(tip))
	r.Git("fsck", "--strict")
}

func TestInstallRefuses(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("main", "", gittest.Files{"f": "0"})
	_, s := open(t, r.Dir)
	tip := importOne(t, s, git.CommitSpec{Parent: base, Author: gittest.Person, Committer: gittest.Person})
	if err := s.Install(t.Context(), git.ID(strings.Repeat("1", 40))); !errors.Is(err, git.ErrMissing) {
		t.Errorf("a commit that was never made: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Install(ctx, tip); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	dir := filepath.Join(r.GitDir, "objects/pack")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a file where the folder should be")
	if err := s.Install(t.Context(), tip); err == nil || !strings.Contains(err.Error(), "cannot be stored in the clone") {
		t.Errorf("nowhere to write: %v", err)
	}
}
