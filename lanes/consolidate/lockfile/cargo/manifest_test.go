package cargo_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cargo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

func manifestFormat() *lockfile.Format { return cargo.Formats()[0] }

func TestManifestCells(t *testing.T) {
	type found struct{ Key, Name, Version string }
	for name, c := range map[string]struct {
		text string
		want []found
	}{
		"text":              {"[dependencies]\na = \"1.0\"", []found{{"dependencies/a", "a", "1.0"}}},
		"a literal":         {"[dependencies]\na = '1.0'", []found{{"dependencies/a", "a", "1.0"}}},
		"an escape":         {"[dependencies]\na = \"\\u0031.0\"", []found{{"dependencies/a", "a", "1.0"}}},
		"an inline table":   {"[dependencies]\na = { version = \"1.0\", features = [\"version\"] }", []found{{"dependencies/a", "a", "1.0"}}},
		"a table":           {"[dependencies.a]\nversion = \"1.0\"\nfeatures = []", []found{{"dependencies/a", "a", "1.0"}}},
		"a dotted key":      {"[dependencies]\na.version = \"1.0\"\na.features = []", []found{{"dependencies/a", "a", "1.0"}}},
		"from the top":      {"dependencies.a = \"1.0\"\ndependencies.b.version = \"2\"", []found{{"dependencies/a", "a", "1.0"}, {"dependencies/b", "b", "2"}}},
		"all in one":        {"dependencies = { a = \"1.0\", b = { version = \"2\" } }", []found{{"dependencies/a", "a", "1.0"}, {"dependencies/b", "b", "2"}}},
		"a quoted name":     {"[dependencies]\n\"a.b\" = \"1.0\"", []found{{"dependencies/a.b", "a.b", "1.0"}}},
		"other sections":    {"[dev-dependencies]\na = \"1\"\n[build-dependencies]\na = \"2\"\n[dev_dependencies]\na = \"3\"", []found{{"dev-dependencies/a", "a", "1"}, {"build-dependencies/a", "a", "2"}, {"dev_dependencies/a", "a", "3"}}},
		"a target":          {"[target.'cfg(unix)'.dependencies]\na = \"1\"\n[target.x86_64-pc-windows-gnu.dev-dependencies.b]\nversion = \"2\"", []found{{"target/cfg(unix)/dependencies/a", "a", "1"}, {"target/x86_64-pc-windows-gnu/dev-dependencies/b", "b", "2"}}},
		"the workspace's":   {"[workspace.dependencies]\na = { version = \"1\" }", []found{{"workspace/dependencies/a", "a", "1"}}},
		"inherited":         {"[dependencies]\na.workspace = true\nb = { workspace = true }", nil},
		"renamed":           {"[dependencies]\na = { version = \"1\", package = \"b\" }\n[dependencies.c]\npackage = \"d\"\nversion = \"2\"", []found{{"dependencies/a", "b", "1"}, {"dependencies/c", "d", "2"}}},
		"path":              {"[dependencies]\na = { path = \"../a\", version = \"0.1\" }\nb = { path = \"../b\" }", []found{{"dependencies/a", "a", "0.1"}}},
		"git":               {"[dependencies]\na = { git = \"https://x\", tag = \"v1.0\" }\nb = { git = \"https://x\", rev = \"abc\" }\nc = { git = \"https://x\", branch = \"main\" }", []found{{"dependencies/a#tag", "a", "v1.0"}, {"dependencies/b#rev", "b", "abc"}}},
		"a package's own":   {"[package]\nname = \"a\"\nversion = \"1.0\"\nrust-version = \"1.70\"", nil},
		"metadata":          {"[package.metadata.x.dependencies]\na = \"1.0\"\n[features]\ndependencies = [\"a\"]\n[[bin]]\nname = \"x\"", nil},
		"too deep":          {"[dependencies.a.b]\nversion = \"1.0\"\n[dependencies.c]\nd.version = \"1\"", nil},
		"a comment":         {"[dependencies]\n# a = \"1.0\"\nb = \"1\" # \"2\"", []found{{"dependencies/b", "b", "1"}}},
		"a string over two": {"[dependencies]\na = \"\"\"\n1.0\"\"\"\n[x]\ny = '''\n[dependencies]\nb = \"1\"\n'''", []found{{"dependencies/a", "a", "1.0"}}},
		"no text":           {"[dependencies]\na = 1\nb = { version = 2 }", nil},
		"a control code":    {"[dependencies]\n\"a\\u0000b\" = \"1.0\"", nil},
	} {
		for _, end := range []string{"", "\n"} {
			t.Run(name, func(t *testing.T) {
				text := c.text + end
				d, err := manifestFormat().Parse([]byte(text), nil)
				if err != nil {
					t.Fatal(err)
				}
				var got []found
				d.Nodes(func(n *lockfile.Node) {
					if n.Name != "" {
						got = append(got, found{n.Key, n.Name, n.Version})
					}
				})
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if back, err := manifestFormat().Encode(d); err != nil || string(back) != text {
					t.Errorf("round trip: %v\n%s", err, back)
				}
			})
		}
	}
}

func TestManifestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no TOML":             "hello",
		"a string never done": "[dependencies]\na = \"1.0\n",
		"a table twice":       "[package]\nname = \"a\"\n[package]\n",
		"keys without end":    "a" + strings.Repeat(".a", 100_000) + " = 1",
		"tables in tables":    strings.Repeat("a = {", 9_000) + strings.Repeat("}", 9_000),
		"nested too deep":     "a = " + strings.Repeat("[", 20_000),
	} {
		if d, err := manifestFormat().Parse([]byte(text), nil); err == nil {
			t.Errorf("%s: parsed as %v", name, d.Keys())
		}
	}
	var dup *lockfile.DuplicateError
	if _, err := manifestFormat().Parse([]byte("[dependencies]\na = \"1\"\nb = \"1\"\na = \"2\"\n"), nil); !errors.As(err, &dup) || dup.Key != "dependencies/a" || dup.Line != 4 {
		t.Errorf("a requirement twice: %v", err)
	}
	if _, err := manifestFormat().Parse([]byte("[dependencies]\n<<<<<<< a\na = \"1\"\n=======\na = \"2\"\n>>>>>>> b\n"), nil); !errors.Is(err, lockfile.ErrConflictMarkers) {
		t.Errorf("conflict markers: %v", err)
	}
}

func TestManifestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		fork  string
		heads []string
		want  string
	}{
		"neighbouring lines": {
			"[dependencies]\na = \"1.0\"\nb = \"1.0\"\n",
			[]string{"[dependencies]\na = \"1.1\"\nb = \"1.0\"\n", "[dependencies]\na = \"1.0\"\nb = \"1.1\"\n"},
			"[dependencies]\na = \"1.1\"\nb = \"1.1\"\n",
		},
		"one line": {
			"dependencies = { a = \"1.0\", b = \"1.0\" } # x\n",
			[]string{"dependencies = { a = \"1.1\", b = \"1.0\" } # x\n", "dependencies = { a = \"1.0\", b = \"1.1\" } # x\n"},
			"dependencies = { a = \"1.1\", b = \"1.1\" } # x\n",
		},
		"the higher": {
			"[dependencies]\na = \"1.9\"\n",
			[]string{"[dependencies]\na = \"1.10\"\n", "[dependencies]\na = \"1.9.5\"\n"},
			"[dependencies]\na = \"1.10\"\n",
		},
		"the higher, in several forms": {
			"[dependencies]\na = \"0.9\"\n",
			[]string{"[dependencies]\na = \">=1.0, <3\"\n", "[dependencies]\na = \"=2.0.1\"\n", "[dependencies]\na = \"1.*\"\n"},
			"[dependencies]\na = \"=2.0.1\"\n",
		},
		"a value and a table": {
			"[dependencies]\na = \"1.0\"\n",
			[]string{"[dependencies]\na = { version = \"1.0\", features = [\"x\"] }\n", "[dependencies]\na = \"1.1\"\n"},
			"[dependencies]\na = { version = \"1.1\", features = [\"x\"] }\n",
		},
		"quotes": {
			"[dependencies]\na = \"1.0\"\n",
			[]string{"[dependencies]\na = '1.0'\nb = \"1\"\n", "[dependencies]\na = \"1.1\"\n"},
			"[dependencies]\na = \"1.1\"\nb = \"1\"\n",
		},
		"no order": {
			"[dependencies]\na = \"1\"\n",
			[]string{"[dependencies]\na = \"2\"\n", "[dependencies]\na = \"2.0\"\n"},
			"dependencies/a: 2, 2.0",
		},
		"tags": {
			"[dependencies]\na = { git = \"x\", tag = \"v1.0\" }\n",
			[]string{"[dependencies]\na = { git = \"x\", tag = \"v1.9\" }\n", "[dependencies]\na = { git = \"x\", tag = \"v1.10\" }\n"},
			"[dependencies]\na = { git = \"x\", tag = \"v1.10\" }\n",
		},
		"commits": {
			"[dependencies]\na = { git = \"x\", rev = \"1\" }\n",
			[]string{"[dependencies]\na = { git = \"x\", rev = \"2\" }\n", "[dependencies]\na = { git = \"x\", rev = \"3\" }\n"},
			"dependencies/a#rev: 2, 3",
		},
		"two features": {
			"[dependencies]\na = { version = \"1\" }\n",
			[]string{"[dependencies]\na = { version = \"1\", features = [\"x\"] }\n", "[dependencies]\na = { version = \"1\", features = [\"y\"] }\n"},
			"#text",
		},
		"dropped and bumped": {
			"[dependencies]\na = \"1\"\nb = \"1\"\n",
			[]string{"[dependencies]\nb = \"1\"\n", "[dependencies]\na = \"2\"\nb = \"1\"\n"},
			"[dependencies]\nb = \"1\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := locktest.Merge(t, manifestFormat(), "Cargo.toml", c.fork, c.fork, c.heads...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManifestMergeProperties(t *testing.T) {
	req := rapid.SampledFrom([]string{"1", "1.2", "^1.3", "=1.4.5", "~1.6", ">=1.7, <3", "2.0.0-rc.1", "2.*"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label, base string) (string, [3]string) {
			var reqs [3]string
			for i := range reqs {
				reqs[i] = req.Draw(t, label)
			}
			return "[dependencies]\na = \"" + reqs[0] + "\" # x\nb = { version = '" + reqs[1] + "', optional = true }\n\n[dev-dependencies.c]\nversion = \"" + reqs[2] + "\"\n", reqs
		}
		x, _ := draw("x", "")
		y, _ := draw("y", x)
		z, _ := draw("z", x)
		merge := func(base string, heads ...string) string {
			return locktest.Merge(t, manifestFormat(), "Cargo.toml", base, x, heads...)
		}
		if got := merge(x, y); got != y {
			t.Fatalf("an update alone is not itself:\n%s", got)
		}
		if got := merge(y, y); got != y {
			t.Fatalf("an update onto itself is not itself:\n%s", got)
		}
		if got := merge(y, x); got != y {
			t.Fatalf("no update changes something:\n%s", got)
		}
		if a, b := merge(x, y, z), merge(x, z, y); a != b && strings.HasPrefix(a, "[") {
			t.Fatalf("the order matters:\n%s\n%s", a, b)
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	for _, s := range []string{
		"[dependencies]\na = \"1\"\nb = { version = '2', package = \"c\" }\n[target.'cfg(a)'.dependencies.d]\nversion = \"3\"\n",
		"workspace.dependencies.a.version = \"\"\"1\"\"\"\n[[x]]\n", "dependencies = {}", "[dependencies]\n\"\" = \"\"\n",
	} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, err := manifestFormat().Parse(a, nil)
		if err != nil {
			return
		}
		d.Format = manifestFormat()
		if got, err := d.Format.Encode(d); err != nil || !bytes.Equal(got, a) {
			t.Fatalf("round trip: %v\n%q\n%q", err, a, got)
		}
		e, err := d.Format.Parse(b, d)
		if err != nil {
			return
		}
		tree := locktest.NewTree(t, cargo.Formats(), map[string][]byte{"Cargo.toml": a})
		d.Format.Check(d, tree)
		merged, conflicts := lockfile.Apply(d, lockfile.Diff(d, e), tree, tree, false)
		if len(conflicts) > 0 {
			return
		}
		if got, err := d.Format.Encode(merged); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("an update alone is not itself: %v\n%q\n%q", err, b, got)
		}
	})
}
