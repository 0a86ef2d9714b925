package pnpm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// universe is a small registry: what every version of every package needs.
type universe struct {
	needs map[string][]string // by name@version
	peers map[string][]string // by name
	dev   map[string]bool
	major byte // of the lockfile
}

// ladder are the versions of what can be bumped.
var ladder = []string{"1.0.0", "1.1.0", "2.0.0"}

const wanted = "extra" // an optional peer that nobody provides

// project is which version of every package is locked.
type project map[string]string

func drawUniverse(t *rapid.T, major byte) (universe, []string) {
	u := universe{needs: map[string][]string{}, peers: map[string][]string{"react-dom": {"react"}}, dev: map[string]bool{}, major: major}
	pool := []string{"react", "react-dom", wanted}
	var direct []string
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		direct = append(direct, name)
		u.dev[name] = rapid.Bool().Draw(t, "dev")
		u.peers[name] = rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 2, rapid.ID).Draw(t, "peers")
		for _, v := range ladder {
			for q := range 6 {
				if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					u.needs[name+"@"+v] = append(u.needs[name+"@"+v], fmt.Sprintf("q%d", q))
				}
			}
		}
	}
	for i := range 6 {
		name := fmt.Sprintf("q%d", i)
		u.peers[name] = rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 2, rapid.ID).Draw(t, "peers")
		for q := i + 1; q < 6; q++ {
			if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				u.needs[name+"@1.0.0"] = append(u.needs[name+"@1.0.0"], fmt.Sprintf("q%d", q))
			}
		}
	}
	return u, append(direct, "react", "react-dom")
}

// bump raises some of the packages.
func bump(t *rapid.T, p project, names []string) project {
	out := maps.Clone(p)
	for _, n := range names {
		at := slices.Index(ladder, p[n])
		out[n] = ladder[rapid.IntRange(at, len(ladder)-1).Draw(t, n)]
	}
	return out
}

// both is what a maintainer wants of two updates.
func both(a, b project) project {
	out := maps.Clone(a)
	for n, v := range b {
		out[n] = max(out[n], v)
	}
	return out
}

// writer writes a project's files as pnpm does.
type writer struct {
	universe
	project
	b bytes.Buffer
}

func (w *writer) version(name string) string {
	if v := w.project[name]; v != "" {
		return v
	}
	return "1.0.0"
}
func (w *writer) needsOf(name string) []string { return w.needs[name+"@"+w.version(name)] }

// met are the peers that go into a package's name, and open those that nobody meets.
func (w *writer) met(name string) (met, open map[string]bool) {
	met, open = map[string]bool{}, map[string]bool{}
	for _, p := range w.peers[name] {
		if p == wanted {
			open[p] = true
		} else {
			met[p] = true
		}
	}
	for _, n := range w.needsOf(name) {
		m, o := w.met(n)
		maps.Copy(met, m)
		maps.Copy(open, o)
	}
	return met, open
}

func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

func (w *writer) suffix(name string) string {
	met, _ := w.met(name)
	var list []string
	for _, p := range sorted(met) {
		s := p + "@" + w.version(p)
		if w.major == '9' {
			s += w.suffix(p)
		}
		list = append(list, s)
	}
	sort.Strings(list)
	switch {
	case len(list) == 0:
		return ""
	case w.major == '5':
		s := strings.Join(list, "+")
		if len(s) > recipes[0].limit {
			s = recipes[0].make(s)
		}
		return "_" + s
	}
	return "(" + strings.Join(list, ")(") + ")"
}

func (w *writer) ref(name string) string { return w.version(name) + w.suffix(name) }
func (w *writer) id(name string) string {
	return map[byte]string{'5': "/" + name + "/", '6': "/" + name + "@", '9': name + "@"}[w.major] + w.ref(name)
}
func (w *writer) f(format string, a ...any) { fmt.Fprintf(&w.b, format, a...) }

func (w *writer) reach(groups ...bool) map[string]bool {
	out := map[string]bool{}
	var walk func(n string)
	walk = func(n string) {
		if out[n] {
			return
		}
		out[n] = true
		for _, x := range w.needsOf(n) {
			walk(x)
		}
		for _, p := range w.peers[n] {
			if p != wanted {
				walk(p)
			}
		}
	}
	for n := range w.project {
		if slices.Contains(groups, w.dev[n]) {
			walk(n)
		}
	}
	return out
}

func (w *writer) what(name string) {
	w.f("    resolution: {integrity: sha512-%s%s==}\n", name, w.version(name))
	if len(w.peers[name]) > 0 {
		w.f("    peerDependencies:\n")
		for _, p := range slices.Sorted(slices.Values(w.peers[name])) {
			w.f("      %s: '*'\n", p)
		}
		if slices.Contains(w.peers[name], wanted) {
			w.f("    peerDependenciesMeta:\n      %s:\n        optional: true\n", wanted)
		}
	}
}

func (w *writer) how(name string) {
	deps := append([]string(nil), w.needsOf(name)...)
	for _, p := range w.peers[name] {
		if p != wanted {
			deps = append(deps, p)
		}
	}
	sort.Strings(deps)
	if len(deps) > 0 {
		w.f("    dependencies:\n")
		for _, d := range slices.Compact(deps) {
			w.f("      %s: %s\n", d, w.ref(d))
		}
	}
	met, open := w.met(name)
	maps.Copy(met, open)
	for _, p := range w.peers[name] {
		delete(met, p)
	}
	if len(met) > 0 {
		w.f("    transitivePeerDependencies:\n")
		for _, p := range sorted(met) {
			w.f("      - %s\n", p)
		}
	}
}

