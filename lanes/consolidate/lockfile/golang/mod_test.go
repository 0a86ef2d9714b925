package golang_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

func TestModIsWrittenAsItWas(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"module alone":     "module example.com/m\n",
		"no final newline": "module example.com/m\n\ngo 1.22\n\nrequire example.com/a v1.0.0",
		"all directives": `// Deprecated: use another.
module example.com/m // about it

go 1.23.0

toolchain go1.24.1

godebug (
	default=go1.21
	panicnil=1
)

godebug x=y

tool example.com/a/cmd/t
ignore ./node_modules

require example.com/a v1.0.0 // why

require (
	// two
	// lines
	example.com/b/v2 v2.0.0-20240102030405-0123456789ab // indirect; and why

	example.com/c v3.0.0+incompatible
	// the last word
) // done

exclude example.com/a v1.1.0
exclude (
	example.com/b/v2 v2.1.0
)

replace example.com/a => ../a
replace example.com/a v1.0.0 => example.com/fork v1.0.1 // patched

retract [v1.0.0, v1.0.5] // bad
retract v0.9.0

// the end
`,
		"odd space":       "module\texample.com/m\r\nrequire(\n  example.com/a   v1.0.0//indirect\n\n\n\texample.com/b v1.0.0   \n )\n\n\n",
		"empty blocks":    "module m\nrequire ()\nexclude (\n)\n",
		"quoted":          "module \"example.com/m\"\nrequire \"example.com/a\" \"v1.0.0\"\nreplace \"example.com/a\" => \"./with space\"\n",
		"short versions":  "module m\nrequire example.com/a v1.0\n",
		"two of a kind":   "module m\nrequire (\n\texample.com/a v1.0.0\n)\nrequire (\n\texample.com/b v1.0.0 // indirect\n)\n",
		"comments alone":  "// nothing\n// here\n",
		"space before it": "\n\n  module m\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, "go.mod", text, nil)
			again := parse(t, "go.mod", text, d)
			again.Nodes(func(n *lockfile.Node) {
				if n != d.Node(n.Key) {
					t.Errorf("%s was not taken from the relative", n.Key)
				}
			})
		})
	}
}

func TestModRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"conflict markers": {"module m\n<<<<<<< HEAD\nrequire a.b/a v1.0.0\n=======\n>>>>>>> x\n", "line 2: "},
		"garbage":          {"module m\nhello world\n", "line 2: unknown directive"},
		"not a version":    {"module m\n\nrequire a.b/a master\n", "line 3: "},
		"wrong major":      {"module m\nrequire a.b/a v2.0.0\n", "line 2: "},
		"open block":       {"module m\nrequire (\n\ta.b/a v1.0.0\n", "unterminated"},
		"twice":            {"module m\nrequire a.b/a v1.0.0\nrequire (\n\ta.b/a v1.1.0\n)\n", "line 4: \"require a.b/a\" stands twice"},
		"replaced twice":   {"module m\nreplace a.b/a => ./x\nreplace a.b/a => ./y\n", "line 3: \"replace a.b/a\" stands twice"},
		"two go lines":     {"module m\ngo 1.21\ngo 1.22\n", "line 3: repeated go statement"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseAs("go.mod", c.text, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if name == "conflict markers" && !errors.Is(err, lockfile.ErrConflictMarkers) {
				t.Error("not recognised as conflict markers")
			}
			if strings.HasSuffix(name, "twice") && !errors.As(err, new(*lockfile.DuplicateError)) {
				t.Error("not recognised as a duplicate")
			}
		})
	}
}

