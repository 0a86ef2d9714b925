package golang_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A project is what the Go files of a small repository say.
type project struct {
	goLine   int
	asks     map[string]int // minor version by module
	indirect map[string]bool
	more     map[string]bool // whether a second package is vendored
}

var names = []string{"a", "b", "c/v2", "d", "e", "f", "g"}

func (p project) clone() project {
	return project{p.goLine, maps.Clone(p.asks), maps.Clone(p.indirect), maps.Clone(p.more)}
}

func (p project) version(name string) string {
	major := "v1"
	if strings.HasSuffix(name, "/v2") {
		major = "v2"
	}
	return fmt.Sprintf("%s.%d.0", major, p.asks[name])
}

// files writes go.mod, go.sum and modules.txt as Go does.
func (p project) files() files {
	var direct, indirect, sums, vendor strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.asks)) {
		id := "example.com/" + name + " " + p.version(name)
		if p.indirect[name] {
			fmt.Fprintf(&indirect, "\t%s // indirect\n", id)
		} else {
			fmt.Fprintf(&direct, "\t%s\n", id)
		}
		fmt.Fprintf(&sums, "%s h1:%s=\n%s/go.mod h1:%s=\n", id, strings.ReplaceAll(id, " ", ""), id, strings.ReplaceAll(id, " ", ""))
		fmt.Fprintf(&vendor, "# %s\n## explicit; go 1.17\nexample.com/%s\n", id, name)
		if p.more[name] {
			fmt.Fprintf(&vendor, "example.com/%s/more\n", name)
		}
	}
	block := func(lines string) string {
		if lines == "" {
			return ""
		}
		return "\nrequire (\n" + lines + ")\n"
	}
	return files{
		"go.mod":             fmt.Sprintf("module example.com/m\n\ngo 1.%d\n", p.goLine) + block(direct.String()) + block(indirect.String()),
		"go.sum":             sums.String(),
		"vendor/modules.txt": vendor.String(),
	}
}

func drawProject(t *rapid.T) project {
	p := project{rapid.IntRange(20, 22).Draw(t, "go"), map[string]int{}, map[string]bool{}, map[string]bool{}}
	for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 2, len(names), rapid.ID).Draw(t, "modules") {
		p.asks[n] = rapid.IntRange(0, 3).Draw(t, "version")
		p.indirect[n] = rapid.Bool().Draw(t, "indirect")
		p.more[n] = rapid.Bool().Draw(t, "more")
	}
	// Of each kind one that no update touches: blocks have names by their number.
	p.asks["x"], p.asks["y"], p.indirect["y"] = 0, 0, true
	return p
}

// drawUpdate changes a project as a bot does, of the modules given.
func drawUpdate(t *rapid.T, from project, modules []string) project {
	p := from.clone()
	for _, n := range modules {
		v, there := p.asks[n]
		switch change := rapid.SampledFrom([]string{"move", "mark", "drop", "none"}).Draw(t, "change of "+n); {
		case change == "none":
		case !there || change == "move":
			p.asks[n] = v + rapid.IntRange(1, 3).Draw(t, "by")
		case change == "mark":
			p.indirect[n] = !p.indirect[n]
		case change == "drop":
			delete(p.asks, n)
		}
	}
	return p
}

func TestMergeOfOneSideIsThatSide(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := drawProject(r)
		y := drawUpdate(r, x, names)
		m := fold(t, x.files(), []update{{"y", x.files(), y.files()}})
		if len(m.conflicts) > 0 {
			r.Fatal(m.conflicts)
		}
		for p, want := range y.files() {
			if m.files[p] != want {
				r.Fatalf("merge(x, x, y): %s is\n%s\nwant\n%s", p, m.files[p], want)
			}
		}
		m = fold(t, y.files(), []update{{"y", x.files(), y.files()}})
		for p, want := range y.files() {
			if m.files[p] != want {
				r.Fatalf("merge(x, y, y): %s is\n%s\nwant\n%s", p, m.files[p], want)
			}
		}
	})
}

func TestDisjointUpdatesGoInAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := drawProject(r)
		var updates []update
		parts := [][]string{names[:2], names[2:4], names[4:]}
		for i, part := range parts {
			updates = append(updates, update{fmt.Sprint(i), base.files(), drawUpdate(r, base, part).files()})
		}
		first := fold(t, base.files(), updates)
		other := fold(t, base.files(), rapid.Permutation(updates).Draw(r, "order"))
		if len(first.conflicts)+len(other.conflicts) > 0 {
			r.Fatal(first.conflicts, other.conflicts)
		}
		for p, want := range first.files {
			if other.files[p] != want {
				r.Fatalf("%s is\n%s\nand in another order\n%s", p, want, other.files[p])
			}
		}
	})
}

