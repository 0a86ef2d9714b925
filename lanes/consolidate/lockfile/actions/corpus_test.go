package actions_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/actions"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

func TestCorpus(t *testing.T) {
	prs, merged, same := 0, 0, 0
	locktest.Each(t, actions.Formats, func(t *testing.T, r *locktest.Repo) {
		for _, pr := range r.Case.PullRequests {
			for _, commit := range []string{r.Case.MainCommit, pr.MergeBase, pr.Commit} {
				x := r.Tree(commit)
				for _, p := range x.Paths() {
					d := x.Doc(p)
					got, err := d.Format.Encode(d)
					if err != nil || !bytes.Equal(got, x.Files[p]) {
						t.Errorf("%s %s: not the same after a round trip: %v", commit, p, err)
					}
				}
			}
		}
		forward := r.Fold()
		for n, c := range forward.Conflicts {
			t.Logf("#%d: %s %q: %q and %q", n, c[0].Key, short(c[0].Before), short(c[0].Ours), short(c[0].Theirs))
		}
		prs += len(r.Case.PullRequests)
		merged += len(forward.Merged)
		slices.Reverse(r.Case.PullRequests)
		back := r.Fold()
		for p, text := range forward.Tree.Files {
			if !bytes.Equal(text, back.Tree.Files[p]) && len(forward.Conflicts)+len(back.Conflicts) == 0 {
				t.Errorf("%s depends on the order", p)
			}
		}
		same++
	})
	t.Logf("%d pull requests, %d merged, %d sets", prs, merged, same)
}

func short(s string) string { return s[:min(len(s), 80)] }
