package npmlock

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// Any pull requests that are sound alone are sound together, but for peers:
// these can contradict each other.
func TestMergesAreSound(t *testing.T) {
	formats := formats()
	out, n := os.Getenv(envOut), 0
	for _, version := range []int{3, 2, 1} {
		for _, peers := range []bool{false, true} {
			if version == 1 && peers {
				continue // npm 6 did not install peers
			}
			t.Run(fmt.Sprintf("v%d, peers %v", version, peers), rapid.MakeCheck(func(rt *rapid.T) {
				w := newWorld(rt, peers)
				base := w.drawProject()
				fork := newTree(t, formats, w.files(base, version))
				known := fork.problems()
				ours := fork
				for range rapid.IntRange(1, 4).Draw(rt, "heads") {
					p := w.drawHead(base)
					head := newTree(t, formats, w.files(p, version))
					for _, q := range head.problems() {
						if !q.Soft {
							rt.Fatalf("the head alone: %s\n%s", q, head.files["package-lock.json"])
						}
					}
					for id, q := range head.problems() {
						known[id] = q
					}
					next, conflicts := step(ours, fork, head, head.Paths())
					if len(conflicts) > 0 {
						continue // two requirements that cannot be ordered
					}
					for id, q := range next.problems() {
						if _, ok := known[id]; ok || q.Soft && q.Code != lockfile.Orphan || peers && q.Code == lockfile.PeerUnmet {
							continue
						}
						if deepest(next) >= modules.MostNested-1 {
							rt.Skip("a circle that npm would cut with a link")
						}
						rt.Fatalf("%s %s\nbase %s\nours %s\nhead %s\nresult %s", q.Code, q, fork.files["package-lock.json"], ours.files["package-lock.json"], head.files["package-lock.json"], next.files["package-lock.json"])
					}
					checkFlags(rt, next)
					ours = next
				}
				if out != "" {
					n++
					write(t, filepath.Join(out, fmt.Sprintf("%04d", n)), ours.files, nil)
				}
			}))
		}
	}
}

func deepest(x *tree) (n int) {
	for _, k := range x.Doc("package-lock.json").Keys() {
		n = max(n, modules.Depth(k))
	}
	return n
}

func checkFlags(rt *rapid.T, x *tree) {
	d := x.Doc("package-lock.json")
	old := syntax(d).version == 1
	for n, f := range modules.Derive(d, x) {
		if f = f.Shown(); n.Key != "" && !old && data(n).Flags != f {
			rt.Fatalf("%s has the flags %+v and is %+v\n%s", n.Key, data(n).Flags, f, x.files["package-lock.json"])
		}
	}
	if syntax(d).version != 2 {
		return
	}
	w := &shadowWriter{Judge: modules.Judge{Ranges: npm.NewRanges()}, doc: d, less: npm.NewLess()}
	tree := shadows(d)
	for _, key := range tree.order {
		if got := d.Node(key); got == nil || string(got.Raw) != string(w.write(key, tree.by[key]).Raw) {
			rt.Fatalf("the legacy tree has not %s\n%s", key, x.files["package-lock.json"])
		}
	}
	d.Nodes(func(n *lockfile.Node) {
		if _, ok := tree.by[n.Key]; !ok && modules.Within(n.Key, legacyKey) && n.Key != legacyKey {
			rt.Fatalf("the legacy tree has %s", n.Key)
		}
	})
}

// Check finds what is spoilt, and nothing else: a dropped entry, another
// version, a need of what is not there.
func TestCheckFindsWhatIsSpoilt(t *testing.T) {
	formats := formats()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.IntRange(1, 3).Draw(rt, "version")
		w := newWorld(rt, version > 1 && rapid.Bool().Draw(rt, "peers"))
		p := w.drawProject()
		for range rapid.IntRange(0, 2).Draw(rt, "spoilings") {
			keys := slices.Sorted(maps.Keys(p.locked))
			if len(keys) == 0 {
				break
			}
			key := rapid.SampledFrom(keys).Draw(rt, "path")
			switch rapid.IntRange(0, 2).Draw(rt, "how") {
			case 0:
				for k := range p.locked {
					if modules.Within(k, key) {
						delete(p.locked, k)
					}
				}
			case 1:
				p.locked[key] = rapid.SampledFrom(worldVersions).Draw(rt, "version")
			case 2:
				p.needs[rapid.SampledFrom(w.names).Draw(rt, "name")] = need{w.drawReq(), lockfile.Required}
			}
		}
		x := newTree(t, formats, w.files(p, version))
		at, name, _, unmet := w.unmet(p)
		found := false
		for _, q := range x.problems() {
			found = found || q.Code != lockfile.Orphan
		}
		if found != unmet {
			rt.Fatalf("found %v, unmet %v (%s needs %s)\n%s\n%s", found, unmet, at, name, x.files["package.json"], x.files["package-lock.json"])
		}
	})
}

// merge(x, x, y) = y, and merge(x, y, y) = y.
func TestMergeOfOneSide(t *testing.T) {
	formats := formats()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.IntRange(1, 3).Draw(rt, "version")
		w := newWorld(rt, version > 1 && rapid.Bool().Draw(rt, "peers"))
		base := w.drawProject()
		fork, head := newTree(t, formats, w.files(base, version)), newTree(t, formats, w.files(w.drawHead(base), version))
		for _, ours := range []*tree{fork, head} {
			got, conflicts := step(ours, fork, head, head.Paths())
			if len(conflicts) > 0 {
				rt.Fatal(conflicts)
			}
			for p, want := range head.files {
				if string(got.files[p]) != string(want) {
					rt.Fatalf("%s: %s\n%s", p, firstDifference(want, got.files[p]), got.files[p])
				}
			}
		}
	})
}

// The order of pull requests that have nothing to do with each other does not
// matter to a single byte.
func TestDisjointChangesCommute(t *testing.T) {
	formats := formats()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, false)
		for _, versions := range w.packages {
			for v := range versions {
				versions[v] = nil
			}
		}
		version := rapid.IntRange(1, 3).Draw(rt, "version")
		base := w.drawProject()
		fork := newTree(t, formats, w.files(base, version))
		var heads []*tree
		for _, name := range rapid.Permutation(w.names).Draw(rt, "names")[:rapid.IntRange(2, len(w.names)).Draw(rt, "heads")] {
			p := base.clone()
			if n, ok := p.needs[name]; ok && rapid.Bool().Draw(rt, "remove") {
				delete(p.needs, name)
			} else {
				p.needs[name] = need{w.drawReq(), n.kind}
			}
			heads = append(heads, newTree(t, formats, w.files(w.install(p), version)))
		}
		var first *tree
		for range 3 {
			ours := fork
			for _, head := range heads {
				next, conflicts := step(ours, fork, head, head.Paths())
				if len(conflicts) > 0 {
					rt.Fatal(conflicts)
				}
				ours = next
			}
			if first == nil {
				first = ours
			}
			for p, want := range first.files {
				if string(ours.files[p]) != string(want) {
					rt.Fatalf("%s: %s", p, firstDifference(want, ours.files[p]))
				}
			}
			heads = slices.Clone(rapid.Permutation(heads).Draw(rt, "order"))
		}
	})
}
