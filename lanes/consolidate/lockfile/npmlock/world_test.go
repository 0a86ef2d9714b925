package npmlock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// A world is a registry of made up packages, with an installer as simple as
// npm's was: it keeps what is locked, puts what is missing as high as it can
// stand, and prunes the rest.
type world struct {
	*rapid.T
	names    []string
	packages map[string]map[string]map[string]need // name, version, needed name
	rules    modules.Judge
}

type need struct {
	req  string
	kind lockfile.EdgeKind
}

var worldVersions = []string{"1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0"}

// newWorld draws a registry. Peers are drawn only if asked for.
func newWorld(t *rapid.T, peers bool) *world {
	w := &world{T: t, packages: map[string]map[string]map[string]need{}, rules: modules.Judge{Ranges: npm.NewRanges()}}
	for _, c := range "abcdefgh"[:rapid.IntRange(3, 8).Draw(t, "names")] {
		w.names = append(w.names, string(c))
	}
	kinds := []lockfile.EdgeKind{lockfile.Required, lockfile.Required, lockfile.Required, lockfile.Optional}
	if peers {
		kinds = append(kinds, lockfile.Peer, lockfile.PeerOptional)
	}
	for _, name := range w.names {
		w.packages[name] = map[string]map[string]need{}
		for _, v := range worldVersions {
			needs := map[string]need{}
			for range rapid.IntRange(0, 3).Draw(t, "needs") {
				if dep := rapid.SampledFrom(w.names).Draw(t, "dep"); dep != name {
					needs[dep] = need{w.drawReq(), rapid.SampledFrom(kinds).Draw(t, "kind")}
				}
			}
			w.packages[name][v] = needs
		}
	}
	return w
}

func (w *world) drawReq() string {
	return rapid.SampledFrom([]string{"^1.0.0", "^2.0.0", "^3.0.0", "1.0.0", "2.1.0", "*", ">=1.1.0 <3.0.0"}).Draw(w.T, "req")
}

// project is a manifest with what is installed for it, by path.
type project struct {
	needs  map[string]need
	locked map[string]string
}

func (p project) clone() project { return project{maps.Clone(p.needs), maps.Clone(p.locked)} }

func (w *world) drawProject() project {
	p := project{map[string]need{}, map[string]string{}}
	for range rapid.IntRange(1, 4).Draw(w.T, "direct") {
		w.ask(p)
	}
	return w.install(p)
}

func (w *world) ask(p project) {
	kind := rapid.SampledFrom([]lockfile.EdgeKind{lockfile.Required, lockfile.Required, lockfile.Dev, lockfile.Optional}).Draw(w.T, "kind")
	p.needs[rapid.SampledFrom(w.names).Draw(w.T, "name")] = need{w.drawReq(), kind}
}

// drawHead is the project after one pull request.
func (w *world) drawHead(base project) project {
	p := base.clone()
	direct := slices.Sorted(maps.Keys(p.needs))
	switch rapid.IntRange(0, 4).Draw(w.T, "change") {
	case 0: // another requirement
		name := rapid.SampledFrom(direct).Draw(w.T, "name")
		p.needs[name] = need{w.drawReq(), p.needs[name].kind}
	case 1: // one more
		w.ask(p)
	case 2: // one less
		if len(direct) > 1 {
			delete(p.needs, rapid.SampledFrom(direct).Draw(w.T, "name"))
		}
	case 3: // a locked version alone
		if keys := slices.Sorted(maps.Keys(p.locked)); len(keys) > 0 {
			delete(p.locked, rapid.SampledFrom(keys).Draw(w.T, "path"))
		}
	case 4: // all anew
		p.locked = map[string]string{}
	}
	return w.install(p)
}

// needsOf are the needs of what stands at a path.
func (w *world) needsOf(p project, at string) map[string]need {
	if at == "" {
		return p.needs
	}
	return w.packages[modules.NameOf(at)][p.locked[at]]
}

func (w *world) find(p project, dir, name string) (string, bool) {
	for {
		if _, ok := p.locked[modules.Join(dir, name)]; ok {
			return modules.Join(dir, name), true
		}
		if dir == "" {
			return "", false
		}
		dir = modules.Parent(dir)
	}
}

func (w *world) fits(name string, n need, version string) bool {
	return w.rules.Meets(name, n.req, "", version)
}

// install makes a project sound, or gives the sample up.
func (w *world) install(p project) project {
	for range 200 {
		at, name, n, ok := w.unmet(p)
		if !ok {
			w.prune(p)
			return p
		}
		version := ""
		for _, v := range worldVersions {
			if w.fits(name, n, v) {
				version = v
			}
		}
		dir := at
		if isPeer(n.kind) && at != "" {
			dir = modules.Parent(at)
		}
		place := ""
		for ; ; dir = modules.Parent(dir) {
			_, taken := p.locked[modules.Join(dir, name)]
			if taken && place != "" || taken && dir != at && !isPeer(n.kind) {
				break
			}
			if place == "" || !w.hurt(p, dir, name, version) {
				place = modules.Join(dir, name)
			}
			if dir == "" || taken {
				break
			}
		}
		if place == "" {
			w.Skip("no room")
		}
		for k := range p.locked {
			if modules.Within(k, place) {
				delete(p.locked, k)
			}
		}
		p.locked[place] = version
	}
	w.Skip("no end")
	return p
}

