package yarn_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A story is an archive: the fork's files under fork/, what each head has
// otherwise under its letter, and under want/ what the result has otherwise than
// the fork. Its comment may say "refused: TEXT", the reason why the heads do not
// go together, and "one way" where the order of heads matters. A file that ends in
// <no newline> has none there.
type story struct {
	fork    *tree
	heads   []*tree
	want    map[string]string
	refused string
	oneWay  bool
}

func readStory(t *testing.T, file string) *story {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{want: map[string]string{}}
	for l := range strings.SplitSeq(string(a.Comment), "\n") {
		if text, ok := strings.CutPrefix(l, "refused: "); ok {
			s.refused = text
		}
		s.oneWay = s.oneWay || l == "one way"
	}
	dirs := map[string]map[string]string{}
	for _, f := range a.Files {
		dir, p, _ := strings.Cut(f.Name, "/")
		if dirs[dir] == nil {
			dirs[dir] = map[string]string{}
		}
		dirs[dir][p] = strings.TrimSuffix(string(f.Data), "<no newline>\n")
	}
	all := formats()
	s.fork = newTree(all, dirs["fork"])
	s.want = dirs["want"]
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if dir == "fork" || dir == "want" {
			continue
		}
		text := maps.Clone(dirs["fork"])
		maps.Copy(text, dirs[dir])
		s.heads = append(s.heads, newTree(all, text))
	}
	return s
}

func (s *story) play(t *testing.T, heads []*tree) (result *tree, refused string) {
	t.Helper()
	now := s.fork
	for _, h := range heads {
		next, conflicts, err := now.join(s.fork, h)
		switch {
		case err != nil:
			return nil, err.Error()
		case len(conflicts) > 0:
			c := conflicts[0]
			if c.Tool != "" {
				return nil, "needs the tool: " + c.Tool
			}
			return nil, "conflict: " + c.Key
		}
		now = next
	}
	return now, ""
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/story/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s := readStory(t, file)
			for _, tr := range append(s.heads, s.fork) {
				for p, text := range tr.text {
					d, err := tr.parse(p, nil)
					if s.refused == "" && err != nil {
						t.Fatalf("%s: %v", p, err)
					}
					if d != nil && encodeDoc(t, d) != text {
						t.Errorf("%s does not come back:\n%s", p, cmp.Diff(text, encodeDoc(t, d)))
					}
				}
			}
			heads := s.heads
			for range 2 {
				result, refused := s.play(t, heads)
				if refused != s.refused {
					t.Fatalf("refused %q, want %q", refused, s.refused)
				}
				if result != nil {
					s.compare(t, result)
				}
				if s.oneWay {
					break
				}
				heads = slices.Clone(heads)
				slices.Reverse(heads)
			}
		})
	}
}

func (s *story) compare(t *testing.T, result *tree) {
	t.Helper()
	for p, want := range s.want {
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(result.text[p], "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
	if _, ok := s.want["yarn.lock"]; !ok {
		t.Error("the story does not say what becomes of yarn.lock")
	}
	known := s.fork.problems()
	for _, h := range s.heads {
		maps.Copy(known, h.problems())
	}
	for id, p := range result.problems() {
		if _, ok := known[id]; !ok {
			t.Errorf("%s %s", p.Code, p)
		}
	}
	// What the heads are by themselves has to be sound, for the story to tell anything.
	for _, p := range known {
		if !p.Soft && p.Code != lockfile.OutOfSync {
			t.Errorf("in a head: %s %s", p.Code, p)
		}
	}
}
