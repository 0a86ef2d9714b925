package tree

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
)

// What is stripped from a file comes back with it, byte for byte.
func TestNormaliseAndRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.SampledFrom([]byte("\r\n\ta\xef\xbb\xbf"))).Draw(t, "raw")
		text, e := Normalise(raw)
		if got := e.Restore(text); !bytes.Equal(got, raw) {
			t.Fatalf("%q became %q, and then %q", raw, text, got)
		}
	})
	for raw, want := range map[string]string{
		"\ufeffa\r\nb\r\n": "a\nb\n",
		"a\r\nb\n":         "a\r\nb\n", // mixed: its own business
		"a\n":              "a\n",
		"":                 "",
	} {
		if got, _ := Normalise([]byte(raw)); string(got) != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	}
}

// blobs are objects by their names.
type blobs map[git.ID]string

func (b blobs) Blob(_ context.Context, id git.ID) ([]byte, error) {
	if s, ok := b[id]; ok {
		return []byte(s), nil
	}
	return nil, errors.New("no such blob")
}

func newTest(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	b := blobs{}
	var entries []git.Entry
	for path, text := range files {
		id := git.ID(path) // any name does
		b[id] = text
		entries = append(entries, git.Entry{Path: path, Mode: git.ModeFile, ID: id})
	}
	return New(NewReader(t.Context(), b, format.All()), entries)
}

// A child sees what it changed; its parent does not.
func TestChildKeepsItsChangesToItself(t *testing.T) {
	base := newTest(t, map[string]string{"package.json": `{"name":"a"}`, "README": "x", "gone/package.json": "{}"})
	c := base.Child()
	c.Set("README", &File{Mode: git.ModeFile, Raw: []byte("y")})
	c.Set("gone/package.json", nil)
	c.Set("new/package.json", &File{Mode: git.ModeFile, Raw: []byte(`{"name":"b"}`)})
	for _, want := range []struct {
		t    *Tree
		path string
		text string
	}{
		{base, "README", "x"}, {c, "README", "y"},
		{base, "gone/package.json", "{}"}, {c, "gone/package.json", ""},
		{base, "new/package.json", ""}, {c, "new/package.json", `{"name":"b"}`},
	} {
		if got, _ := want.t.Read(want.path); string(got) != want.text {
			t.Errorf("%s: %q, want %q", want.path, got, want.text)
		}
	}
	if got := base.Paths(); !slices.Equal(got, []string{"gone/package.json", "package.json"}) {
		t.Errorf("of the base: %q", got)
	}
	if got := c.Paths(); !slices.Equal(got, []string{"new/package.json", "package.json"}) {
		t.Errorf("of the child: %q", got)
	}
	if d := c.Doc("new/package.json"); d == nil || d.Format.Name != "package.json" {
		t.Errorf("the new manifest is %v", d)
	}
}

// A file of a known format is parsed once, and a broken one is an error that
// names it.
func TestBlobIsParsedOnce(t *testing.T) {
	base := newTest(t, map[string]string{"package.json": `{"name":"a"}`, "web/package.json": "{"})
	if a, b := base.Doc("package.json"), base.Child().Doc("package.json"); a == nil || a != b {
		t.Errorf("%p and %p", a, b)
	}
	_, _, err := base.Parsed("web/package.json")
	var bad *ParseError
	if !errors.As(err, &bad) {
		t.Fatalf("%v", err)
	}
	if p := base.Problems([]string{"web/package.json"}); len(p) != 1 || p[0].Path != "web/package.json" {
		t.Errorf("%v", p)
	}
}
