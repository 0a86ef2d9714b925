package golang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
)

// modulesTxt makes a modules.txt of "a v1.0.0: . p q": module, version, packages.
func modulesTxt(t *testing.T, blocks ...string) *lockfile.Doc {
	t.Helper()
	var b strings.Builder
	for _, x := range blocks {
		head, packages, _ := strings.Cut(x, ":")
		name, _, _ := strings.Cut(head, " ")
		b.WriteString("# example.com/" + head + "\n## explicit\n")
		for _, p := range strings.Fields(packages) {
			b.WriteString(strings.TrimSuffix("example.com/"+name+"/"+p, "/.") + "\n")
		}
	}
	return parse(t, "vendor/modules.txt", b.String(), nil)
}

func TestFolders(t *testing.T) {
	const a = "vendor/example.com/a/x.go"
	for name, c := range map[string]struct {
		fork, head, ours, result []string
		changed                  string // by the head; empty: a
		module                   string // empty: example.com/a
		take                     golang.Side
		tool                     string // part of why only the tool can say
	}{
		"only the head moves it": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: ."}, ours: []string{"a v1.0.0: ."}, result: []string{"a v1.1.0: ."},
			take: golang.Theirs,
		},
		"the head moves it further": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.2.0: ."}, ours: []string{"a v1.1.0: ."}, result: []string{"a v1.2.0: ."},
			take: golang.Theirs,
		},
		"ours has it further": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: ."}, ours: []string{"a v1.2.0: ."}, result: []string{"a v1.2.0: ."},
			take: golang.Ours,
		},
		"both move it alike": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: . p"}, ours: []string{"a v1.1.0: . p"}, result: []string{"a v1.1.0: . p"},
			take: golang.Ours,
		},
		"the head adds it": {
			head: []string{"a v1.1.0: ."}, result: []string{"a v1.1.0: ."},
			take: golang.Theirs,
		},
		"the head vendors more of it": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: . p"}, ours: []string{"a v1.0.0: ."}, result: []string{"a v1.0.0: . p"},
			changed: "vendor/example.com/a/p/p.go", take: golang.Theirs,
		},
		"the head drops it": {
			fork: []string{"a v1.0.0: ."}, ours: []string{"a v1.0.0: ."},
			take: golang.Theirs,
		},
		"the head drops it, and the result keeps it": {
			fork: []string{"a v1.0.0: ."}, ours: []string{"a v1.0.0: ."}, result: []string{"a v1.0.0: ."},
			take: golang.Ours,
		},
		"the head drops it, and ours moved it": {
			fork: []string{"a v1.0.0: ."}, ours: []string{"a v1.1.0: ."}, result: []string{"a v1.1.0: ."},
			take: golang.Ours,
		},
		"ours dropped it, and the head moves it": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: ."}, result: []string{"a v1.1.0: ."},
			take: golang.Theirs,
		},
		"the winner drops a package": {
			fork: []string{"a v1.0.0: . p"}, head: []string{"a v1.2.0: ."}, ours: []string{"a v1.1.0: . p"}, result: []string{"a v1.2.0: ."},
			take: golang.Theirs,
		},
		"files move and the version does not": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: ."}, ours: []string{"a v1.0.0: ."}, result: []string{"a v1.0.0: ."},
			tool: "leaves its version and packages as they are",
		},
		"files move and ours has another version": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: ."}, ours: []string{"a v1.1.0: ."}, result: []string{"a v1.1.0: ."},
			tool: "leaves its version and packages as they are",
		},
		"a copy of a folder beside moves with it": {
			fork: []string{"a v1.0.0 => ./a: ."}, head: []string{"a v1.0.0 => ./a: ."}, ours: []string{"a v1.0.0 => ./a: ."}, result: []string{"a v1.0.0 => ./a: ."},
			take: golang.Theirs,
		},
		"both change which packages": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: . p"}, ours: []string{"a v1.0.0: . q"}, result: []string{"a v1.0.0: . p q"},
			tool: "two updates change which packages of example.com/a are vendored",
		},
		"both change which packages of a new version": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: . p"}, ours: []string{"a v1.1.0: . q"}, result: []string{"a v1.1.0: . p q"},
			tool: "two updates change which packages of example.com/a are vendored",
		},
		"the loser vendors more of it": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: . p"}, ours: []string{"a v1.1.0: ."}, result: []string{"a v1.1.0: ."},
			tool: "vendors more of it (example.com/a/p)",
		},
		"a result of neither side": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.1.0: ."}, ours: []string{"a v1.2.0: ."}, result: []string{"a v1.3.0: ."},
			tool: "no side vendors example.com/a at the version",
		},
		"a module inside another": {
			fork:    []string{"a v1.0.0: .", "a/in v1.0.0: . p"},
			head:    []string{"a v1.0.0: .", "a/in v1.1.0: . p"},
			ours:    []string{"a v1.1.0: .", "a/in v1.0.0: . p"},
			result:  []string{"a v1.1.0: .", "a/in v1.1.0: . p"},
			changed: "vendor/example.com/a/in/p/x.go", module: "example.com/a/in", take: golang.Theirs,
		},
		"a name that only begins alike": {
			fork: []string{"a v1.0.0: .", "ab v1.0.0: ."}, head: []string{"a v1.0.0: .", "ab v1.1.0: ."},
			ours: []string{"a v1.0.0: .", "ab v1.0.0: ."}, result: []string{"a v1.0.0: .", "ab v1.1.0: ."},
			changed: "vendor/example.com/ab/x.go", module: "example.com/ab", take: golang.Theirs,
		},
		"of no module": {
			fork: []string{"a v1.0.0: ."}, head: []string{"a v1.0.0: ."}, ours: []string{"a v1.0.0: ."}, result: []string{"a v1.0.0: ."},
			changed: "vendor/README", module: "none", tool: "of no module",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.changed == "" {
				c.changed = a
			}
			switch c.module {
			case "":
				c.module = "example.com/a"
			case "none":
				c.module = ""
			}
			v := golang.NewVendor(modulesTxt(t, c.fork...), modulesTxt(t, c.head...), modulesTxt(t, c.ours...), modulesTxt(t, c.result...))
			got := v.Folders([]string{"go.mod", "vendor/modules.txt", c.changed, "vendored/x"})
			if len(got) != 1 {
				t.Fatalf("folders: %+v", got)
			}
			f := got[0]
			if f.Module != c.module || !slices.Equal(f.Paths, []string{c.changed}) || f.Dir != strings.TrimSuffix("vendor/"+c.module, "/") {
				t.Errorf("folder: %+v", f)
			}
			if (f.Tool != "") != (c.tool != "") || !strings.Contains(f.Tool, c.tool) || f.Take != c.take {
				t.Errorf("take %d, tool %q; want %d, %q", f.Take, f.Tool, c.take, c.tool)
			}
		})
	}
}

