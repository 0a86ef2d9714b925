package golang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Two modules that stand side by side: as text they conflict in both files.
func TestRecipeNeighbours(t *testing.T) {
	base := files{
		"go.mod": `module example.com/m

go 1.21

require (
	github.com/google/uuid v1.5.0
	github.com/pkg/errors v0.9.0
)
`,
		"go.sum": `github.com/google/uuid v1.5.0 h1:1p67kYwdtXjb0gL0BPiP1Av9wiZPo5A8z2cWkTZ+eyU=
github.com/google/uuid v1.5.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
github.com/pkg/errors v0.9.0 h1:J8lpUdobwIeCI7OiSxHqEwJUKvJwicL5+3v1oe2Yb4k=
github.com/pkg/errors v0.9.0/go.mod h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=
`,
	}
	uuid := []string{"uuid v1.5.0", "uuid v1.6.0", "h1:1p67kYwdtXjb0gL0BPiP1Av9wiZPo5A8z2cWkTZ+eyU=", "h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0="}
	errs := []string{"errors v0.9.0", "errors v0.9.1", "h1:J8lpUdobwIeCI7OiSxHqEwJUKvJwicL5+3v1oe2Yb4k=", "h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4="}
	head := func(pairs []string) files {
		return files{"go.mod": lines(base["go.mod"], pairs...), "go.sum": lines(base["go.sum"], pairs...)}
	}
	m := fold(t, base, []update{{"uuid", base, head(uuid)}, {"errors", base, head(errs)}})
	if len(m.conflicts) > 0 {
		t.Fatal(m.conflicts)
	}
	for _, p := range m.fresh(base) {
		t.Error(p)
	}
	if want := lines(base["go.mod"], "uuid v1.5.0", "uuid v1.6.0", "errors v0.9.0", "errors v0.9.1"); m.files["go.mod"] != want {
		t.Errorf("got\n%s", m.files["go.mod"])
	}
	want := `github.com/google/uuid v1.5.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=
github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
github.com/pkg/errors v0.9.0/go.mod h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=
github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=
github.com/pkg/errors v0.9.1/go.mod h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=
`
	if m.files["go.sum"] != want {
		t.Errorf("got\n%s", m.files["go.sum"])
	}
}

// dependabot-core#11046, #4124: a module's update leaves the modules stale that
// build it from its folder. The problem is found whenever the other file moves,
// it is the same one however far the versions have come, and so it is the head's.
func TestDependabotCore11046StaleDependents(t *testing.T) {
	base := files{
		"go.mod":       "module example.com/m\n\ngo 1.22\n\nrequire example.com/redis v9.0.0+incompatible\n",
		"tools/go.mod": "module example.com/m/tools\n\ngo 1.22\n\nrequire (\n\texample.com/m v0.1.0\n\texample.com/redis v9.0.0+incompatible // indirect\n)\n\nreplace example.com/m => ./..\n",
	}
	moved := files{"go.mod": lines(base["go.mod"], "v9.0.0", "v9.5.0", "go 1.22", "go 1.23"), "tools/go.mod": base["tools/go.mod"]}
	tools := base.Doc("tools/go.mod")
	if reads := tools.Format.Reads; !reads(tools, "go.mod") || reads(tools, "x/go.mod") || reads(tools, "tools/go.mod") {
		t.Error("tools/go.mod is built from the module beside it, and from no other")
	}
	stale := func(f files) []string {
		var out []string
		for _, p := range tools.Format.Check(f.Doc("tools/go.mod"), f) {
			if p.Code == lockfile.OutOfSync {
				out = append(out, p.Name)
			}
		}
		return out
	}
	if got := stale(base); len(got) > 0 {
		t.Errorf("the base is in order, found %v", got)
	}
	if got := strings.Join(stale(moved), " "); got != "go example.com/redis" {
		t.Errorf("found %q", got)
	}
	// Another update raises the dependent, but not as far.
	half := files{"go.mod": base["go.mod"], "tools/go.mod": lines(base["tools/go.mod"], "redis v9.0.0", "redis v9.1.0")}
	m := fold(t, base, []update{{"root", base, moved}, {"tools", base, half}})
	for _, p := range m.fresh(base) {
		if p.Code == lockfile.OutOfSync {
			t.Errorf("held against the result, though one update alone brings it: %s", p)
		}
	}
	// And one as far as it must go mends it.
	whole := files{"go.mod": base["go.mod"], "tools/go.mod": lines(base["tools/go.mod"], "redis v9.0.0", "redis v9.5.0", "go 1.22", "go 1.23")}
	m = fold(t, base, []update{{"root", base, moved}, {"tools", base, whole}})
	if got := stale(m.files); len(got) > 0 {
		t.Errorf("mended, found %v", got)
	}
}

