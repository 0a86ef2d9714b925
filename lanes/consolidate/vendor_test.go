package consolidate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// vendoredGo is a Go module that vendors example.com/a and example.com/b at
// these versions. Every module has two files, which both say its version, so
// that half of each would show.
func vendoredGo(a, b string) gittest.Files {
	f := gittest.Files{
		"go.mod": fmt.Sprintf("module example.com/app\n\ngo 1.22\n\nrequire (\n\texample.com/a %s\n\texample.com/b %s\n)\n", a, b),
	}
	var sum, list strings.Builder
	for _, m := range [][2]string{{"a", a}, {"b", b}} {
		name, v := "example.com/"+m[0], m[1]
		fmt.Fprintf(&sum, "%s %s h1:%s=\n%s %s/go.mod h1:%s=\n", name, v, hash(name+v), name, v, hash(name+v+"mod"))
		fmt.Fprintf(&list, "# %s %s\n## explicit; go 1.22\n%s\n", name, v, name)
		f["vendor/"+name+"/one.go"] = "package " + m[0] + "\n\nconst One = \"" + v + "\"\n"
		f["vendor/"+name+"/two.go"] = "package " + m[0] + "\n\n// padding\n\n\n\n\n\nconst Two = \"" + v + "\"\n"
	}
	f["go.sum"], f["vendor/modules.txt"] = sum.String(), list.String()
	return f
}

func hash(s string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 43)
	n := 7
	for i := range out {
		for _, c := range s {
			n = (n*31 + int(c) + i) % 100_003
		}
		out[i] = digits[n%len(digits)]
	}
	return string(out)
}

// Two modules, each with its folder: both folders arrive whole.
func TestVendoredFoldersComeWhole(t *testing.T) {
	s := newStory(t, vendoredGo("v1.0.0", "v1.0.0"))
	s.bot("go_modules/example.com/a-1.1.0", "Bump example.com/a from 1.0.0 to 1.1.0", vendoredGo("v1.1.0", "v1.0.0"))
	s.bot("go_modules/example.com/b-1.1.0", "Bump example.com/b from 1.0.0 to 1.1.0", vendoredGo("v1.0.0", "v1.1.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"go_modules/example.com/a-1.1.0": "merged", "go_modules/example.com/b-1.1.0": "merged"})
	for path, want := range vendoredGo("v1.1.0", "v1.1.0") {
		got := s.result(path)
		if path == "go.sum" { // it keeps what others might need, and says so
			got = strings.Join(strings.Fields(got), " ")
			for _, l := range strings.Split(strings.TrimSpace(want.(string)), "\n") {
				if !strings.Contains(got, l) {
					t.Errorf("go.sum lacks %q", l)
				}
			}
			continue
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
		}
	}
}

// Two bumps of one module beside others: the folder is the higher one's, whole,
// not half of each, though git would merge the files.
func TestVendoredFolderIsTheWinners(t *testing.T) {
	s := newStory(t, vendoredGo("v1.0.0", "v1.0.0"))
	low := vendoredGo("v1.1.0", "v1.1.0")
	low["vendor/example.com/a/extra.go"] = "package a\n" // which 1.2.0 has no more
	s.bot("go_modules/group", "Bump the group with 2 updates", low)
	s.bot("go_modules/example.com/a-1.2.0", "Bump example.com/a from 1.0.0 to 1.2.0", vendoredGo("v1.2.0", "v1.0.0"))
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"go_modules/group": "merged", "go_modules/example.com/a-1.2.0": "merged"})
	for path, want := range vendoredGo("v1.2.0", "v1.1.0") {
		if path != "go.sum" && s.result(path) != want {
			t.Errorf("%s:\n%s\nwant:\n%s", path, s.result(path), want)
		}
	}
	if names := s.Git("ls-tree", "-r", "--name-only", consolidate.DefaultInto); strings.Contains(names, "extra.go") {
		t.Errorf("a file of the lower version is left:\n%s", names)
	}
}

// Vendored files that change while their module stays: nobody but go mod vendor
// knows what that is.
func TestVendoredFilesWithoutAVersion(t *testing.T) {
	s := newStory(t, vendoredGo("v1.0.0", "v1.0.0"))
	s.bot("go_modules/example.com/a-1.1.0", "Bump example.com/a from 1.0.0 to 1.1.0", vendoredGo("v1.1.0", "v1.0.0"))
	patched := vendoredGo("v1.0.0", "v1.0.0")
	patched["vendor/example.com/b/one.go"] = "package b\n\nconst One = \"patched\"\n"
	s.bot("go_modules/example.com/b-patched", "Patch b", patched)
	r := s.run(consolidate.Options{})
	wantOutcomes(t, r, map[string]string{"go_modules/example.com/a-1.1.0": "merged", "go_modules/example.com/b-patched": "left_out needs_tool"})
}

// One update moves a and drops the package b/more, which only the old a imported;
// another one moves c, which begins to import it. Every dependency file merges,
// and the whole would not build: whichever comes second is left out.
func TestVendoredImports(t *testing.T) {
	tree := func(a, c, more string) gittest.Files {
		f := gittest.Files{
			"go.mod":                    fmt.Sprintf("module example.com/app\n\ngo 1.22\n\nrequire (\n\texample.com/a %s\n\texample.com/b v1.0.0\n\texample.com/c %s\n)\n", a, c),
			"vendor/example.com/a/a.go": "package a\n\nconst V = \"" + a + "\"\n",
			"vendor/example.com/b/b.go": "package b\n",
			"vendor/example.com/c/c.go": "package c\n\nconst V = \"" + c + "\"\n",
			"vendor/modules.txt":        fmt.Sprintf("# example.com/a %s\n## explicit; go 1.22\nexample.com/a\n# example.com/b v1.0.0\n## explicit; go 1.22\nexample.com/b\n%s# example.com/c %s\n## explicit; go 1.22\nexample.com/c\n", a, more, c),
		}
		if more != "" {
			f["vendor/example.com/b/more/more.go"] = "package more\n"
			if a == "v1.0.0" {
				f["vendor/example.com/a/a.go"] = "package a\n\nimport _ \"example.com/b/more\"\n"
			}
			if c != "v1.0.0" {
				f["vendor/example.com/c/c.go"] = "package c\n\nimport _ \"example.com/b/more\"\n"
			}
		} else {
			f["vendor/example.com/b/more/more.go"] = nil // deleted
		}
		return f
	}
	for _, order := range [][]string{{"a", "c"}, {"c", "a"}} {
		t.Run(order[0]+" first", func(t *testing.T) {
			const more = "example.com/b/more\n"
			heads := map[string]gittest.Files{"a": tree("v1.1.0", "v1.0.0", ""), "c": tree("v1.0.0", "v1.1.0", more)}
			s := newStory(t, tree("v1.0.0", "v1.0.0", more))
			for i, name := range order {
				s.bot(fmt.Sprintf("go_modules/%d-%s", i, name), "Bump example.com/"+name+" from 1.0.0 to 1.1.0", heads[name])
			}
			r := s.run(consolidate.Options{})
			wantOutcomes(t, r, map[string]string{"go_modules/0-" + order[0]: "merged", "go_modules/1-" + order[1]: "left_out incompatible"})
		})
	}
}
