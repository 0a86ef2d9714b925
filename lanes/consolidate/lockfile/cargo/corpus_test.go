package cargo_test

import (
	"bytes"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cargo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

func TestCorpus(t *testing.T) {
	merged, all := 0, 0
	locktest.Each(t, cargo.Formats, func(t *testing.T, r *locktest.Repo) {
		for _, pr := range r.Case.PullRequests {
			for _, commit := range []string{r.Case.MainCommit, pr.MergeBase, pr.Commit} {
				x := r.Tree(commit)
				for _, p := range x.Paths() {
					d := x.Doc(p)
					if got, err := d.Format.Encode(d); err != nil || !bytes.Equal(got, x.Files[p]) {
						t.Errorf("%s %s: not the same after a round trip: %v", commit, p, err)
					}
				}
				for _, p := range x.Problems() {
					t.Errorf("#%d %s: %s", pr.Number, commit[:7], p)
				}
			}
		}
		f := r.Fold()
		for n, c := range f.Conflicts {
			t.Errorf("#%d: %s: %q and %q", n, c[0].Key, c[0].Ours, c[0].Theirs)
		}
		for _, p := range f.Tree.Problems() {
			t.Errorf("merged: %s", p)
		}
		merged += len(f.Merged)
		all += len(r.Case.PullRequests)
	})
	t.Logf("%d pull requests, %d merged", all, merged)
}
