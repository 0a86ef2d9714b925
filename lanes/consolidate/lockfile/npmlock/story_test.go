package npmlock

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A story is a txtar file: base/ holds a project, one/, two/ and so on what each
// head changes of it ("-" for a file that it removes), and want/ the files that a merge of all must give, in
// either order unless it says "ordered". conflicts lists the keys on which they conflict instead, problems
// what Check says of the result that it does not say of the base or a head, alone what
// it says of a head and not of the base.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/story/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, rewrite := range writings {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+name, func(t *testing.T) { story(t, rewritten(ar, rewrite)) })
		}
	}
}

// writings are other ways to write the same files; a result is written like the base.
var writings = map[string]func([]byte) []byte{
	"": bytes.Clone,
	" with tabs": func(b []byte) []byte {
		lines := bytes.Split(b, []byte{'\n'})
		for i, l := range lines {
			text := bytes.TrimLeft(l, " ")
			lines[i] = append(bytes.Repeat([]byte{'\t'}, (len(l)-len(text))/2), text...)
		}
		return bytes.Join(lines, []byte{'\n'})
	},
	" on one line": func(b []byte) []byte {
		var out bytes.Buffer
		if err := json.Compact(&out, b); err != nil {
			panic(err)
		}
		return out.Bytes()
	},
}

func rewritten(ar *txtar.Archive, how func([]byte) []byte) *txtar.Archive {
	out := &txtar.Archive{Comment: ar.Comment}
	for _, f := range ar.Files {
		if strings.HasSuffix(f.Name, ".json") {
			f.Data = how(f.Data)
		} else if bytes.IndexByte(how([]byte("{\n}")), '\n') < 0 {
			f.Data = regexp.MustCompile(`(?m)(json:)\d+`).ReplaceAll(f.Data, []byte("${1}1"))
		}
		out.Files = append(out.Files, f)
	}
	return out
}

// storyFiles are all files of a story.
func storyFiles(t testing.TB, name string) map[string][]byte {
	ar, err := txtar.ParseFile("testdata/story/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range ar.Files {
		out[f.Name] = f.Data
	}
	return out
}

var sides = []string{"one", "two", "three"}

func story(t *testing.T, ar *txtar.Archive) {
	parts := map[string]map[string][]byte{}
	var wantConflicts, wantProblems, wantAlone []string
	for _, f := range ar.Files {
		side, p, _ := strings.Cut(f.Name, "/")
		switch {
		case f.Name == "conflicts":
			wantConflicts = strings.Fields(string(f.Data))
		case f.Name == "problems":
			wantProblems = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		case f.Name == "alone":
			wantAlone = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		default:
			if parts[side] == nil {
				parts[side] = map[string][]byte{}
			}
			parts[side][p] = f.Data
		}
	}
	formats := formats()
	base := newTree(t, formats, parts["base"])
	known := base.problems()
	var heads []*tree
	var alone []string
	for _, s := range sides {
		if parts[s] == nil {
			continue
		}
		h := newTree(t, formats, map[string][]byte{})
		for p, b := range parts["base"] {
			h.files[p] = b
		}
		for p, b := range parts[s] {
			h.files[p] = b
		}
		if got := h.beyond(known); len(got) > 0 {
			alone = append(alone, got...)
		}
		heads = append(heads, h)
	}
	if !slices.Equal(alone, wantAlone) {
		t.Errorf("heads alone:\n%s\nwant:\n%s", strings.Join(alone, "\n"), strings.Join(wantAlone, "\n"))
	}
	for _, h := range heads {
		maps.Copy(known, h.problems())
	}
	orders := [][]*tree{heads}
	if !strings.Contains(string(ar.Comment), "(ordered)") {
		back := slices.Clone(heads)
		slices.Reverse(back)
		orders = append(orders, back)
	}
	for _, order := range orders {
		ours := base
		var conflicts []string
		for _, h := range order {
			next, cs := step(ours, base, h, h.Paths())
			for _, c := range cs {
				conflicts = append(conflicts, c.Key)
				if c.Ours == c.Theirs && c.Tool == "" {
					t.Errorf("%s conflicts without a reason", c.Key)
				}
			}
			if next == nil {
				break
			}
			ours = next
		}
		if !slices.Equal(conflicts, wantConflicts) {
			t.Errorf("conflicts %v, want %v", conflicts, wantConflicts)
		}
		if len(conflicts) > 0 {
			continue
		}
		for p, want := range parts["want"] {
			if got := ours.files[p]; string(got) != string(want) {
				t.Errorf("%s: %s\n%s", p, firstDifference(want, got), got)
			}
		}
		problems := ours.beyond(known)
		if !slices.Equal(problems, wantProblems) {
			t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(problems, "\n"), strings.Join(wantProblems, "\n"))
		}
		if out := os.Getenv(envOut); out != "" {
			write(t, filepath.Join(out, filepath.Base(t.Name())), ours.files, map[string]bool{".": true})
		}
	}
}

// beyond are the problems of a tree that are not known, in words.
func (x *tree) beyond(known map[string]lockfile.Problem) []string {
	var out []string
	for id, p := range x.problems() {
		if _, ok := known[id]; !ok {
			word := string(p.Code)
			if p.Soft {
				word += " (soft)"
			}
			out = append(out, word+" "+p.String())
		}
	}
	slices.Sort(out)
	return out
}
