package golang_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

func TestSumIsWrittenAsItWas(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"a pair":           "example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0/go.mod h1:y=\n",
		"no final newline": "example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0/go.mod h1:y=",
		"empty lines":      "\nexample.com/a v1.0.0 h1:x=\n\n\n",
		"odd space":        "  example.com/a\tv1.0.0   h1:x= \r\n",
		"a line again":     "example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0  h1:x=\n",
	} {
		t.Run(name, func(t *testing.T) { parse(t, "go.sum", text, nil) })
	}
}

func TestSumRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"conflict markers": {"example.com/a v1.0.0 h1:x=\n<<<<<<< HEAD\n", "line 2: "},
		"two words":        {"example.com/a v1.0.0\n", "line 1: a line of a go.sum has three words, this one has 2"},
		"two hashes":       {"example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0 h1:y=\n", `line 2: "example.com/a v1.0.0" stands twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseAs("go.sum", c.text, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if name == "two hashes" && !errors.As(err, new(*lockfile.DuplicateError)) {
				t.Error("not recognised as a duplicate")
			}
		})
	}
}

// sum makes a go.sum of "a v1.0.0" and "a v1.0.0/go.mod"; a hash that is not
// given is made of its key.
func sum(entries ...string) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString("example.com/" + e)
		if strings.Count(e, " ") == 1 {
			b.WriteString(" h1:" + strings.NewReplacer(" ", "", "/", "").Replace(e) + "=")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSumMerges(t *testing.T) {
	base := []string{"a v1.0.0", "a v1.0.0/go.mod", "b v1.0.0", "b v1.0.0/go.mod"}
	const goMod = "module example.com/m\n\ngo 1.21\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0\n)\n"
	for name, c := range map[string]struct {
		fork  []string // nil: base
		mod   string   // of each head and the result; empty: none
		heads [][]string
		want  []string // nil: a conflict
	}{
		"union": {
			heads: [][]string{append(base[:4:4], "c v1.0.0"), append(base[:4:4], "d v1.0.0")},
			want:  append(base[:4:4], "c v1.0.0", "d v1.0.0"),
		},
		"in Go's order": {
			fork:  []string{"a v1.2.0", "b v1.0.0"},
			heads: [][]string{{"a v1.2.0", "a v1.10.0", "b v1.0.0"}, {"a v1.2.0", "a v1.2.0/go.mod", "a v1.9.0", "b v1.0.0"}},
			want:  []string{"a v1.2.0", "a v1.2.0/go.mod", "a v1.9.0", "a v1.10.0", "b v1.0.0"},
		},
		"what one removes stays, as the other may need it": {
			heads: [][]string{{"a v1.0.0", "a v1.0.0/go.mod"}, append(base[:4:4], "c v1.0.0")},
			want:  append(base[:4:4], "c v1.0.0"),
		},
		"what both remove goes": {
			heads: [][]string{base[:2], append(base[:2:2], "c v1.0.0")},
			want:  append(base[:2:2], "c v1.0.0"),
		},
		"alone, what it removes goes": {heads: [][]string{base[:2]}, want: base[:2]},
		"a module below what go.mod asks for is never built": {
			mod: lines(goMod, "a v1.0.0", "a v1.1.0"),
			heads: [][]string{
				{"a v1.1.0", "a v1.1.0/go.mod", "b v1.0.0", "b v1.0.0/go.mod"},
				append(base[:4:4], "c v1.0.0"),
			},
			want: []string{"a v1.0.0/go.mod", "a v1.1.0", "a v1.1.0/go.mod", "b v1.0.0", "b v1.0.0/go.mod", "c v1.0.0"},
		},
		"unless it stands for another": {
			mod: lines(goMod, "a v1.0.0", "a v1.1.0") + "\nreplace example.com/b => example.com/a v1.0.0\n",
			heads: [][]string{
				{"a v1.1.0", "a v1.1.0/go.mod", "b v1.0.0", "b v1.0.0/go.mod"},
				append(base[:4:4], "c v1.0.0"),
			},
			want: []string{"a v1.0.0", "a v1.0.0/go.mod", "a v1.1.0", "a v1.1.0/go.mod", "b v1.0.0", "b v1.0.0/go.mod", "c v1.0.0"},
		},
		"two hashes of one module": {
			heads: [][]string{append(base[:4:4], "c v1.0.0 h1:one="), append(base[:4:4], "c v1.0.0 h1:two=")},
		},
		"one changes a hash, which nobody may": {
			heads: [][]string{append(base[:3:3], "b v1.0.0/go.mod h1:one="), append(base[:3:3], "b v1.0.0/go.mod h1:two=")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fork == nil {
				c.fork = base
			}
			tree := func(entries []string, mod string) files {
				f := files{"go.sum": sum(entries...)}
				if mod != "" {
					f["go.mod"] = mod
				}
				return f
			}
			var updates []update
			for _, h := range c.heads {
				updates = append(updates, update{name: sum(h...), fork: tree(c.fork, c.mod), head: tree(h, c.mod)})
			}
			m := fold(t, tree(c.fork, c.mod), updates)
			if c.want == nil {
				if len(m.conflicts) != 1 {
					t.Errorf("%d conflicts, and\n%s", len(m.conflicts), m.files["go.sum"])
				}
				for _, x := range m.conflicts {
					if !strings.Contains(x[0].Ours, "h1:one=") || !strings.Contains(x[0].Theirs, "h1:two=") {
						t.Errorf("the conflict does not show the hashes: %+v", x[0])
					}
				}
				return
			}
			if got := m.files["go.sum"]; got != sum(c.want...) {
				t.Errorf("got\n%s\nwant\n%s", got, sum(c.want...))
			}
		})
	}
}

func TestSumNotes(t *testing.T) {
	fork := files{"go.sum": sum("a v1.0.0", "b v1.0.0")}
	m := fold(t, fork, []update{
		{"drops b", fork, files{"go.sum": sum("a v1.0.0")}},
		{"adds c", fork, files{"go.sum": sum("a v1.0.0", "b v1.0.0", "c v1.0.0")}},
	})
	notes := m.notes["go.sum"]
	if len(notes) != 1 || !strings.Contains(notes[0], "not tidied") || !strings.Contains(notes[0], "example.com/b") {
		t.Errorf("notes: %q", notes)
	}
}