// Azure/draft, December 2024: one update drops hcsshim, whose version in its
// build list has become a higher one. Kept at the old version, go.mod would
// contradict what go.sum shows, and Go refuses that.
func TestSettle(t *testing.T) {
	const req = "module example.com/m\n\ngo 1.21\n\nrequire (\n\texample.com/k v1.0.0\n\texample.com/o v1.0.0\n)\n\nrequire example.com/r v0.11.4 // indirect\n"
	base := files{
		"go.mod": req,
		"go.sum": sum("k v1.0.0", "k v1.0.0/go.mod", "o v1.0.0", "o v1.0.0/go.mod", "r v0.11.4", "r v0.11.4/go.mod"),
	}
	dropped := lines(req, "k v1.0.0", "k v2.0.0+incompatible", "\nrequire example.com/r v0.11.4 // indirect\n", "")
	moved := lines(req, "o v1.0.0", "o v1.1.0")
	movedSum := sum("k v1.0.0", "k v1.0.0/go.mod", "o v1.1.0", "o v1.1.0/go.mod", "r v0.11.4", "r v0.11.4/go.mod")
	k2 := []string{"k v2.0.0+incompatible", "k v2.0.0+incompatible/go.mod", "o v1.0.0", "o v1.0.0/go.mod"}
	for name, c := range map[string]struct {
		mod, sum string // of the update that overtakes r
		other    string // go.mod of the other one
		want     string // of r in the result; empty: gone
		problem  bool
	}{
		"nobody overtakes it":       {dropped, sum(k2...), moved, "v0.11.4", false},
		"overtaken, of no use":      {dropped, sum(append(k2, "r v0.11.7/go.mod")...), moved, "", false},
		"overtaken, with its hash":  {dropped, sum(append(k2, "r v0.11.7", "r v0.11.7/go.mod")...), moved, "v0.11.7", false},
		"overtaken by an exclusion": {dropped + "\nexclude example.com/r v0.11.7\n", sum(append(k2, "r v0.11.7/go.mod")...), moved, "v0.11.4", false},
		"another one asks for it": {
			dropped, sum(append(k2, "r v0.11.7/go.mod")...),
			lines(moved, "r v0.11.4", "r v0.11.5"), "v0.11.5", true,
		},
	} {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Run(name, func(t *testing.T) {
				other := files{"go.mod": c.other, "go.sum": lines(movedSum, "r v0.11.4", "r "+requirement(c.other, "example.com/r"))}
				updates := []update{{"drops", base, files{"go.mod": c.mod, "go.sum": c.sum}}, {"moves", base, other}}
				m := fold(t, base, []update{updates[order[0]], updates[order[1]]})
				if len(m.conflicts) > 0 {
					t.Fatal(m.conflicts)
				}
				if got := requirement(m.files["go.mod"], "example.com/r"); got != c.want {
					t.Errorf("r is at %q, want %q\n%s", got, c.want, m.files["go.mod"])
				}
				if got := m.fresh(base); (len(got) > 0) != c.problem {
					t.Errorf("problems: %v", got)
				}
			})
		}
	}
}

// One update drops a requirement; another one changes go.mod and not go.sum. What
// go.mod keeps, go.sum keeps with all that goes with it.
func TestSettleKeepsWhatModKeeps(t *testing.T) {
	base := files{
		"go.mod": "module example.com/m\n\ngo 1.21\n\nrequire (\n\texample.com/o v1.0.0\n\texample.com/r v1.0.0\n)\n",
		"go.sum": sum("o v1.0.0", "o v1.0.0/go.mod", "q v1.0.0/go.mod", "r v1.0.0", "r v1.0.0/go.mod"),
	}
	drops := files{
		"go.mod": "module example.com/m\n\ngo 1.21\n\nrequire (\n\texample.com/o v1.1.0\n)\n",
		"go.sum": sum("o v1.1.0", "o v1.1.0/go.mod"),
	}
	raises := files{"go.mod": lines(base["go.mod"], "go 1.21", "go 1.22"), "go.sum": base["go.sum"]}
	updates := []update{{"drops", base, drops}, {"raises", base, raises}}
	for range 2 {
		m := fold(t, base, updates)
		if got, want := m.files["go.sum"], sum("o v1.0.0/go.mod", "o v1.1.0", "o v1.1.0/go.mod", "q v1.0.0/go.mod", "r v1.0.0", "r v1.0.0/go.mod"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		slices.Reverse(updates)
	}
	if m := fold(t, base, updates[:1]); m.files["go.sum"] != drops["go.sum"] {
		t.Errorf("alone it removes what it removes, got\n%s", m.files["go.sum"])
	}
}

// requirement is the version at which a go.mod asks for a module.
func requirement(mod, name string) string {
	for l := range strings.Lines(mod) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(l), "require "))
		if len(f) > 1 && f[0] == name {
			return f[1]
		}
	}
	return ""
}

// A base whose go.sum was stale before is left as it is.
func TestSettleLeavesTheBaseAlone(t *testing.T) {
	base := files{
		"go.mod": "module example.com/m\n\ngo 1.21\n\nrequire (\n\texample.com/o v1.0.0\n\texample.com/r v1.0.0\n)\n",
		"go.sum": sum("o v1.0.0", "o v1.0.0/go.mod", "r v1.0.0", "r v1.0.0/go.mod", "r v1.2.0", "r v1.2.0/go.mod"),
	}
	head := files{"go.mod": lines(base["go.mod"], "o v1.0.0", "o v1.1.0"), "go.sum": lines(base["go.sum"], "o v1.0.0", "o v1.1.0")}
	m := fold(t, base, []update{{"o", base, head}, {"o again", base, head}})
	if m.files["go.mod"] != head["go.mod"] {
		t.Errorf("got\n%s", m.files["go.mod"])
	}
}