func isPeer(k lockfile.EdgeKind) bool { return k == lockfile.Peer || k == lockfile.PeerOptional }

// reach walks from the project to everything that it needs.
func (w *world) reach(p project, f func(at, name string, n need, to string, found bool) bool) map[string]bool {
	seen := map[string]bool{"": true}
	queue := []string{""}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		needs := w.needsOf(p, at)
		for _, name := range slices.Sorted(maps.Keys(needs)) {
			to, ok := w.find(p, at, name)
			if f != nil && !f(at, name, needs[name], to, ok) {
				return seen
			}
			if ok && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}

func (w *world) unmet(p project) (at, name string, n need, is bool) {
	w.reach(p, func(a, nm string, x need, to string, found bool) bool {
		if !found && x.kind == lockfile.PeerOptional {
			return true
		}
		inside := found && isPeer(x.kind) && a != "" && modules.Parent(to) == a
		if found && !inside && w.fits(nm, x, p.locked[to]) {
			return true
		}
		at, name, n, is = a, nm, x, true
		return false
	})
	return at, name, n, is
}

// hurt: would a package here stand in for one that somebody finds further up?
func (w *world) hurt(p project, dir, name, version string) bool {
	for at := range w.reach(p, nil) {
		n, ok := w.needsOf(p, at)[name]
		if !ok || !modules.Within(at, dir) {
			continue
		}
		if isPeer(n.kind) && at == dir && at != "" {
			return true
		}
		to, found := w.find(p, at, name)
		if !found || len(modules.Parent(to)) < len(dir) {
			if !w.fits(name, n, version) {
				return true
			}
		}
	}
	return false
}

func (w *world) prune(p project) {
	seen := w.reach(p, nil)
	for at := range p.locked {
		if !seen[at] {
			delete(p.locked, at)
		}
	}
}

// files writes a project as npm would.
func (w *world) files(p project, version int) map[string][]byte {
	entry := func(needs map[string]need, out map[string]any) map[string]any {
		for name, n := range needs {
			for _, s := range npm.Sections {
				if s.Kind == n.kind || s.Kind == lockfile.Peer && n.kind == lockfile.PeerOptional {
					if out[s.Name] == nil {
						out[s.Name] = map[string]string{}
					}
					out[s.Name].(map[string]string)[name] = n.req
				}
			}
			if n.kind == lockfile.PeerOptional {
				if out["peerDependenciesMeta"] == nil {
					out["peerDependenciesMeta"] = map[string]any{}
				}
				out["peerDependenciesMeta"].(map[string]any)[name] = map[string]bool{"optional": true}
			}
		}
		return out
	}
	manifest := w.json(entry(p.needs, map[string]any{"name": "p", "version": "1.0.0"}))
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":"p","version":"1.0.0","lockfileVersion":%d,"requires":true,"packages":{"":%s`, max(version, 2), manifest)
	less := npm.NewLess()
	keys := slices.SortedFunc(maps.Keys(p.locked), func(a, b string) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		e := entry(w.packages[modules.NameOf(k)][p.locked[k]], map[string]any{"version": p.locked[k], "integrity": modules.NameOf(k) + "@" + p.locked[k]})
		fmt.Fprintf(&b, ",%q:%s", k, w.json(e))
	}
	b.WriteString(`}`)
	if version < 3 {
		b.WriteString(`,"dependencies":{}`)
	}
	b.WriteString(`}`)
	files := map[string][]byte{"package.json": indented(manifest)}
	files["package-lock.json"] = w.complete(indented([]byte(b.String())), version, files)
	return files
}

func (w *world) json(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func indented(b []byte) []byte {
	var v json.RawMessage = b
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(out, '\n')
}

// complete writes the flags, and the legacy tree.
func (w *world) complete(text []byte, version int, files map[string][]byte) []byte {
	f := lockFormat(w.rules.Ranges, max(version, 2))
	d, err := f.Parse(text, nil)
	if err != nil {
		w.Fatal(err)
	}
	d.Format, d.Path = f, "package-lock.json"
	for n, fl := range modules.Derive(d, nil) {
		if n.Key == "" {
			continue
		}
		c, ok := withValue(n, writeFlags(data(n), fl.Shown()))
		if !ok {
			w.Fatal(n.Key)
		}
		d.Set(c, "")
	}
	if version < 3 {
		s := &shadowWriter{Judge: w.rules, doc: d, less: f.Less}
		tree := shadows(d)
		for _, key := range tree.order {
			d.Set(s.write(key, tree.by[key]), behind(d, key))
		}
	}
	if version == 1 {
		d.Node("#lockfileVersion").Raw[len(d.Node("#lockfileVersion").Raw)-1] = '1'
		for _, k := range slices.Clone(d.Keys()) {
			if k == packagesKey || d.Node(k).Parent == packagesKey {
				d.Delete(k)
			}
		}
	}
	out, err := f.Encode(d)
	if err != nil {
		w.Fatal(err)
	}
	return out
}