func (w *writer) lock() string {
	w.b.Reset()
	w.f("lockfileVersion: %s\n", map[byte]string{'5': "5.4", '6': "'6.0'", '9': "'9.0'"}[w.major])
	if w.major != '5' {
		w.f("\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n")
	}
	in := ""
	if w.major == '9' {
		w.f("\nimporters:\n\n  .:\n")
		in = "    "
	}
	group := func(name string, pick func(string) bool, entry func(string)) {
		var list []string
		for n := range w.project {
			if pick(n) {
				list = append(list, n)
			}
		}
		if len(list) == 0 {
			return
		}
		if w.major != '9' {
			w.f("\n")
		}
		w.f("%s%s:\n", in, name)
		sort.Strings(list)
		for _, n := range list {
			entry(n)
		}
	}
	if w.major == '5' {
		group("specifiers", func(string) bool { return true }, func(n string) { w.f("  %s: ^%s\n", n, w.version(n)) })
	}
	entry := func(n string) {
		if w.major == '5' {
			w.f("  %s: %s\n", n, w.ref(n))
			return
		}
		w.f("%s  %s:\n%s    specifier: ^%s\n%s    version: %s\n", in, n, in, w.version(n), in, w.ref(n))
	}
	group("dependencies", func(n string) bool { return !w.dev[n] }, entry)
	group("devDependencies", func(n string) bool { return w.dev[n] }, entry)
	all, prod, dev := sorted(w.reach(true, false)), w.reach(false), w.reach(true)
	w.f("\npackages:\n")
	byID := func(a, b string) int { return strings.Compare(w.id(a), w.id(b)) }
	if w.major == '9' {
		slices.SortFunc(all, func(a, b string) int { return strings.Compare(a+"@", b+"@") })
		for _, n := range all {
			w.f("\n  %s@%s:\n", n, w.version(n))
			w.what(n)
		}
		w.f("\nsnapshots:\n")
		slices.SortFunc(all, byID)
		for _, n := range all {
			w.f("\n  %s:\n", w.id(n))
			at := w.b.Len()
			w.how(n)
			if w.b.Len() == at {
				w.b.Truncate(at - 1)
				w.f(" {}\n")
			}
		}
		return w.b.String()
	}
	slices.SortFunc(all, byID)
	for _, n := range all {
		w.f("\n  %s:\n", w.id(n))
		w.what(n)
		w.how(n)
		switch {
		case !dev[n]:
			w.f("    dev: false\n")
		case !prod[n]:
			w.f("    dev: true\n")
		}
	}
	return w.b.String()
}

func (w *writer) manifest() string {
	m := map[string]map[string]string{"dependencies": {}, "devDependencies": {}}
	for n := range w.project {
		g := "dependencies"
		if w.dev[n] {
			g = "devDependencies"
		}
		m[g][n] = "^" + w.version(n)
	}
	b, _ := json.MarshalIndent(m, "", "  ")
	return string(b) + "\n"
}

func (u universe) texts(p project) map[string]string {
	w := &writer{universe: u, project: p}
	return map[string]string{"package.json": w.manifest(), "pnpm-lock.yaml": w.lock()}
}

func text(t testing.TB, f *files, path string) string {
	t.Helper()
	b, ok := f.Read(path)
	if !ok {
		t.Fatalf("%s cannot be written", path)
	}
	return string(b)
}

// What two updates of any packages give is what pnpm writes for both, byte for
// byte, in every generation of the lockfile, and in either order.
func TestMergeWritesWhatPnpmWrites(t *testing.T) {
	for _, major := range []byte("569") {
		t.Run(string(major), func(t *testing.T) {
			all := formats()
			rapid.Check(t, func(rt *rapid.T) {
				u, names := drawUniverse(rt, major)
				base := project{}
				for _, n := range names {
					base[n] = "1.0.0"
				}
				a, b := bump(rt, base, names), bump(rt, base, names)
				fork := treeOf(t, all, u.texts(base), nil)
				headA, headB := treeOf(t, all, u.texts(a), fork), treeOf(t, all, u.texts(b), fork)
				want := u.texts(both(a, b))["pnpm-lock.yaml"]
				for _, order := range [][2]*files{{headA, headB}, {headB, headA}} {
					ours, conflicts := merge(fork, fork, order[0], true)
					if len(conflicts) > 0 {
						rt.Fatalf("first: %+v", conflicts)
					}
					if got := text(t, ours, "pnpm-lock.yaml"); got != text(t, order[0], "pnpm-lock.yaml") {
						rt.Fatalf("merging one side alone changes it:\n%s", got)
					}
					ours, conflicts = merge(ours, fork, order[1], true)
					if len(conflicts) > 0 {
						rt.Fatalf("second: %+v", conflicts)
					}
					if got := text(t, ours, "pnpm-lock.yaml"); got != want {
						rt.Fatalf("base\n%s\na\n%s\nb\n%s\ngot\n%s\nwant\n%s", u.texts(base)["pnpm-lock.yaml"], u.texts(a)["pnpm-lock.yaml"], u.texts(b)["pnpm-lock.yaml"], got, want)
					}
					for _, p := range ours.problems("pnpm-lock.yaml") {
						rt.Fatalf("the check finds %s", p)
					}
				}
			})
		})
	}
}
