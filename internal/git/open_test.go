package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// fakeGit puts a git of its own first on the PATH.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		dir  func(t *testing.T) string
		want error
		says string // what to do about it
	}{
		{"no git", func(t *testing.T) string { t.Setenv("PATH", t.TempDir()); return "." }, git.ErrNoGit, "install git 2.38 or newer"},
		{"git of the current folder only", func(t *testing.T) string {
			dir := t.TempDir()
			t.Chdir(dir)
			fakeGit(t, "touch sprung; echo git version 2.39.5")
			if err := os.Symlink(filepath.Join(strings.Split(os.Getenv("PATH"), ":")[0], "git"), "git"); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", ".")
			return dir
		}, git.ErrNoGit, "PATH"},
		{"git 2.37", func(t *testing.T) string { fakeGit(t, "echo git version 2.37.1"); return "." }, git.ErrGitTooOld, "this is 2.37.1; install git 2.38 or newer"},
		{"git 1.9", func(t *testing.T) string { fakeGit(t, "echo git version 1.9"); return "." }, git.ErrGitTooOld, "install git 2.38 or newer"},
		{"git that answers nonsense", func(t *testing.T) string { fakeGit(t, "echo hello"); return "." }, git.ErrGitTooOld, "hello"},
		{"no such folder", func(t *testing.T) string { return filepath.Join(t.TempDir(), "x") }, git.ErrNotRepository, "give the folder of a clone"},
		{"a file", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}, git.ErrNotRepository, "give the folder of a clone"},
		{"no repository", func(t *testing.T) string { return t.TempDir() }, git.ErrNotRepository, "is in no clone"},
		{"half a repository", func(t *testing.T) string {
			r := gittest.New(t)
			if err := os.Remove(filepath.Join(r.GitDir, "HEAD")); err != nil {
				t.Fatal(err)
			}
			return r.Dir
		}, git.ErrNotRepository, "is in no clone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.dir(t)
			_, err := git.Open(t.Context(), dir)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
			if _, err := os.Stat(filepath.Join(dir, "sprung")); err == nil {
				t.Error("the folder's own git was run")
			}
		})
	}
}

func TestOpenTellsWhatGitSays(t *testing.T) {
	for name, config := range map[string]string{
		"a working tree that is gone":       "[core]\nrepositoryformatversion=0\nworktree=/config/gone\n",
		"configuration that does not parse": "[core\n",
		"an extension of the future":        "[core]\nrepositoryformatversion=1\n[extensions]\nteleport=true\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			if err := os.WriteFile(filepath.Join(r.GitDir, "config"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := git.Open(t.Context(), r.Dir)
			if err == nil || !strings.Contains(err.Error(), "cannot be opened") || !strings.Contains(err.Error(), "config") && !strings.Contains(err.Error(), "teleport") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestForeignOwner has git believe that every repository is another user's.
func TestForeignOwner(t *testing.T) {
	git := func(t *testing.T) {
		fakeGit(t, "PATH=${PATH#*:} GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git \"$@\"\n")
	}
	for _, tt := range []struct {
		name  string
		trust func(t *testing.T, home, dir string)
		ok    bool
	}{
		{"nothing trusted", func(*testing.T, string, string) {}, false},
		{"another folder trusted", func(t *testing.T, home, _ string) {
			personal(t, home, "[safe]\n\tdirectory = /somewhere/else\n")
		}, false},
		{"this folder trusted", func(t *testing.T, home, dir string) {
			personal(t, home, "[safe]\n\tdirectory = /somewhere/else\n\tdirectory = "+dir+"\n")
		}, true},
		{"every folder trusted", func(t *testing.T, home, _ string) { personal(t, home, "[safe]\n\tdirectory = *\n") }, true},
		{"trusted by an included file", func(t *testing.T, home, _ string) {
			personal(t, home, "[include]\n\tpath = more\n")
			if err := os.WriteFile(filepath.Join(home, "more"), []byte("[safe]\n\tdirectory = *\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"trust taken back", func(t *testing.T, home, _ string) {
			personal(t, home, "[safe]\n\tdirectory = *\n\tdirectory =\n")
		}, false},
		{"trusted by XDG configuration", func(t *testing.T, home, _ string) {
			t.Setenv("XDG_CONFIG_HOME", home)
			if err := os.MkdirAll(filepath.Join(home, "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "git/config"), []byte("[safe]\n\tdirectory = *\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"trusted by the environment, as in CI", func(t *testing.T, _, dir string) {
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "safe.directory")
			t.Setenv("GIT_CONFIG_VALUE_0", dir)
		}, true},
		{"trusted by the repository itself, which has no say", func(t *testing.T, _, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("[safe]\n\tdirectory = *\n"); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := gittest.Bait(t)
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			tt.trust(t, home, r.Dir)
			git(t)
			if tt.ok {
				exercise(t, r.Dir)
				return
			}
			refused(t, r.Dir)
		})
	}
}

func personal(t *testing.T, home, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, dir string) {
	t.Helper()
	_, err := git.Open(t.Context(), dir)
	if !errors.Is(err, git.ErrUnsafeOwner) || !strings.Contains(err.Error(), "git config --global --add safe.directory '"+dir+"'") {
		t.Errorf("got %v, want a refusal that says how to trust", err)
	}
}

// TestOtherUser is TestForeignOwner with a real one, which takes root.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository away")
	}
	r := gittest.Bait(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SUDO_UID", "")
	for _, path := range []string{r.Dir, r.GitDir} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, r.Dir)
	// Whoever calls sudo trusts what is theirs.
	t.Setenv("SUDO_UID", "12345")
	exercise(t, r.Dir)
}
