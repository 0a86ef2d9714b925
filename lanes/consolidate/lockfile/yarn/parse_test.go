package yarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

const (
	head      = "# yarn lockfile v1\n\n\n"
	berryHead = "__metadata:\n  version: 8\n  cacheKey: 10c0\n\n"
)

func TestRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                     "",
		"no entry":                    head,
		"no final newline":            "a@1:\n  version \"1.0.0\"",
		"blank lines at the end":      "a@1:\n  version \"1.0.0\"\n\n\n",
		"a blank line within":         "a@1:\n  version \"1.0.0\"\n\n  resolved \"u#1\"\n",
		"a comment within":            "a@1:\n  # why\n  version \"1.0.0\"\n",
		"a comment between":           "a@1:\n  version \"1.0.0\"\n\n# why\nb@1:\n  version \"1.0.0\"\n",
		"a stray carriage return":     "a@1:\r\n  version \"1.0.0\"\n\nb@1:\n  version \"1.0.0\"\r\n",
		"tabs behind":                 "a@1:\n  version \"1.0.0\"\t\n",
		"out of order":                "b@1:\n  version \"1.0.0\"\n\na@1:\n  version \"1.0.0\"\n",
		"descriptors out of order":    "a@2, a@1:\n  version \"1.0.0\"\n",
		"needless quotes":             "\"a@1\":\n  version \"1.0.0\"\n",
		"quotes forgotten":            "@s/a@1, 2b@1:\n  version \"1.0.0\"\n",
		"blanks around commas":        "a@1 ,  a@2:\n  version \"1.0.0\"\n",
		"a descriptor without range":  "a:\n  version \"1.0.0\"\n",
		"one address in two blocks":   "a@1:\n  version \"1.0.0\"\n  resolved \"u\"\n\na@2:\n  version \"1.0.0\"\n  resolved \"u\"\n",
		"two names in one block":      "a@1, \"b@npm:a@1\":\n  version \"1.0.0\"\n  resolved \"u\"\n",
		"no address, two descriptors": "a@1, a@2:\n  version \"1.0.0\"\n",
		"escapes":                     "\"a@\\\"1\\\\\":\n  version \"1.0.0\"\n",
		"a comma in a range":          "\"a@>1, <2\":\n  version \"1.0.0\"\n",
		"berry":                       berryHead + "\"a@npm:1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n",
		"berry: nothing locked":       strings.TrimSuffix(berryHead, "\n"),
		"berry: version last":         "\"a@npm:1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n\n" + strings.TrimSuffix(berryHead, "\n"),
		"berry: two blocks of one":    berryHead + "\"a@npm:1\":\n  resolution: \"a@npm:1.0.0\"\n\n\"a@npm:2\":\n  resolution: \"a@npm:1.0.0\"\n",
		"berry: a short key behind ?": berryHead + "? \"a@npm:1\"\n:\n  resolution: \"a@npm:1.0.0\"\n",
		"berry: a key without quotes": berryHead + "a@1.0.0:\n  resolution: \"a@npm:1.0.0\"\n",
		"berry: three levels":         berryHead + "a@1:\n  resolution: x\n  dependenciesMeta:\n    f:\n      optional: true\n    g:\n      optional: true\n  linkType: hard\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := parseText(t, text)
			if got := encodeDoc(t, d); got != text {
				t.Errorf("got  %q\nwant %q", got, text)
			}
			again, err := d.Format.Parse([]byte(text), d)
			if err != nil {
				t.Fatal(err)
			}
			d.Nodes(func(n *lockfile.Node) {
				if again.Node(n.Key) != n {
					t.Errorf("%s is not taken from the relative", n.Key)
				}
			})
		})
	}
}

