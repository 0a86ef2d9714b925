package golang_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

// dumpEnv names a folder into which TestCorpus writes bases and results, for a
// second opinion by go list -mod=readonly -m all.
const dumpEnv = "BAILIFF_DUMP"

// broken are updates that Go refuses by themselves: their go.sum was forgotten.
var broken = []string{"renovate/golang-3585"}

func textsOf(x *locktest.Tree) files {
	out := files{}
	for p, b := range x.Files {
		out[p] = string(b)
	}
	return out
}

// Every set of real updates merges whole, in either order, to the same
// requirements, and nothing in it is wrong that was right in each.
func TestCorpus(t *testing.T) {
	locktest.Each(t, golang.Formats, func(t *testing.T, r *locktest.Repo) {
		base := textsOf(r.Tree(r.Case.MainCommit))
		for _, p := range problems(base) {
			if !p.Soft {
				t.Errorf("the base: %v", p)
			}
		}
		var updates []update
		for _, pr := range r.Case.PullRequests {
			u := update{name: pr.Branch, fork: textsOf(r.Tree(pr.MergeBase)), head: textsOf(r.Tree(pr.Commit))}
			if len(u.changed()) == 0 {
				continue
			}
			alone := 0
			for _, p := range problems(u.head) {
				if !p.Soft {
					alone++
				}
			}
			if refused := slices.Contains(broken, u.name); refused != (alone > 0) {
				t.Errorf("%s alone has %d problems", u.name, alone)
			} else if !refused {
				updates = append(updates, u)
			}
		}
		m := fold(t, base, updates)
		for name, conflicts := range m.conflicts {
			t.Errorf("%s: %v", name, conflicts)
		}
		for _, p := range m.fresh(base) {
			t.Errorf("the result: %v", p)
		}
		slices.Reverse(updates)
		back := fold(t, base, updates)
		for p, text := range m.files {
			if filepath.Base(p) == "go.mod" && sorted(text) != sorted(back.files[p]) {
				t.Errorf("%s is\n%s\nand in the other order\n%s", p, text, back.files[p])
			}
		}
		dump(t, r.Case.ID+"/base", base)
		dump(t, r.Case.ID+"/result", m.files)
	})
}

func sorted(text string) string {
	l := strings.Split(text, "\n")
	slices.Sort(l)
	return strings.Join(l, "\n")
}

func dump(t *testing.T, name string, f files) {
	t.Helper()
	dir := os.Getenv(dumpEnv)
	if dir == "" {
		return
	}
	for p, text := range f {
		file := filepath.Join(dir, name, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
