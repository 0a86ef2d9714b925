package golang_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

func TestVendorIsWrittenAsItWas(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "",
		"modules": `# example.com/a v1.0.0
## explicit; go 1.17
example.com/a
example.com/a/sub
# example.com/b v0.0.0-20240101000000-0123456789ab
## explicit
# example.com/c v1.0.0 => ./c
## explicit
example.com/c
# example.com/d v1.0.0 => example.com/f v1.2.0
## go 1.21
example.com/d
# example.com/c => ./c
# example.com/e v1.0.0 => ./e
`,
		"before Go 1.14":   "# example.com/a v1.0.0\nexample.com/a\n",
		"of a workspace":   "## workspace\n# example.com/a v1.0.0\n## explicit\nexample.com/a\n",
		"no final newline": "# example.com/a v1.0.0\n## explicit\nexample.com/a",
		"empty lines":      "\n# example.com/a v1.0.0\n\n## explicit\nexample.com/a\n\n",
	} {
		t.Run(name, func(t *testing.T) { parse(t, "vendor/modules.txt", text, nil) })
	}
}

func TestVendorRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"conflict markers":   {"# example.com/a v1.0.0\n>>>>>>> x\n", "line 2: "},
		"garbage":            {"# example.com/a v1.0.0\nhello world\n", "line 2: neither a module nor a package"},
		"no version":         {"# example.com/a\n", "line 1: not a module"},
		"too many words":     {"# example.com/a v1.0.0 => ./a v1.0.0 more\n", "line 1: not a module"},
		"a package alone":    {"example.com/a\n", "line 1: neither a module nor a package"},
		"a module again":     {"# example.com/a v1.0.0\n## explicit\n# example.com/a v1.1.0\n## explicit\n", `line 3: "module example.com/a" stands twice`},
		"a replacement, too": {"# example.com/a => ./a\n# example.com/a => ./b\n", `line 2: "replace example.com/a" stands twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseAs("vendor/modules.txt", c.text, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if strings.Contains(c.want, "twice") && !errors.As(err, new(*lockfile.DuplicateError)) {
				t.Error("not recognised as a duplicate")
			}
		})
	}
}

// vendoredTree is a module with a vendor folder in order.
func vendoredTree() files {
	return files{
		"go.mod": `module example.com/m

go 1.21

require (
	example.com/a v1.0.0
	example.com/b v1.0.0
)

require example.com/i v1.0.0 // indirect
`,
		"vendor/modules.txt": `# example.com/a v1.0.0
## explicit; go 1.17
example.com/a
example.com/a/p
# example.com/b v1.0.0
## explicit
example.com/b
# example.com/i v1.0.0
## explicit; go 1.18
example.com/i
# example.com/j v1.0.0
## go 1.18
example.com/j
`,
		"go.sum": "",
	}
}

func change(f files, pairs ...string) files {
	out := files{}
	for p, text := range f {
		out[p] = lines(text, pairs...)
	}
	return out
}

func TestVendorMerges(t *testing.T) {
	const vendor = "vendor/modules.txt"
	base := vendoredTree()
	dropI := []string{"\nrequire example.com/i v1.0.0 // indirect\n", "", "# example.com/i v1.0.0\n## explicit; go 1.18\nexample.com/i\n", ""}
	for name, c := range map[string]struct {
		heads []files
		want  string // of modules.txt; empty: a conflict
		tool  string // what the conflict says
	}{
		"two modules": {
			heads: []files{change(base, "a v1.0.0", "a v1.1.0"), change(base, "b v1.0.0", "b v1.2.0")},
			want:  lines(base[vendor], "a v1.0.0", "a v1.1.0", "b v1.0.0", "b v1.2.0"),
		},
		"the higher version, with its packages": {
			heads: []files{
				change(base, "a v1.0.0", "a v1.1.0", "example.com/a/p\n", "example.com/a/p\nexample.com/a/q\n", "go 1.17", "go 1.20"),
				change(base, "a v1.0.0", "a v1.0.1", "example.com/a/p\n", ""),
			},
			want: lines(base[vendor], "a v1.0.0", "a v1.1.0", "example.com/a/p\n", "example.com/a/p\nexample.com/a/q\n", "go 1.17", "go 1.20"),
		},
		"one moves it, the other vendors more of it": {
			heads: []files{
				change(base, "a v1.0.0", "a v1.1.0"),
				change(base, "b v1.0.0", "b v1.2.0", "example.com/a/p\n", "example.com/a/p\nexample.com/a/q\n"),
			},
			tool: "example.com/a/q",
		},
		"both vendor more of one version": {
			heads: []files{
				change(base, "b v1.0.0", "b v1.2.0", "example.com/a/p\n", "example.com/a/p\nexample.com/a/q\n"),
				change(base, "i v1.0.0", "i v1.2.0", "example.com/a/p\n", "example.com/a/o\nexample.com/a/p\n"),
			},
			want: lines(base[vendor], "b v1.0.0", "b v1.2.0", "i v1.0.0", "i v1.2.0", "example.com/a/p\n", "example.com/a/o\nexample.com/a/p\nexample.com/a/q\n"),
		},
		"what one drops stays, and is asked for": {
			heads: []files{change(base, dropI...), change(base, "a v1.0.0", "a v1.1.0")},
			want:  lines(base[vendor], "a v1.0.0", "a v1.1.0"),
		},
		"what both drop goes": {
			heads: []files{change(base, dropI...), change(base, append(dropI, "a v1.0.0", "a v1.1.0")...)},
			want:  lines(base[vendor], append(dropI, "a v1.0.0", "a v1.1.0")...),
		},
		"one no longer asks for it itself": {
			heads: []files{
				change(base, dropI[0], dropI[1], "example.com/i v1.0.0\n## explicit; go 1.18", "example.com/i v1.0.0\n## go 1.18"),
				change(base, "a v1.0.0", "a v1.1.0"),
			},
			want: lines(base[vendor], "a v1.0.0", "a v1.1.0"), // go.mod keeps the line
		},
		"both add, in order": {
			heads: []files{
				change(base, "# example.com/j v", "# example.com/ib v1.0.0\n## go 1.18\nexample.com/ib\n# example.com/j v"),
				change(base, "# example.com/j v", "# example.com/ia v1.0.0\n## go 1.18\nexample.com/ia\n# example.com/j v"),
			},
			want: lines(base[vendor], "# example.com/j v", "# example.com/ia v1.0.0\n## go 1.18\nexample.com/ia\n# example.com/ib v1.0.0\n## go 1.18\nexample.com/ib\n# example.com/j v"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var updates []update
			for i, h := range c.heads {
				updates = append(updates, update{name: string(rune('A' + i)), fork: base, head: h})
			}
			for range 2 {
				m := fold(t, base, updates)
				if c.want == "" {
					if x := m.conflicts[updates[1].name]; len(x) != 1 || !strings.Contains(x[0].Tool, c.tool) {
						t.Errorf("conflicts: %+v", m.conflicts)
					}
				} else {
					for _, x := range m.conflicts {
						t.Error(x)
					}
					if m.files[vendor] != c.want {
						t.Errorf("got\n%s\nwant\n%s", m.files[vendor], c.want)
					}
					for _, p := range m.fresh(base) {
						if p.Path == vendor {
							t.Error(p)
						}
					}
				}
				slices.Reverse(updates) // in the other order the same
			}
		})
	}
}

// One bot does not vendor: what go.mod keeps is marked as asked for all the same.
func TestVendorKeepsWhatModKeeps(t *testing.T) {
	base := vendoredTree()
	drops := change(base, "\nrequire example.com/i v1.0.0 // indirect\n", "", "# example.com/i v1.0.0\n## explicit; go 1.18\nexample.com/i\n", "")
	mod := change(base, "a v1.0.0", "a v1.1.0")
	mod["vendor/modules.txt"] = base["vendor/modules.txt"]
	m := fold(t, base, []update{{"drops", base, drops}, {"go.mod only", base, mod}})
	if want := lines(base["vendor/modules.txt"], "; go 1.18\nexample.com/i\n", "\n"); m.files["vendor/modules.txt"] != want {
		t.Errorf("got\n%s\nwant\n%s", m.files["vendor/modules.txt"], want)
	}
}

func TestVendorCheck(t *testing.T) {
	base := vendoredTree()
	for name, c := range map[string]struct {
		pairs []string // changes go.mod and modules.txt
		want  []string
	}{
		"sound":                            {nil, nil},
		"go.mod moved alone":               {[]string{"\texample.com/a v1.0.0", "\texample.com/a v1.1.0"}, []string{"example.com/a v1.1.0 is asked for by go.mod and is not marked as explicit here; run go mod vendor", "example.com/a v1.0.0 is marked as explicit and go.mod does not ask for it; run go mod vendor"}},
		"not marked":                       {[]string{"## explicit\nexample.com/b", "example.com/b"}, []string{"example.com/b v1.0.0 is asked for by go.mod and is not marked as explicit here; run go mod vendor"}},
		"marked":                           {[]string{"## go 1.18\nexample.com/j", "## explicit; go 1.18\nexample.com/j"}, []string{"example.com/j v1.0.0 is marked as explicit and go.mod does not ask for it; run go mod vendor"}},
		"marked and gives no package":      {[]string{"## go 1.18\nexample.com/j\n", "## explicit; go 1.18\n"}, nil},
		"before Go 1.14":                   {[]string{"go 1.21", "go 1.13", "## explicit\n", "", "## explicit; go 1.17\n", "", "## explicit; go 1.18\n", ""}, nil},
		"before Go 1.14, another version":  {[]string{"go 1.21", "go 1.13", "## explicit\n", "", "## explicit; go 1.17\n", "", "## explicit; go 1.18\n", "", "\texample.com/a v1.0.0", "\texample.com/a v1.1.0"}, []string{"example.com/a v1.1.0 is asked for by go.mod, and v1.0.0 is vendored; run go mod vendor"}},
		"replaced":                         {[]string{"require (", "replace example.com/a => example.com/f v1.0.0\n\nrequire (", "# example.com/a v1.0.0\n", "# example.com/a v1.0.0 => example.com/f v1.0.0\n", "## go 1.18\nexample.com/j\n", "## go 1.18\nexample.com/j\n# example.com/a => example.com/f v1.0.0\n"}, nil},
		"replaced there alone":             {[]string{"require (", "replace example.com/a => example.com/f v1.0.0\n\nrequire ("}, []string{"example.com/a is replaced in go.mod and not here; run go mod vendor"}},
		"replaced here alone":              {[]string{"# example.com/a v1.0.0\n", "# example.com/a v1.0.0 => example.com/f v1.0.0\n"}, []string{"example.com/a is replaced here and not in go.mod; run go mod vendor"}},
		"replaced in two ways":             {[]string{"require (", "replace example.com/a v1.0.0 => example.com/f v1.1.0\n\nrequire (", "# example.com/a v1.0.0\n", "# example.com/a v1.0.0 => example.com/f v1.0.0\n"}, []string{"example.com/a is replaced by example.com/f v1.1.0 in go.mod and by example.com/f v1.0.0 here; run go mod vendor"}},
		"a workspace's is its own measure": {[]string{"# example.com/a v1.0.0\n## explicit; go 1.17", "## workspace\n# example.com/a v1.0.0\n## go 1.17"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range problems(change(base, c.pairs...)) {
				if p.Path == "vendor/modules.txt" {
					got = append(got, strings.TrimPrefix(p.String(), "vendor/modules.txt: "))
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
