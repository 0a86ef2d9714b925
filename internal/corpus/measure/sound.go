package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/opinion"
)

// trees are the files of a case, written out for the package managers.
type trees struct {
	scratch string
	judge   *opinion.Judge // nil: nobody is asked

	main  string                  // the commit
	base  string                  // its folder
	heads map[int]opinion.Subject // by number of the pull request
	world []string                // folders of base and heads
	made  int
}

func (t *trees) write(ctx context.Context, c corpus.Case, clone string) error {
	t.main = c.MainCommit
	if t.judge == nil {
		return nil
	}
	t.base = filepath.Join(t.scratch, "base")
	if err := corpus.WriteTree(ctx, clone, c.MainCommit, t.base); err != nil {
		return err
	}
	t.world = []string{t.base}
	t.heads = map[int]opinion.Subject{}
	for _, pr := range c.PullRequests {
		head := filepath.Join(t.scratch, "heads", fmt.Sprint(pr.Number))
		if err := corpus.WriteTree(ctx, clone, pr.Commit, head); err != nil {
			return err
		}
		t.world = append(t.world, head)
		t.heads[pr.Number] = opinion.Subject{Tree: head}
	}
	for number, head := range t.heads {
		head.World = t.world
		t.heads[number] = head
	}
	return nil
}

// judgeSide asks about every project that a result changes, which has the numbered
// pull requests in it.
func (t *trees) judgeSide(ctx context.Context, repo, commit string, in []int, side *Side) error {
	if t.judge == nil {
		return nil
	}
	changed, err := corpus.Changed(ctx, repo, t.main, commit)
	if err != nil || len(changed) == 0 {
		return err
	}
	t.made++
	tree := filepath.Join(t.scratch, fmt.Sprintf("result-%d", t.made))
	if err := corpus.WriteTree(ctx, repo, commit, tree); err != nil {
		return err
	}
	projects, err := opinion.Projects(tree)
	if err != nil {
		return err
	}
	var heads []opinion.Subject
	for _, number := range in {
		heads = append(heads, t.heads[number])
	}
	judged := false
	for _, p := range projects {
		if !touches(changed, p.Dir) {
			continue
		}
		o := t.judge.Hold(ctx, p, opinion.Subject{Tree: t.base, World: t.world}, heads, opinion.Subject{Tree: tree, World: t.world})
		switch o.Verdict {
		case opinion.Accepted:
			// Provenance alone is no package manager's word.
			judged = judged || p.Checker != "provenance"
		case opinion.Refused:
			for _, problem := range o.Problems {
				side.Problems = append(side.Problems, fmt.Sprintf("%s in %s: %s", o.Tool, p.Dir, problem))
			}
		case opinion.Unable:
			side.Unable = append(side.Unable, fmt.Sprintf("%s in %s: %s", o.Tool, p.Dir, o.Why))
		}
	}
	if sound := len(side.Problems) == 0; judged || !sound {
		side.Sound = &sound
	}
	return nil
}

// touches tells whether one of the files is in dir or below it.
func touches(files []string, dir string) bool {
	for _, file := range files {
		if dir == "." || strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}

// findStale notes in each fate the lines that its pull request took out of a manifest
// and that the result, which claims to have it, still has as often as the base. Old
// lines of a lockfile may rightly stay, for another package that needs them, and so
// may indirect requirements of a go.mod.
func findStale(ctx context.Context, c corpus.Case, repo, result string, fates []Fate) error {
	for i, pr := range c.PullRequests {
		if !fates[i].Done() {
			continue
		}
		for _, file := range pr.Files {
			if !corpus.FormatOf(file).Manifest() {
				continue
			}
			var counts [4]map[string]int
			for j, commit := range []string{pr.MergeBase, pr.Commit, c.MainCommit, result} {
				lines, err := countLines(ctx, repo, commit, file)
				if err != nil {
					return err
				}
				counts[j] = lines
			}
			before, after, base, now := counts[0], counts[1], counts[2], counts[3]
			for line, n := range before {
				gone := n - after[line]
				direct := strings.ContainsAny(line, "0123456789") && !strings.HasSuffix(line, "// indirect")
				if direct && gone > 0 && now[line] > 0 && now[line] > base[line]-gone {
					fates[i].Stale = append(fates[i].Stale, file+": "+line)
				}
			}
		}
	}
	return nil
}

// countLines counts a file's lines by their text. A file that is not there has none.
func countLines(ctx context.Context, repo, commit, file string) (map[string]int, error) {
	text, err := corpus.ReadFile(ctx, repo, commit, file)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		counts[strings.TrimRight(strings.TrimSpace(line), ",")]++
	}
	return counts, nil
}
