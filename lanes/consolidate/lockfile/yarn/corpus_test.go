package yarn_test

import (
	"context"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// moment is a case of the corpus as trees in memory.
type moment struct {
	corpus.Case
	base        *tree
	forks, tips []*tree // by pull request
}

// moments are the cases of the corpus that have a yarn.lock.
func moments(t *testing.T) []moment {
	t.Helper()
	cases := corpustest.Cases(t)
	var out []moment
	for _, c := range cases {
		if !strings.Contains(strings.Join(c.Ecosystems, " "), "yarn") {
			continue
		}
		clone := t.TempDir()
		if err := c.Clone(t.Context(), clone); err != nil {
			t.Fatal(err)
		}
		all := formats()
		read := func(commit string) *tree { return newTree(all, files(t, clone, commit)) }
		m := moment{Case: c, base: read(c.MainCommit)}
		for _, p := range c.PullRequests {
			m.forks, m.tips = append(m.forks, read(p.MergeBase)), append(m.tips, read(p.Commit))
		}
		out = append(out, m)
	}
	return out
}

// files are a commit's files of yarn projects.
func files(t *testing.T, repo, commit string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range strings.Fields(git(t, repo, "ls-tree", "-r", "--name-only", commit)) {
		switch path.Base(p) {
		case "package.json", "yarn.lock", ".yarnrc.yml":
			out[p] = git(t, repo, "cat-file", "blob", commit+":"+p)
		}
	}
	return out
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(args, err)
	}
	return string(out)
}

func TestCorpusRoundTrip(t *testing.T) {
	for _, m := range moments(t) {
		seen := map[string]bool{}
		for _, tr := range append(append([]*tree{m.base}, m.forks...), m.tips...) {
			for p, text := range tr.text {
				if path.Base(p) != "yarn.lock" || seen[text] {
					continue
				}
				seen[text] = true
				d, err := tr.parse(p, m.base.Doc(p))
				if err != nil {
					t.Errorf("%s: %v", m.ID, err)
					continue
				}
				if got := encodeDoc(t, d); got != text {
					t.Errorf("%s: %s does not come back", m.ID, p)
				}
			}
		}
	}
}

// foreign are pull requests whose lockfile is not of the yarn that the project
// uses: dependabot wrote a yarn 1 file over one of berry's.
var foreign = map[string]int{"metamask__eth-json-rpc-middleware__2022-11-21-db769bd": 157}

// Nothing is wrong with what yarn wrote, but for peers that do not fit.
func TestCorpusIsSound(t *testing.T) {
	for _, m := range moments(t) {
		for _, p := range m.base.problems() {
			t.Errorf("%s: %s %s", m.ID, p.Code, p)
		}
		for i, tip := range m.tips {
			for _, p := range tip.problems() {
				wrongYarn := m.PullRequests[i].Number == foreign[m.ID] && p.Code == lockfile.OutOfSync
				if !p.Soft && !wrongYarn {
					t.Errorf("%s #%d: %s %s", m.ID, m.PullRequests[i].Number, p.Code, p)
				}
			}
		}
	}
}

// Whole sets go together, in any order, with the same result and nothing wrong
// that a head has not by itself.
func TestCorpusSets(t *testing.T) {
	for _, m := range moments(t) {
		t.Run(m.ID, func(t *testing.T) {
			forward := make([]int, len(m.PullRequests))
			for i := range forward {
				forward[i] = i
			}
			backward := slices.Clone(forward)
			slices.Reverse(backward)
			a, b := m.fold(t, forward), m.fold(t, backward)
			for p, text := range a.text {
				if path.Base(p) == "yarn.lock" && text != b.text[p] {
					t.Errorf("%s depends on the order", p)
				}
			}
			allowed := m.base.problems()
			for _, tip := range m.tips {
				maps.Copy(allowed, tip.problems())
			}
			for id, p := range a.problems() {
				if _, ok := allowed[id]; !ok {
					t.Errorf("%s %s", p.Code, p)
				}
			}
			m.arrived(t, a)
		})
	}
}

// fold merges a set in an order.
func (m *moment) fold(t *testing.T, order []int) *tree {
	t.Helper()
	now := m.base
	for _, i := range order {
		n := m.PullRequests[i].Number
		next, conflicts, err := now.join(m.forks[i], m.tips[i])
		switch refused := err != nil || len(conflicts) > 0; {
		case n == foreign[m.ID] && !refused:
			t.Errorf("#%d: merged, although its lockfile is of another yarn", n)
		case n == foreign[m.ID]:
		case refused:
			t.Errorf("#%d: %v %v", n, err, conflicts)
		default:
			now = next
		}
	}
	return now
}

// arrived reports entries that a head added or moved and that are lower in the
// result, or gone while their requirement is still there.
func (m *moment) arrived(t *testing.T, result *tree) {
	t.Helper()
	for i, tip := range m.tips {
		if m.PullRequests[i].Number == foreign[m.ID] {
			continue
		}
		for p := range tip.text {
			if path.Base(p) != "yarn.lock" {
				continue
			}
			after, was := result.Doc(p), m.forks[i].Doc(p)
			reached := after.Reached(result)
			tip.Doc(p).Nodes(func(n *lockfile.Node) {
				if lockfile.Same(n, was.Node(n.Key)) {
					return
				}
				have := after.Node(n.Key)
				if have == nil { // then nothing needs it any more
					return
				}
				if c, ok := after.Format.Compare(have, n); ok && c < 0 || !reached[have] {
					t.Errorf("#%d: %s is %s in the result", m.PullRequests[i].Number, n.Key, have.Version)
				}
			})
		}
	}
}
