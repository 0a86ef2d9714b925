package cells_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

// note is a toy of a format: "<name=1>" is a cell that shares its node, and
// "[name=1]" one with a key of its own.
func note() *lockfile.Format {
	cell := regexp.MustCompile(`([<[])([a-z]+)=([0-9]+)[>\]]`)
	return &lockfile.Format{
		Name: "note",
		Parse: func(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
			var spans []cells.Span
			for _, m := range cell.FindAllSubmatchIndex(content, -1) {
				name, val := string(content[m[4]:m[5]]), string(content[m[6]:m[7]])
				s := cells.Span{Start: m[6], End: m[7], ID: name, Name: name, Version: val}
				if content[m[2]] == '[' {
					s.Key = name
				}
				spans = append(spans, s)
			}
			return cells.Parse(content, spans, like)
		},
		Encode: cells.Encode,
		Compare: func(a, b *lockfile.Node) (int, bool) {
			return len(a.Version) - len(b.Version), len(a.Version) != len(b.Version)
		},
		Finish: cells.Finish,
	}
}

func parse(t locktest.T, text string, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d, err := note().Parse([]byte(text), like)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	d.Format = note()
	return d
}

func TestNodes(t *testing.T) {
	d := parse(t, "x <a=1> [b=2]\n<a=1> <a=22>", nil)
	if diff := cmp.Diff([]string{"#text", "a1", "b", "a22"}, d.Keys()); diff != "" {
		t.Error(diff)
	}
	if got := string(d.Node("#text").Raw); got != "x <a=\x00a1\x00> [b=\x00b\x00]\n<a=\x00a1\x00> <a=\x00a22\x00>" {
		t.Errorf("%q", got)
	}
}

// A relative lends its nodes where nothing changed: the engine compares pointers.
func TestNodesAreShared(t *testing.T) {
	a := parse(t, "x <a=1> [b=2] <c=3>", nil)
	b := parse(t, "x <a=1> [b=3] <c=3>", a)
	for _, key := range []string{"#text", "a1", "c3"} {
		if a.Node(key) != b.Node(key) {
			t.Errorf("%s is another node", key)
		}
	}
	if n := b.Node("b"); n == a.Node("b") || n.Version != "3" {
		t.Errorf("b is %v", n)
	}
}

// Each cell takes the name over that it had in the relative: the key of each
// cell of b, when it is parsed beside a.
func TestAlign(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"at its place":                    {"<a=1><a=2>", "<a=2><a=3>", "a1 a2"},
		"two become one":                  {"<a=1><a=2>", "<a=3><a=3>", "a1 a2"},
		"one becomes two, one stays":      {"<a=1><a=1>", "<a=2><a=1>", "a2 a1"},
		"one becomes two, none stays":     {"<a=1><a=1>", "<a=2><a=3>", "a1 a3"},
		"one becomes two, a name is used": {"<a=1><a=1><a=2>", "<a=1><a=2><a=2>", "a1 a2' a2"},
		"other text, the same value":      {"<a=1><a=2>", "x<a=2><a=1>", "a2 a1"},
		"other text, a new value":         {"<a=1><a=2>", "x<a=2><a=3>", "a2 a1"},
		"other text, new values":          {"<a=1><a=2>", "x<a=4><a=3>", "a1 a2"},
		"other text, two become one":      {"<a=1><a=2>", "x<a=3><a=3>", "a1 a1"},
		"other text, one becomes two":     {"<a=1><a=1>", "x<a=3><a=4>", "a1 a4"},
		"other text, one more":            {"<a=1>", "<a=1>x<a=2>", "a1 a2"},
		"another thing at the place":      {"<a=1>", "<b=1>", "b1"},
		"no cell before":                  {"x", "x<a=1>", "a1"},
		"a key of its own":                {"[a=1]", "x[a=2]", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, c.b, parse(t, c.a, nil))
			var got []string
			for i, part := range strings.Split(string(d.Node("#text").Raw), "\x00") {
				if i%2 == 1 {
					got = append(got, part)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if back, err := cells.Encode(d); err != nil || string(back) != c.b {
				t.Errorf("round trip: %q, %v", back, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	var dup *lockfile.DuplicateError
	if _, err := note().Parse([]byte("\n[a=1]\n[a=1]"), nil); !errors.As(err, &dup) || dup.Key != "a" || dup.Line != 3 {
		t.Errorf("a key twice: %v", err)
	}
	if _, err := note().Parse([]byte("a\n\x00"), nil); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("NUL: %v", err)
	}
	for text, want := range map[string]bool{
		"<<<<<<< a\n=======\n>>>>>>> b":      true,
		"x\n<<<<<<< a\n=======\n>>>>>>> b\n": true,
		"a <<<<<<< b\n>>>>>>> c":             false,
		"<<<<<<< a":                          false,
		">>>>>>> a\n<<<<<<< b":               false,
	} {
		if _, err := note().Parse([]byte(text), nil); errors.Is(err, lockfile.ErrConflictMarkers) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Cells with keys of their own; the rest is tested with the formats that have it.
func TestMergeOfKeys(t *testing.T) {
	for name, c := range map[string]struct {
		fork  string
		heads []string
		want  string
	}{
		"moved and changed":     {"[a=1] [b=1]", []string{"[b=1] [a=1]", "[a=22] [b=1]"}, "[b=1] [a=22]"},
		"removed and changed":   {"[a=1] [b=1]", []string{"[b=1]", "[a=22] [b=1]"}, "[b=1]"},
		"changed and removed":   {"[a=1] [b=1]", []string{"[a=22] [b=1]", "[b=1]"}, "a: 22, "},
		"no order":              {"[a=1]", []string{"[a=2]", "[a=3]"}, "a: 2, 3"},
		"added and changed":     {"[a=1]", []string{"[a=1] [b=1]", "[a=22]"}, "[a=22] [b=1]"},
		"text on both sides":    {"[a=1]", []string{"x[a=1]", "y[a=1]"}, "#text"},
		"the same text on both": {"[a=1] [b=1]", []string{"x[a=22] [b=1]", "x[a=1] [b=22]"}, "x[a=22] [b=22]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := locktest.Merge(t, note(), "note", c.fork, c.fork, c.heads...); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Whatever becomes of the text, no cell of a merge stands in it without a node,
// and no node without a cell; and what only one side changed arrives.
func TestMergeProperties(t *testing.T) {
	word := rapid.SampledFrom([]string{"<a=1>", "<a=2>", "<a=3>", "<b=1>", "<b=22>", "x", "y"})
	words := rapid.SliceOfN(word, 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return strings.Join(words.Draw(t, label), " ") }
		base, fork, head := text("base"), text("fork"), text("head")
		if got := locktest.Merge(t, note(), "note", fork, fork, head); got != head {
			t.Fatalf("%q alone gives %q", head, got)
		}
		ours := parse(t, base, nil)
		forked := parse(t, fork, ours)
		tree := locktest.NewTree(t, []*lockfile.Format{note()}, nil)
		d, conflicts := lockfile.Apply(ours, lockfile.Diff(forked, parse(t, head, forked)), tree, tree, true)
		if len(conflicts) > 0 {
			return
		}
		again := parse(t, string(must(cells.Encode(d))), d)
		if !lockfile.Equal(d, again) {
			t.Fatalf("%v is read back as %v", d.Keys(), again.Keys())
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
