package yamltext

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

func keys(list []Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Key)
	}
	return out
}

func TestSplit(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		keys []string
	}{
		"keys":                        {"a: 1\nb:\n  c: 2\n\n  d: 3\n\ne: {}\n", []string{"a", "b", "e"}},
		"quotes":                      {"'a: ''b''': 1\n\"c\\n\": 2\n", []string{"a: 'b'", "c\n"}},
		"an explicit key":             {"? 'a(b)'\n: x: 1\n  y: 2\nc: 1\n", []string{"a(b)", "c"}},
		"items under a key":           {"a:\n- 1\n- 2\nb: 1\n", []string{"a", "b"}},
		"items":                       {"- a\n# of b\n- b: 1\n  c: 2\n", []string{"a", "b: 1"}},
		"comments":                    {"# a\na: 1 # b\n\n# c\nb: 1\n# end\n", []string{"a", "b"}},
		"a text that looks like keys": {"a: |-\n  b: 1\n\n  # c\nd: 1\n", []string{"a", "d"}},
		"an address as value":         {"a: https://example.com/x\n", []string{"a"}},
		"a key with colons":           {"a@https://example.com/x:\n  b: 1\n", []string{"a@https://example.com/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, tail, err := Split(tt.text, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(keys(list), tt.keys) {
				t.Errorf("keys %q, want %q", keys(list), tt.keys)
			}
			text := ""
			for i := range list {
				text += list[i].Text()
			}
			if text+tail != tt.text {
				t.Errorf("text %q, want %q", text+tail, tt.text)
			}
		})
	}
}

func TestSplitRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no key": "nonsense\n", "an indentation in between": "  a: 1\n b: 2\n", "keys and items": "a: 1\n'b': 1\n   c: 1\n  - d\n- e\nf\n", "a quote without end": "'a: 1\n", "two documents": "a: 1\n---\nb: 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			if list, _, err := Split(text, 1); err == nil {
				t.Errorf("split into %q", keys(list))
			}
		})
	}
	if _, _, err := Split("a: 1\n<<<<<<< x\n", 1); !errors.Is(err, lockfile.ErrConflictMarkers) {
		t.Errorf("got %v", err)
	}
}

// A value is read back as what it was.
func TestScalar(t *testing.T) {
	for in, want := range map[string]string{
		"1.0.0": "1.0.0", "^1.0.0": "^1.0.0", "@a/b": "'@a/b'", "*": "'*'", ">=1": "'>=1'", "1.0": "'1.0'", "true": "'true'", "": "''", "catalog:": "'catalog:'", "it's": "it's", "a # b": "'a # b'", "'x'": "'''x'''",
	} {
		got := Scalar(in)
		if got != want {
			t.Errorf("Scalar(%q) = %s, want %s", in, got, want)
		}
		if back, ok := Unquote(got); !ok || back != in {
			t.Errorf("Unquote(%s) = %q", got, back)
		}
	}
}

func TestWith(t *testing.T) {
	for name, tt := range map[string]struct{ text, sub, want string }{
		"fewer":           {"a:\n  b: 1\n  c: 2\n", "  b: 1\n", "a:\n  b: 1\n"},
		"none":            {"a:\n  b: 1\n", "", "a: {}\n"},
		"first":           {"a: {}\n", "  b: 1\n", "a:\n  b: 1\n"},
		"an explicit one": {"? a\n: b: 1\n", "  b: 2\n  c: 3\n", "? a\n: b: 2\n  c: 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			list, _, err := Split(tt.text, 1)
			if err != nil {
				t.Fatal(err)
			}
			sub, _, err := Split(tt.sub, 1)
			if err != nil {
				t.Fatal(err)
			}
			e := list[0].With(sub)
			if e.Text() != tt.want {
				t.Errorf("got %q, want %q", e.Text(), tt.want)
			}
			if !slices.Equal(keys(e.Inside()), keys(sub)) {
				t.Errorf("inside %q", keys(e.Inside()))
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a: 1\nb:\n- c\n? 'd'\n: e: |\n   f\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, tail, err := Split(text, 1)
		if err != nil {
			return
		}
		var b strings.Builder
		for i := range list {
			b.WriteString(list[i].Text())
			list[i].Inside()
		}
		if b.String()+tail != text {
			t.Fatalf("%q became %q", text, b.String()+tail)
		}
	})
}