// lines replaces pairs of texts.
func lines(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

const mod = `module example.com/m

go 1.21

require (
	example.com/a v1.0.0
	example.com/b v1.0.0 // why b
	example.com/m v1.0.0
)

require (
	example.com/i v1.0.0 // indirect
	example.com/k v1.0.0 // indirect
	example.com/z v0.0.0-20240101000000-0123456789ab // indirect
)
`

func TestModMerges(t *testing.T) {
	for name, c := range map[string]struct {
		fork  string // empty: mod
		heads []string
		want  string // empty: a conflict
	}{
		"two requirements": {
			heads: []string{lines(mod, "a v1.0.0", "a v1.1.0"), lines(mod, "b v1.0.0", "b v1.2.0")},
			want:  lines(mod, "a v1.0.0", "a v1.1.0", "b v1.0.0", "b v1.2.0"),
		},
		"of one requirement the higher": {
			heads: []string{lines(mod, "a v1.0.0", "a v1.10.0"), lines(mod, "a v1.0.0", "a v1.9.0")},
			want:  lines(mod, "a v1.0.0", "a v1.10.0"),
		},
		"a release is higher than its pseudo-version": {
			heads: []string{lines(mod, "a v1.0.0", "a v1.1.0"), lines(mod, "a v1.0.0", "a v1.1.0-0.20240101000000-0123456789ab")},
			want:  lines(mod, "a v1.0.0", "a v1.1.0"),
		},
		"pseudo-versions by time": {
			heads: []string{lines(mod, "20240101000000-0123456789ab", "20250101000000-0aaaaaaaaaaa"), lines(mod, "20240101000000-0123456789ab", "20240601000000-0fffffffffff")},
			want:  lines(mod, "20240101000000-0123456789ab", "20250101000000-0aaaaaaaaaaa"),
		},
		"incompatible majors": {
			fork: lines(mod, "a v1.0.0", "a v24.0.9+incompatible"),
			heads: []string{
				lines(mod, "a v1.0.0", "a v26.0.1+incompatible"),
				lines(mod, "a v1.0.0", "a v26.0.0+incompatible"),
			},
			want: lines(mod, "a v1.0.0", "a v26.0.1+incompatible"),
		},
		"one drops the mark, the other moves the version": {
			heads: []string{
				lines(mod, "i v1.0.0 // indirect", "i v1.0.0"),
				lines(mod, "i v1.0.0", "i v1.5.0"),
			},
			want: lines(mod, "i v1.0.0 // indirect", "i v1.5.0"),
		},
		"one drops the mark and moves the line, the other moves the version": {
			heads: []string{
				lines(mod, "\texample.com/i v1.0.0 // indirect\n", "", "\texample.com/m v1.0.0\n", "\texample.com/i v1.0.0\n\texample.com/m v1.0.0\n"),
				lines(mod, "i v1.0.0", "i v1.5.0"),
			},
			want: lines(mod, "\texample.com/i v1.0.0 // indirect\n", "", "\texample.com/m v1.0.0\n", "\texample.com/i v1.5.0\n\texample.com/m v1.0.0\n"),
		},
		"the other way round": {
			heads: []string{
				lines(mod, "i v1.0.0", "i v1.5.0"),
				lines(mod, "\texample.com/i v1.0.0 // indirect\n", "", "\texample.com/m v1.0.0\n", "\texample.com/i v1.0.0\n\texample.com/m v1.0.0\n"),
			},
			want: lines(mod, "\texample.com/i v1.0.0 // indirect\n", "", "\texample.com/m v1.0.0\n", "\texample.com/i v1.5.0\n\texample.com/m v1.0.0\n"),
		},
		"a comment stays while the version moves": {
			heads: []string{lines(mod, "b v1.0.0", "b v1.1.0"), lines(mod, "// why b", "// why b, really")},
			want:  lines(mod, "b v1.0.0 // why b", "b v1.1.0 // why b, really"),
		},
		"both add, in order": {
			heads: []string{
				lines(mod, "require (\n\texample.com/i", "require (\n\texample.com/ab v1.0.0 // indirect\n\texample.com/i"),
				lines(mod, "require (\n\texample.com/i", "require (\n\texample.com/aa v1.0.0 // indirect\n\texample.com/i"),
				lines(mod, "require (\n\texample.com/i", "require (\n\texample.com/ac v1.0.0 // indirect\n\texample.com/i"),
			},
			want: lines(mod, "require (\n\texample.com/i", "require (\n\texample.com/aa v1.0.0 // indirect\n\texample.com/ab v1.0.0 // indirect\n\texample.com/ac v1.0.0 // indirect\n\texample.com/i"),
		},
		"both add the same, one directly": {
			heads: []string{
				lines(mod, "\texample.com/k", "\texample.com/j v1.1.0 // indirect\n\texample.com/k"),
				lines(mod, "\texample.com/m", "\texample.com/j v1.0.0\n\texample.com/m"),
			},
			want: lines(mod, "\texample.com/m", "\texample.com/j v1.1.0\n\texample.com/m"),
		},
		"what one removes stays, as the other may need it": {
			heads: []string{lines(mod, "\texample.com/k v1.0.0 // indirect\n", ""), lines(mod, "a v1.0.0", "a v1.1.0")},
			want:  lines(mod, "a v1.0.0", "a v1.1.0"),
		},
		"what both remove goes": {
			heads: []string{
				lines(mod, "\texample.com/k v1.0.0 // indirect\n", ""),
				lines(mod, "\texample.com/k v1.0.0 // indirect\n", "", "a v1.0.0", "a v1.1.0"),
			},
			want: lines(mod, "\texample.com/k v1.0.0 // indirect\n", "", "a v1.0.0", "a v1.1.0"),
		},
		"what one removes and the other moves stays moved": {
			heads: []string{lines(mod, "\texample.com/k v1.0.0 // indirect\n", ""), lines(mod, "k v1.0.0", "k v1.1.0")},
			want:  lines(mod, "k v1.0.0", "k v1.1.0"),
		},
		"a block splits while a line moves": {
			fork: "module m\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/i v1.0.0 // indirect\n)\n",
			heads: []string{
				"module m\n\nrequire example.com/a v1.0.0\n\nrequire (\n\texample.com/i v1.0.0 // indirect\n\texample.com/j v1.0.0 // indirect\n)\n",
				"module m\n\nrequire (\n\texample.com/a v1.1.0\n\texample.com/i v1.0.0 // indirect\n)\n",
			},
			want: "module m\n\nrequire example.com/a v1.1.0\n\nrequire (\n\texample.com/i v1.0.0 // indirect\n\texample.com/j v1.0.0 // indirect\n)\n",
		},
		"a block loses its lines": {
			heads: []string{
				lines(mod, "\nrequire (\n\texample.com/i v1.0.0 // indirect\n\texample.com/k v1.0.0 // indirect\n\texample.com/z v0.0.0-20240101000000-0123456789ab // indirect\n)\n", ""),
			},
			want: lines(mod, "\nrequire (\n\texample.com/i v1.0.0 // indirect\n\texample.com/k v1.0.0 // indirect\n\texample.com/z v0.0.0-20240101000000-0123456789ab // indirect\n)\n", ""),
		},
		"a block loses its lines, of which another needs one": {
			heads: []string{
				lines(mod, "\nrequire (\n\texample.com/i v1.0.0 // indirect\n\texample.com/k v1.0.0 // indirect\n\texample.com/z v0.0.0-20240101000000-0123456789ab // indirect\n)\n", ""),
				lines(mod, "k v1.0.0", "k v1.1.0"),
			},
			want: lines(mod, "k v1.0.0", "k v1.1.0"),
		},
		"the higher go line": {
			heads: []string{lines(mod, "go 1.21", "go 1.22.1"), lines(mod, "go 1.21", "go 1.22rc1")},
			want:  lines(mod, "go 1.21", "go 1.22.1"),
		},
		"the higher toolchain": {
			fork:  lines(mod, "go 1.21\n", "go 1.21\n\ntoolchain go1.21.5\n"),
			heads: []string{lines(mod, "go 1.21\n", "go 1.21\n\ntoolchain go1.22.0\n"), lines(mod, "go 1.21\n", "go 1.21\n\ntoolchain go1.21.13\n")},
			want:  lines(mod, "go 1.21\n", "go 1.21\n\ntoolchain go1.22.0\n"),
		},
		// go list -mod=readonly refuses a toolchain that is not above the go line.
		"a go line that overtakes the toolchain": {
			fork:  lines(mod, "go 1.21\n", "go 1.21\n\ntoolchain go1.22.5\n"),
			heads: []string{lines(mod, "go 1.21\n", "go 1.23.0\n\ntoolchain go1.24.0\n"), lines(mod, "go 1.21\n", "go 1.25.0\n")},
			want:  lines(mod, "go 1.21\n", "go 1.25.0\n"),
		},
		"a replacement moves": {
			fork: mod + "\nreplace example.com/a => example.com/f v1.0.0\n",
			heads: []string{
				mod + "\nreplace example.com/a => example.com/f v1.1.0\n",
				mod + "\nreplace example.com/a => example.com/f v1.2.0\n",
			},
			want: mod + "\nreplace example.com/a => example.com/f v1.2.0\n",
		},
		"two replacements of one module": {
			heads: []string{
				mod + "\nreplace example.com/a => example.com/f v1.0.0\n",
				mod + "\nreplace example.com/a => ../a\n",
			},
		},
		"a replacement ends while the requirement moves": {
			fork:  mod + "\nreplace example.com/a => example.com/f v1.0.0\n",
			heads: []string{mod, lines(mod, "a v1.0.0", "a v1.1.0") + "\nreplace example.com/a => example.com/f v1.0.0\n"},
			want:  lines(mod, "a v1.0.0", "a v1.1.0"),
		},
		"exclusions, tools and settings": {
			heads: []string{
				mod + "\nexclude example.com/a v1.0.1\n\ntool example.com/a/cmd\n",
				mod + "\nexclude example.com/a v1.0.2\n\ngodebug panicnil=1\n",
			},
			want: mod + "\nexclude example.com/a v1.0.2\n\ngodebug panicnil=1\n\nexclude example.com/a v1.0.1\n\ntool example.com/a/cmd\n",
		},
		"two values of a setting": {
			heads: []string{mod + "\ngodebug panicnil=1\n", mod + "\ngodebug panicnil=0\n"},
		},
		"no final newline": {
			fork: strings.TrimSuffix(mod, "\n"),
			heads: []string{
				strings.TrimSuffix(lines(mod, "a v1.0.0", "a v1.1.0"), "\n"),
				mod + "\nexclude example.com/a v1.0.1",
			},
			want: lines(mod, "a v1.0.0", "a v1.1.0") + "\nexclude example.com/a v1.0.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fork == "" {
				c.fork = mod
			}
			var updates []update
			for _, h := range c.heads {
				updates = append(updates, update{name: h, fork: files{"go.mod": c.fork}, head: files{"go.mod": h}})
			}
			m := fold(t, files{"go.mod": c.fork}, updates)
			if c.want == "" {
				if len(m.conflicts) != 1 {
					t.Errorf("%d conflicts", len(m.conflicts))
				}
				return
			}
			for _, x := range m.conflicts {
				t.Error(x)
			}
			if m.files["go.mod"] != c.want {
				t.Errorf("got\n%s\nwant\n%s", m.files["go.mod"], c.want)
			}
		})
	}
}