func TestFoldersGroups(t *testing.T) {
	fork := modulesTxt(t, "a v1.0.0: .", "b v1.0.0: .")
	head := modulesTxt(t, "a v1.1.0: .", "b v1.1.0: .")
	got := golang.NewVendor(fork, head, fork, head).Folders([]string{
		"vendor/example.com/b/1.go", "vendor/example.com/a/1.go", "vendor/example.com/b/2.go",
	})
	if len(got) != 2 || got[0].Module != "example.com/b" || len(got[0].Paths) != 2 || got[1].Module != "example.com/a" {
		t.Errorf("folders: %+v", got)
	}
	// A tree in which vendoring begins.
	for _, f := range golang.NewVendor(nil, head, nil, head).Folders([]string{"vendor/example.com/a/1.go"}) {
		if f.Take != golang.Theirs || f.Tool != "" {
			t.Errorf("vendoring begins: %+v", f)
		}
	}
}

// The head's version has the files that its fork had, and ours has others.
func TestFoldersThatTheHeadLeavesAsTheyWere(t *testing.T) {
	fork := modulesTxt(t, "a v1.0.0: .", "b v1.0.0: .", "c v1.0.0: .")
	head := modulesTxt(t, "a v1.2.0: .", "b v1.2.0: .", "c v1.0.0: .")
	ours := modulesTxt(t, "a v1.1.0: .", "b v1.0.0: .", "c v1.1.0: .")
	result := modulesTxt(t, "a v1.2.0: .", "b v1.2.0: .", "c v1.1.0: .")
	got := golang.NewVendor(fork, head, ours, result).Folders(nil)
	if len(got) != 1 || got[0].Module != "example.com/a" || got[0].Take != golang.Theirs || got[0].Paths != nil {
		t.Errorf("folders: %+v", got)
	}
}

