package pnpm

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
)

// visit reads the trees of a case: the base, and of every pull request that
// touches npm's or pnpm's files its fork and head.
func visit(t *testing.T, c corpus.Case, f func(base *files, each func(func(number int, fork, head *files)))) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	if err := c.Clone(t.Context(), clone); err != nil {
		t.Fatal(err)
	}
	all := formats()
	base := treeOf(t, all, readTree(t, clone, c.MainCommit), nil)
	f(base, func(do func(int, *files, *files)) {
		for _, pr := range c.PullRequests {
			if slices.Contains(pr.Ecosystems, "pnpm") || slices.Contains(pr.Ecosystems, "jsmanifest") {
				fork := treeOf(t, all, readTree(t, clone, pr.MergeBase), base)
				do(pr.Number, fork, treeOf(t, all, readTree(t, clone, pr.Commit), fork))
			}
		}
	})
}

// Every pull request of a case can be merged in turn, in either direction, and
// the result is as sound as the base and the heads.
func TestCorpusSets(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.ID, func(t *testing.T) {
			visit(t, c, func(base *files, each func(func(int, *files, *files))) {
				ours := base
				merged := 0
				each(func(number int, fork, head *files) {
					next, conflicts := merge(ours, fork, head, true)
					for _, x := range conflicts {
						t.Errorf("#%d left out: %+v", number, x)
					}
					if next == nil {
						return
					}
					for _, p := range next.Paths() {
						old, was, theirs := base.problems(p), ours.problems(p), head.problems(p)
						for id, x := range next.problems(p) {
							_, a := old[id]
							_, b := was[id]
							_, c := theirs[id]
							if !a && !b && !c {
								t.Errorf("#%d: %s", number, x)
							}
						}
					}
					ours = next
					merged++
				})
				t.Logf("%d merged", merged)
			})
		})
	}
}

// A base has no problem but peers that pnpm warns of too.
func TestCorpusBasesAreSound(t *testing.T) {
	for _, c := range cases(t) {
		visit(t, c, func(base *files, _ func(func(int, *files, *files))) {
			for _, p := range base.Paths() {
				for _, x := range base.problems(p) {
					if !x.Soft || x.Code != "peer_unmet" {
						t.Errorf("%s: %s", c.ID, x)
					}
				}
			}
		})
	}
}

// What is written is what was read, and merging a side with what has not
// changed, or with itself, gives the side.
func TestCorpusIdentities(t *testing.T) {
	for _, c := range cases(t) {
		visit(t, c, func(base *files, each func(func(int, *files, *files))) {
			each(func(number int, fork, head *files) {
				for name, in := range map[string][3]*files{
					"merge(x, x, y)": {fork, fork, head}, "merge(x, y, y)": {head, fork, head}, "merge(x, y, x)": {head, fork, fork},
				} {
					got, conflicts := merge(in[0], in[1], in[2], true)
					if len(conflicts) > 0 {
						t.Errorf("%s #%d: %s: %+v", c.ID, number, name, conflicts)
						continue
					}
					for _, p := range head.Paths() {
						if text(t, got, p) != text(t, head, p) {
							t.Errorf("%s #%d: %s: %s differs", c.ID, number, name, p)
						}
					}
				}
			})
		})
	}
}

// Every way to spoil a lockfile is found.
func TestCheckFindsSpoilings(t *testing.T) {
	all := cases(t)
	visit(t, all[0], func(base *files, _ func(func(int, *files, *files))) {
		const path = "pnpm-lock.yaml"
		d := base.Doc(path)
		if len(base.problems(path)) > 0 {
			t.Fatal(base.problems(path))
		}
		spoil := func(what string, f func(*files)) {
			s := base.clone()
			s.docs[path] = d.Clone()
			f(s)
			if len(s.problems(path)) == 0 {
				t.Errorf("%s is not found", what)
			}
		}
		for i, k := range d.Keys() {
			n := d.Node(k)
			if packOf(n) == nil && needOf(n) == nil || i%7 != 0 {
				continue
			}
			spoil("without "+k, func(f *files) { f.docs[path].Delete(k) })
		}
		for _, m := range base.Doc("package.json").Keys() {
			n := base.Doc("package.json").Node(m)
			if !n.Direct || n.Name == "@types/react" { // overridden
				continue
			}
			spoil(fmt.Sprintf("another requirement of %s", n.Name), func(f *files) {
				c := *n
				c.Version = "^99.0.0"
				man := f.docs["package.json"].Clone()
				man.Set(&c, "")
				f.docs["package.json"] = man
			})
		}
	})
}