func TestRefuses(t *testing.T) {
	duplicate := func(key string, line int) string {
		return (&lockfile.DuplicateError{Key: key, Line: line}).Error()
	}
	for name, c := range map[string]struct{ text, want string }{
		"garbage":                  {"<!DOCTYPE html>\n", `line 1: neither an entry nor a field: "<!DOCTYPE html>"`},
		"JSON":                     {"{\n  \"a\": 1\n}\n", `line 1: neither an entry nor a field: "{"`},
		"no UTF-8":                 {"a@1:\n  version \"\xff\"\n", "the file is no UTF-8 text"},
		"a field of nothing":       {"  version \"1.0.0\"\n", `line 1: a field outside of any entry: "  version \"1.0.0\""`},
		"an entry without fields":  {"a@1:\n\nb@1:\n  version \"1.0.0\"\n", `line 1: the entry "a@1:" has no fields`},
		"the last without fields":  {"a@1:\n", `line 1: the entry "a@1:" has no fields`},
		"no version":               {"a@1:\n  resolved \"u\"\n", `line 1: the entry "a@1:" has no version`},
		"twice":                    {"a@1:\n  version \"1.0.0\"\n\na@1:\n  version \"1.0.0\"\n", duplicate("a@1", 4)},
		"twice in a block":         {"a@1, a@1:\n  version \"1.0.0\"\n", duplicate("a@1", 1)},
		"a field twice":            {"a@1:\n  version \"1.0.0\"\n  version \"1.0.0\"\n", duplicate("version", 3)},
		"indented too far":         {"a@1:\n  version \"1.0.0\"\n      x \"1\"\n", `line 3: the indentation fits nothing above: "      x \"1\""`},
		"indented by one":          {"a@1:\n version \"1.0.0\"\n", `line 2: the indentation fits nothing above: " version \"1.0.0\""`},
		"nested under a value":     {"a@1:\n  version \"1.0.0\"\n    x \"1\"\n", `line 3: the indentation fits nothing above: "    x \"1\""`},
		"a tab":                    {"a@1:\n\tversion \"1.0.0\"\n", `line 1: the entry "a@1:" has no fields`},
		"a value too many":         {"a@1:\n  version \"1.0.0\" \"2\"\n", `line 2: not a value: "version \"1.0.0\" \"2\""`},
		"a value too few":          {"a@1:\n  version\n", `line 2: a field without a value: "version"`},
		"an open string":           {"a@1:\n  version \"1.0\n", `line 2: not a value: "version \"1.0"`},
		"an empty descriptor":      {"\"\":\n  version \"1.0.0\"\n", "line 1: an entry without a descriptor"},
		"conflict markers":         {"a@1:\n<<<<<<< HEAD\n  version \"1.0.0\"\n=======\n", "line 2: " + lockfile.ErrConflictMarkers.Error()},
		"berry: conflict markers":  {berryHead + ">>>>>>> theirs\n", "line 5: " + lockfile.ErrConflictMarkers.Error()},
		"berry: no resolution":     {berryHead + "a@1:\n  version: 1.0.0\n", `line 5: the entry "a@1:" has no resolution`},
		"berry: a list":            {berryHead + "a@1:\n  resolution: [a]\n", `line 6: not a field of a yarn.lock: "resolution: [a]"`},
		"berry: lines of yarn 1":   {berryHead + "a@1:\n  version \"1.0.0\"\n", `line 6: not a line of a yarn.lock: "version \"1.0.0\""`},
		"berry: twice":             {berryHead + "a@1:\n  resolution: x\n\na@1:\n  resolution: x\n", duplicate("a@1", 8)},
		"berry: metadata twice":    {berryHead + berryHead, duplicate("__metadata", 5)},
		"berry: an empty one":      {berryHead + "\"a@1, \":\n  resolution: x\n", "line 5: an entry without a descriptor"},
		"berry: behind the string": {berryHead + "\"a@1\" b:\n  resolution: x\n", `line 5: not a key: "\"a@1\" b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newTree(formats(), map[string]string{"yarn.lock": c.text}).parse("yarn.lock", nil)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if strings.Contains(name, "conflict") && !errors.Is(err, lockfile.ErrConflictMarkers) {
				t.Error("the error does not say that it is about conflict markers")
			}
			var dup *lockfile.DuplicateError
			if strings.Contains(name, "twice") != errors.As(err, &dup) {
				t.Errorf("%T", err)
			}
		})
	}
}

// Each format refuses the other's files, should it be asked to read one.
func TestRefusesTheOther(t *testing.T) {
	all := formats()
	classic := formatOf(all, "yarn.lock", []byte("a@1:\n  version \"1.0.0\"\n"))
	berry := formatOf(all, "sub/yarn.lock", []byte(berryHead))
	if classic == berry || classic.Name == berry.Name {
		t.Fatal("one format for both")
	}
	if formatOf(all, "yarn.lock", nil) == nil || formatOf(all, "yarn.lock.bak", nil) != nil {
		t.Error("a path alone does not tell")
	}
	if _, err := classic.Parse([]byte(berryHead), nil); err == nil || !strings.Contains(err.Error(), "yarn 2 or later, not of yarn 1") {
		t.Error(err)
	}
	if _, err := berry.Parse([]byte("a@1:\n  version \"1.0.0\"\n"), nil); err == nil || !strings.Contains(err.Error(), "__metadata is missing") {
		t.Error(err)
	}
}

// A hostile file takes time in proportion to its length: each of these would
// take minutes otherwise.
func TestLongFiles(t *testing.T) {
	const n = 100_000
	var keys, fields, blocks strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, "a@%d, ", i)
		fmt.Fprintf(&fields, "    a%d \"1\"\n", i)
		fmt.Fprintf(&blocks, "\na@%d:\n  version \"1\"\n", i)
	}
	for name, text := range map[string]string{
		"descriptors and requirements": keys.String() + "a@x:\n  version \"1\"\n  dependencies:\n" + fields.String(),
		"blocks":                       blocks.String()[1:],
		"backslashes":                  "\"a@" + strings.Repeat(`\\`, n) + "\":\n  version \"1\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := encodeDoc(t, parseText(t, text)); got != text {
				t.Error("it does not come back")
			}
		})
	}
}

// seeds are texts of lockfiles: those of the stories.
func seeds(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("testdata/story/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	var out []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range txtar.Parse(data).Files {
			if strings.HasSuffix(x.Name, "/yarn.lock") && len(x.Data) < 2000 {
				out = append(out, string(x.Data))
			}
		}
	}
	return out
}

// Whatever parses comes back, with every entry that it has.
func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add(head + "\"a@\\\"1\\\\\" , a@2:\r\n  version \"1.0.0\"\n\n# x\nb:\n  version true\n  dependencies:\n    \"\" \"\"")
	all := formats()
	f.Fuzz(func(t *testing.T, text string) {
		tr := newTree(all, map[string]string{"yarn.lock": text, "package.json": `{"workspaces":["*"],"resolutions":{"a":"1"}}`})
		d, err := tr.parse("yarn.lock", nil)
		if err != nil {
			return
		}
		if got := encodeDoc(t, d); got != text {
			t.Fatalf("got %q", got)
		}
		d.Format.Check(d, tr)
	})
}