func TestDrops(t *testing.T) {
	before := modulesTxt(t, "a v1.0.0: . p", "b v1.0.0: .")
	for name, c := range map[string]struct {
		after *lockfile.Doc
		want  bool
	}{
		"the same":        {before, false},
		"more":            {modulesTxt(t, "a v1.1.0: . p q", "b v1.0.0: .", "c v1.0.0: ."), false},
		"a package less":  {modulesTxt(t, "a v1.0.0: .", "b v1.0.0: ."), true},
		"a module less":   {modulesTxt(t, "a v1.0.0: . p"), true},
		"another version": {modulesTxt(t, "a v1.1.0: . p", "b v1.0.0: ."), false},
	} {
		if got := golang.Drops(before, c.after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFoldersBelowTheRoot(t *testing.T) {
	text := "# example.com/a v1.0.0\n## explicit\nexample.com/a\n"
	fork := parse(t, "x/vendor/modules.txt", text, nil)
	head := parse(t, "x/vendor/modules.txt", lines(text, "v1.0.0", "v1.1.0"), nil)
	got := golang.NewVendor(fork, head, fork, head).Folders([]string{"vendor/example.com/a/1.go", "x/vendor/example.com/a/1.go"})
	if len(got) != 1 || got[0].Dir != "x/vendor/example.com/a" || got[0].Take != golang.Theirs {
		t.Errorf("folders: %+v", got)
	}
}

// One update moves k, which no longer needs i/p, and drops that package; another
// one moves o, which begins to need it. Every dependency file merges.
func TestCheckImports(t *testing.T) {
	d := modulesTxt(t, "k v1.1.0: .", "o v1.1.0: .", "i v1.0.0: .")
	tree := files{
		"go.mod":                         "module example.com/m\n\ngo 1.21\n",
		"vendor/modules.txt":             encode(t, d),
		"vendor/example.com/k/k.go":      "package k\n\nimport (\n\t\"fmt\"\n\t\"example.com/i\"\n)\n",
		"vendor/example.com/o/o.go":      "package o\n\nimport _ \"example.com/i/p\"\nimport \"example.com/m/own\"\n",
		"vendor/example.com/o/again.go":  "package o\n\nimport _ \"example.com/i/p\"\n",
		"vendor/example.com/o/o_test.go": "package o\n\nimport \"example.com/t\"\n",
		"vendor/example.com/o/data/x.go": "package x\n\nimport \"example.com/t\"\n",
		"vendor/example.com/o/bad.go":    "no Go at all",
		"vendor/example.com/o/README":    "import \"example.com/t\"",
		"o/o.go":                         "package o\n\nimport \"example.com/t\"\n",
	}
	var changed []string
	for p := range tree {
		changed = append(changed, p)
	}
	slices.Sort(changed)
	got := golang.CheckImports(d, tree, append(changed, "vendor/example.com/o/gone.go"))
	if len(got) != 1 || got[0].Code != lockfile.Missing || got[0].Name != "example.com/i/p" || got[0].By != "example.com/o" {
		t.Errorf("found %v", got)
	}
}
