package npmlock

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

func TestParseRefuses(t *testing.T) {
	deep := func(n int) string {
		return `{"lockfileVersion":1,"dependencies":` + strings.Repeat(`{"a":{"dependencies":`, n) + `{}` + strings.Repeat(`}}`, n) + `}`
	}
	for name, c := range map[string]struct {
		path, text string
		err        string
	}{
		"nothing":                     {"package-lock.json", "", "unexpected end"},
		"no object":                   {"package-lock.json", "[]", "not a JSON object"},
		"not JSON":                    {"package-lock.json", "{\n\"lockfileVersion\": 3,\n}", "line 3"},
		"conflict markers":            {"package-lock.json", "{\n<<<<<<< HEAD\n\"lockfileVersion\": 3\n=======\n", "line 2: the file holds conflict markers"},
		"conflict markers, manifest":  {"package.json", "<<<<<<< HEAD\n{}\n", "line 1: the file holds conflict markers"},
		"an unknown version":          {"package-lock.json", `{"lockfileVersion":4,"packages":{}}`, "lockfileVersion 4 is not known"},
		"a version that is no number": {"package-lock.json", `{"lockfileVersion":"3","packages":{}}`, "is not known"},
		"no packages":                 {"package-lock.json", `{"lockfileVersion":3}`, `"packages" is missing`},
		"packages are no object":      {"package-lock.json", `{"lockfileVersion":3,"packages":[]}`, "is not an object"},
		"an entry is no object":       {"package-lock.json", `{"lockfileVersion":3,"packages":{"node_modules/a":1}}`, `"node_modules/a"`},
		"an entry is no object, v1":   {"package-lock.json", "{\"lockfileVersion\":1,\n\"dependencies\":{\"a\":1}}", "line 2"},
		"no name":                     {"package-lock.json", `{"lockfileVersion":3,"packages":{"node_modules/a/node_modules/":{}}}`, "without a name"},
		"no name, v1":                 {"package-lock.json", `{"dependencies":{"":{}}}`, "without a name"},
		"nested too deep":             {"package-lock.json", deep(400), "nested too deep"},
		"nested much too deep":        {"package-lock.json", deep(4000), "nested too deep"},
		"a path too long":             {"package-lock.json", `{"lockfileVersion":3,"packages":{"node_modules/` + strings.Repeat("a", 5000) + `":{}}}`, "longer than"},
		"deep JSON":                   {"package.json", `{"x":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + "}", "exceeded max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			f := formatOf(c.path, []byte(c.text))
			_, err := f.Parse([]byte(c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want an error with %q", err, c.err)
			}
			if strings.Contains(c.err, "markers") != errors.Is(err, lockfile.ErrConflictMarkers) {
				t.Errorf("%v is not what the engine looks for", err)
			}
		})
	}
}

func formatOf(p string, content []byte) *lockfile.Format {
	for _, f := range formats() {
		if f.Match(p, content) {
			return f
		}
	}
	return nil
}

func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		path, text, key string
		line            int
	}{
		{"package.json", "{\"a\": 1,\n\"a\": 2}", "#a", 2},
		{"package.json", "{\"dependencies\": {\"a\": \"1\",\n\n\"a\": \"2\"}}", "dependencies/a", 3},
		{"package.json", "{\"dependencies\": {},\n\"dependencies\": {}}", "#dependencies", 2},
		{"package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {\n\"\": {},\n\"node_modules/a\": {},\n\"node_modules\\/a\": {}}}", "node_modules/a", 4},
		{"package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {\n\"#lockfileVersion\": {}}}", "#lockfileVersion", 2},
		{"package-lock.json", "{\"lockfileVersion\": 1, \"dependencies\": {\"a\": {},\n\"a\": {}}}", "node_modules/a", 2},
		{"package-lock.json", "{\"lockfileVersion\": 1, \"dependencies\": {\"a\": {\"dependencies\": {},\n\"dependencies\": {}}}}", "node_modules/a dependencies", 2},
	} {
		_, err := formatOf(c.path, []byte(c.text)).Parse([]byte(c.text), nil)
		var dup *lockfile.DuplicateError
		if !errors.As(err, &dup) || dup.Key != c.key || dup.Line != c.line {
			t.Errorf("%s: got %v, want %s in line %d", c.text, err, c.key, c.line)
		}
	}
}

// Whatever parses comes back, and no entry of it gets lost.
func FuzzParse(f *testing.F) {
	for p, files := range odd {
		for _, text := range files {
			f.Add(p == "package.json", []byte(text))
		}
	}
	for _, s := range []string{"recipe-v1", "hoisted-v2", "workspaces-v3"} {
		for p, text := range storyFiles(f, s) {
			f.Add(strings.HasSuffix(p, "package.json"), text)
		}
	}
	formats := formats()
	f.Fuzz(func(t *testing.T, manifest bool, text []byte) {
		p := "package-lock.json"
		if manifest {
			p = "package.json"
		}
		var format *lockfile.Format
		for _, x := range formats {
			if format == nil && x.Match(p, text) {
				format = x
			}
		}
		d, err := format.Parse(text, nil)
		if err != nil {
			return
		}
		d.Format, d.Path = format, p
		got, err := format.Encode(d)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%q came back as %q", text, got)
		}
		x := newTree(t, formats, map[string][]byte{p: text})
		if format.Check != nil {
			format.Check(d, x)
		}
		// A head without the last entry, and one with all: no panic, and what
		// comes out can be read.
		less := d.Clone()
		for i := d.Len() - 1; i >= 0; i-- {
			if n := d.Node(d.Keys()[i]); n.Parent != "" {
				less.Delete(n.Key)
				break
			}
		}
		for _, sides := range [][2]*lockfile.Doc{{d, less}, {less, d}} {
			m, conflicts := lockfile.Apply(sides[0], lockfile.Diff(sides[0], sides[1]), x, x, true)
			if len(conflicts) > 0 {
				continue
			}
			out, err := format.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := format.Parse(out, nil); err != nil {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
		}
	})
}

// huge is a lockfile of about this many bytes, and the path of one package in it.
func huge(size int) (text []byte, key string) {
	var b bytes.Buffer
	b.WriteString("{\n  \"name\": \"huge\",\n  \"lockfileVersion\": 3,\n  \"packages\": {\n    \"\": {\n      \"dependencies\": {\n        \"p0\": \"1.0.0\"\n      }\n    }")
	n := 0
	for ; b.Len() < size; n++ {
		fmt.Fprintf(&b, ",\n    \"node_modules/p%d\": {\n      \"version\": \"1.0.0\",\n      \"resolved\": \"https://registry.npmjs.org/p%d/-/p%d-1.0.0.tgz\",\n      \"integrity\": \"sha512-%086d==\",\n      \"dependencies\": {\n        \"p%d\": \"^1.0.0\",\n        \"p%d\": \"^1.0.0\"\n      }\n    }", n, n, n, n, n+1, n/2)
	}
	fmt.Fprintf(&b, ",\n    \"node_modules/p%d\": {\n      \"version\": \"1.0.0\"\n    }\n  }\n}\n", n)
	return b.Bytes(), fmt.Sprintf("node_modules/p%d", n/2)
}

// A lockfile of 60 MB is merged like any other.
func TestHugeFile(t *testing.T) {
	size := 60_000_000
	if testing.Short() {
		size = 2_000_000
	}
	text, key := huge(size)
	bump := func(key string) []byte {
		at := bytes.Index(text, []byte(`"`+key+`": {`))
		return append(append(bytes.Clone(text[:at]), bytes.Replace(text[at:at+200], []byte(`"version": "1.0.0"`), []byte(`"version": "1.2.0"`), 1)...), text[at+200:]...)
	}
	formats := formats()
	fork := newTree(t, formats, map[string][]byte{"package-lock.json": text})
	one := newTree(t, formats, map[string][]byte{"package-lock.json": bump(key)})
	two := newTree(t, formats, map[string][]byte{"package-lock.json": bump("node_modules/p1")})
	ours := fork
	for _, h := range []*tree{one, two} {
		next, conflicts := step(ours, fork, h, h.Paths())
		if len(conflicts) > 0 {
			t.Fatal(conflicts)
		}
		ours = next
	}
	d := ours.Doc("package-lock.json")
	if d.Node(key).Version != "1.2.0" || d.Node("node_modules/p1").Version != "1.2.0" || len(ours.files["package-lock.json"]) != len(text) {
		t.Error("not both bumps are in")
	}
	if p := d.Format.Check(d, ours); len(p) > 0 {
		t.Error(p[0])
	}
}

// A file in which nothing finds what it needs, everywhere at once, ends in
// finite time with what cannot be mended left to the check.
func TestHostileTree(t *testing.T) {
	const n = 100
	lock := func(version int) []byte {
		var b bytes.Buffer
		b.WriteString(`{"lockfileVersion":3,"packages":{"":{"dependencies":{"p0":"*"`)
		for i := range n {
			fmt.Fprintf(&b, `,"q%d":"*"`, i)
		}
		b.WriteString(`}}`)
		dir := ""
		for i := range n {
			fmt.Fprintf(&b, `,"node_modules/q%d":{"version":"1.0.0","dependencies":{`, i)
			for j := range n {
				if j > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `"x%d":"^%d.0.0"`, j, version)
			}
			b.WriteString(`}}`)
			if i < 60 {
				dir = modules.Join(dir, fmt.Sprintf("p%d", i))
				fmt.Fprintf(&b, `,"%s":{"version":"1.0.0","dependencies":{"p%d":"*","x%d":"*"}}`, dir, i+1, i)
			}
		}
		for j := range n {
			fmt.Fprintf(&b, `,"node_modules/x%d":{"version":"%d.0.0","dependencies":{"x%d":"^%d.0.0"}}`, j, version, (j+1)%n, version)
		}
		b.WriteString(`}}`)
		return b.Bytes()
	}
	formats := formats()
	fork := newTree(t, formats, map[string][]byte{"package-lock.json": lock(1)})
	head := newTree(t, formats, map[string][]byte{"package-lock.json": lock(2)})
	// Ours needs the old ones still.
	d := fork.Doc("package-lock.json").Clone()
	d.Nodes(func(n *lockfile.Node) {
		if strings.HasPrefix(n.Key, "node_modules/q") {
			c, _ := withValue(n, bytes.Replace(data(n).member.Value(), []byte(`"version":"1.0.0"`), []byte(`"version":"9.0.0"`), 1))
			d.Set(c, "")
		}
	})
	ours := fork.with(map[string]*lockfile.Doc{"package-lock.json": d})
	if _, conflicts := step(ours, fork, head, head.Paths()); len(conflicts) > 0 {
		t.Fatal(conflicts)
	}
}
