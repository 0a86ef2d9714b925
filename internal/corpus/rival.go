package corpus

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// A Merge is what merging one branch after the other gives.
type Merge struct {
	Merged     []int // pull requests, in the order of merging
	Conflicted []int
	Commit     string // the end of it; main's own when nothing was merged
	Elapsed    time.Duration
}

// MergeInTurn merges the case's pull requests into main by number, each with plain
// git merge in the working tree of a clone, and gives up on one that conflicts. This
// is what the tools that combine pull requests do. It moves the clone's main.
// A nil clock leaves Elapsed zero.
func (c Case) MergeInTurn(ctx context.Context, clone string, clock func() time.Time) (Merge, error) {
	var m Merge
	if clock == nil {
		clock = func() time.Time { return time.Time{} }
	}
	start := clock()
	for _, pr := range c.PullRequests {
		_, err := git(ctx, clone, "merge", "--quiet", "--no-edit", pr.Commit)
		if err == nil {
			m.Merged = append(m.Merged, pr.Number)
			continue
		}
		// Git ends with 1 on a conflict and with more when it could not try.
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return Merge{}, err
		}
		if _, err := git(ctx, clone, "merge", "--abort"); err != nil {
			return Merge{}, err
		}
		m.Conflicted = append(m.Conflicted, pr.Number)
	}
	m.Elapsed = clock().Sub(start)
	head, err := git(ctx, clone, "rev-parse", "HEAD")
	m.Commit = head
	return m, err
}