// Nothing that an update brings is lost, nothing goes below the base, and what
// is sound by itself is sound together.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := drawProject(r)
		var updates []update
		var heads []project
		for i := range rapid.IntRange(2, 4).Draw(r, "updates") {
			h := drawUpdate(r, base, names)
			heads = append(heads, h)
			updates = append(updates, update{fmt.Sprint(i), base.files(), h.files()})
		}
		m := fold(t, base.files(), updates)
		if len(m.conflicts) > 0 {
			r.Fatal(m.conflicts)
		}
		for _, p := range m.fresh(base.files()) {
			r.Errorf("problem: %v", p)
		}
		for _, name := range append(names, "x", "y") {
			want, all := base.asks[name], 0
			for _, h := range heads {
				if v, ok := h.asks[name]; !ok {
					all++
				} else if v > want {
					want = v
				}
			}
			got := requirement(m.files["go.mod"], "example.com/"+name)
			_, was := base.asks[name]
			if all == len(heads) {
				if got != "" && was {
					r.Errorf("all drop %s, and it is there at %s", name, got)
				}
				continue
			}
			p := project{asks: map[string]int{name: want}}
			if got != p.version(name) {
				r.Errorf("%s is at %q, want %s", name, got, p.version(name))
			}
		}
	})
}

// A spoilt result is found by the check.
func TestSpoilingsAreFound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawProject(r)
		sound := p.files()
		if found := problems(sound); len(found) > 0 {
			r.Fatal(found)
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(p.asks))).Draw(r, "module")
		id := "example.com/" + name + " " + p.version(name)
		older := "example.com/" + name + " " + strings.Replace(p.version(name), ".0", ".0-rc.1", 1)
		how := rapid.SampledFrom([]struct {
			name, path, old, new string
		}{
			{"the hash of a go.mod is dropped", "go.sum", id + "/go.mod", id + "/go.mod2"},
			{"a requirement is below what was chosen", "go.mod", id, older},
			{"a requirement stands twice", "go.mod", "\t" + id, "\t" + id + "\n\t" + id},
			{"a hash has a twin", "go.sum", id + " h1:", id + " h1:other=\n" + id + " h1:"},
			{"a mark is dropped", "vendor/modules.txt", "# " + id + "\n## explicit; ", "# " + id + "\n## "},
			{"another version is vendored", "vendor/modules.txt", "# " + id + "\n", "# " + older + "\n"},
			{"a module is vendored twice", "vendor/modules.txt", "# " + id + "\n", "# " + id + "\n# " + id + "\n"},
		}).Draw(r, "spoiling")
		spoilt := maps.Clone(sound)
		spoilt[how.path] = strings.Replace(sound[how.path], how.old, how.new, 1)
		if spoilt[how.path] == sound[how.path] {
			r.Fatalf("%s: nothing was spoilt", how.name)
		}
		hard := 0
		for _, x := range problems(spoilt) {
			if !x.Soft {
				hard++
			}
		}
		if hard == 0 {
			r.Errorf("%s: not found\n%s", how.name, spoilt[how.path])
		}
	})
}

// seeds are what fuzzing starts from.
func seeds(f *testing.F) {
	p := project{21, map[string]int{"a": 1, "c/v2": 0}, map[string]bool{"a": true}, map[string]bool{"a": true}}.files()
	for _, text := range append(slices.Collect(maps.Values(p)), mod,
		"module m\nrequire ()\nexclude (\n)\nretract [v1.0.0, v1.1.0] // x\n",
		"go 1.21\nuse (\n\t.\n)\n",
		"## workspace\n# a.b/c v1.0.0 => ./x\n## explicit\na.b/c\n\n# a.b/c => ./x\n",
	) {
		f.Add(text)
	}
}

// FuzzParse: no text makes a parser panic, and what it reads it writes back.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r\n") {
			return // the engine keeps line ends of that kind away
		}
		for _, p := range []string{"go.mod", "go.work", "go.sum", "vendor/modules.txt"} {
			d, err := parseAs(p, text, nil)
			if err != nil {
				continue
			}
			if got := encode(t, d); got != text {
				t.Errorf("%s is written as %q and was %q", p, got, text)
			}
			again := parse(t, p, text, d)
			if patch := lockfile.Diff(d, again); len(patch.Changes) > 0 {
				t.Errorf("%s differs from itself: %+v", p, patch.Changes)
			}
			problems(files{p: text, "go.mod": "module m\n\ngo 1.21\n"})
		}
	})
}

// FuzzMerge: merging any two texts loses no line that one side adds, short of a
// conflict.
func FuzzMerge(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		ours, theirs, ok := strings.Cut(text, "\x00")
		if !ok {
			ours, theirs = mod, text
		}
		for _, p := range []string{"go.mod", "go.sum", "vendor/modules.txt"} {
			o, err1 := parseAs(p, ours, nil)
			h, err2 := parseAs(p, theirs, nil)
			if err1 != nil || err2 != nil {
				continue
			}
			empty := lockfile.NewDoc(0)
			empty.Format, empty.Path = o.Format, p
			tree := files{p: ours}
			d, conflicts := lockfile.Apply(o, lockfile.Diff(empty, h), tree, tree, true)
			if len(conflicts) > 0 {
				continue
			}
			out := encode(t, d)
			again, err := parseAs(p, out, nil)
			if err != nil {
				t.Fatalf("%s merges to what cannot be read: %v\n%s", p, err, out)
			}
			for _, side := range []*lockfile.Doc{o, h} {
				side.Nodes(func(n *lockfile.Node) {
					if n.Name != "" && again.Node(n.Key) == nil && n.Key != "toolchain" && p != "go.sum" {
						t.Errorf("%s has lost %s\n%s", p, n.Key, out)
					}
				})
			}
		}
	})
}