func TestWorkMerges(t *testing.T) {
	const work = "go 1.21\n\nuse (\n\t.\n\t./tools\n)\n\nreplace example.com/a => ./a\n"
	m := fold(t, files{"go.work": work}, []update{
		{"go line", files{"go.work": work}, files{"go.work": lines(work, "1.21", "1.23.0")}},
		{"folder", files{"go.work": work}, files{"go.work": lines(work, "\t./tools\n", "\t./tools\n\t./x\n")}},
	})
	if want := lines(work, "1.21", "1.23.0", "\t./tools\n", "\t./tools\n\t./x\n"); m.files["go.work"] != want {
		t.Errorf("got\n%s\nwant\n%s", m.files["go.work"], want)
	}
}

func TestModNotes(t *testing.T) {
	m := fold(t, files{"go.mod": mod}, []update{
		{"drops k", files{"go.mod": mod}, files{"go.mod": lines(mod, "\texample.com/k v1.0.0 // indirect\n", "")}},
		{"moves a", files{"go.mod": mod}, files{"go.mod": lines(mod, "a v1.0.0", "a v1.1.0")}},
	})
	notes := m.notes["go.mod"]
	if len(notes) != 1 || !strings.Contains(notes[0], "not tidied") || !strings.Contains(notes[0], "example.com/k v1.0.0") {
		t.Errorf("notes: %q", notes)
	}
}

