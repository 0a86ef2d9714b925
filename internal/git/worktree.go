package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// CheckedOut maps every branch that a working tree of the clone stands on, or
// is in the middle of rebasing or bisecting, to that working tree's folder.
// Whoever moves such a branch leaves that working tree behind.
func (c *Clone) CheckedOut(ctx context.Context) (map[string]string, error) {
	out, err := c.git(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	branches := map[string]string{}
	first := "" // is the main one
	for record := range strings.SplitSeq(string(out), "\x00\x00") {
		var folder string
		for line := range strings.SplitSeq(record, "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				folder = value
			case "branch":
				branches[value] = folder
			}
		}
		if first == "" {
			first = folder
		}
	}
	if err := busy(c.common, first, branches); err != nil {
		return nil, err
	}
	linked, err := os.ReadDir(filepath.Join(c.common, "worktrees"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range linked {
		dir := filepath.Join(c.common, "worktrees", e.Name())
		link, err := readSmall(filepath.Join(dir, "gitdir"))
		if err != nil {
			return nil, err
		}
		folder := strings.TrimSuffix(strings.TrimSuffix(string(link), "\n"), "/.git")
		if err := busy(dir, folder, branches); err != nil {
			return nil, err
		}
	}
	return branches, nil
}

// busy adds the branches that a rebase or bisect holds in the working tree with
// this git folder. HEAD is detached meanwhile, so only its notes tell.
func busy(gitDir, folder string, branches map[string]string) error {
	for _, note := range []struct{ file, prefix string }{
		{"rebase-merge/head-name", ""},
		{"rebase-apply/head-name", ""},
		{"rebase-merge/update-refs", ""}, // a name and two commits, repeated
		{"BISECT_START", "refs/heads/"},
	} {
		text, err := readSmall(filepath.Join(gitDir, note.file))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			name := note.prefix + strings.TrimSuffix(line, "\n")
			if _, known := branches[name]; !known && strings.HasPrefix(name, "refs/") {
				branches[name] = folder
			}
		}
	}
	return nil
}