func TestModCheck(t *testing.T) {
	sums := "example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0/go.mod h1:y=\n"
	const small = "module example.com/m\n\ngo 1.21\n\nrequire example.com/a v1.0.0\n"
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"sound":                  {files{"go.mod": small, "go.sum": sums}, nil},
		"no hash of the go.mod":  {files{"go.mod": small, "go.sum": "example.com/a v1.0.0 h1:x=\n"}, []string{"go.sum: the hash of example.com/a v1.0.0's go.mod is missing"}},
		"no hash of the module":  {files{"go.mod": small, "go.sum": "example.com/a v1.0.0/go.mod h1:y=\n"}, []string{"go.sum: the hash of example.com/a v1.0.0 is missing"}},
		"no go.sum":              {files{"go.mod": small}, []string{"go.sum: the hash of example.com/a v1.0.0 is missing", "go.sum: the hash of example.com/a v1.0.0's go.mod is missing"}},
		"vendored without a sum": {files{"go.mod": small, "vendor/modules.txt": "# example.com/a v1.0.0\n## explicit\nexample.com/a\n"}, nil},
		"an indirect one may give no package": {
			files{"go.mod": lines(small, "v1.0.0", "v1.0.0 // indirect"), "go.sum": "example.com/a v1.0.0/go.mod h1:y=\n"},
			[]string{"soft go.sum: the hash of example.com/a v1.0.0 is missing"},
		},
		"replaced by another module": {
			files{"go.mod": small + "replace example.com/a => example.com/f v1.2.0\n", "go.sum": "example.com/f v1.2.0 h1:x=\nexample.com/f v1.2.0/go.mod h1:y=\n"}, nil,
		},
		"replaced by a folder": {
			files{"go.mod": small + "replace example.com/a => ./a\n", "go.sum": "", "a/go.mod": "module example.com/a\n"}, nil,
		},
		"replaced by a folder outside": {files{"go.mod": small + "replace example.com/a => ../a\n", "go.sum": ""}, nil},
		"replaced by no folder": {
			files{"go.mod": small + "replace example.com/a => ./a\n", "go.sum": ""},
			[]string{"go.mod: example.com/a is replaced by a folder without go.mod: a/go.mod"},
		},
		"asks for what it excludes": {
			files{"go.mod": small + "exclude example.com/a v1.0.0\n", "go.sum": sums},
			[]string{"go.mod: it asks for example.com/a v1.0.0 and excludes that version"},
		},
		"an idle toolchain": {
			files{"go.mod": lines(small, "go 1.21", "go 1.22.1\ntoolchain go1.22.1"), "go.sum": sums},
			[]string{"go.mod: the toolchain is not higher than the go line, and Go refuses the file until one of them changes"},
		},
		"overtaken, as go.sum shows": {
			files{"go.mod": small, "go.sum": sums + "example.com/a v1.2.0/go.mod h1:z=\n"},
			[]string{"go.sum: something needs example.com/a v1.2.0, as this file shows, and go.mod asks for v1.0.0; only go mod tidy can say"},
		},
		"an excluded version is not overtaken": {
			files{"go.mod": small + "exclude example.com/a v1.2.0\n", "go.sum": sums + "example.com/a v1.2.0/go.mod h1:z=\n"}, nil,
		},
		// The workspace's sum is no module's.
		"a workspace": {files{"go.work": "go 1.21\nuse .\n", "go.work.sum": "", "go.mod": small, "go.sum": sums}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, p := range problems(c.files) {
				s := p.String()
				if p.Soft {
					s = "soft " + s
				}
				got[s] = true
			}
			for _, w := range c.want {
				if !got[w] {
					t.Errorf("did not find: %s", w)
				}
				delete(got, w)
			}
			for s := range got {
				t.Errorf("found: %s", s)
			}
		})
	}
}
