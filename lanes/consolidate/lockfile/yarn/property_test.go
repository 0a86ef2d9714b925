package yarn_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A world is a registry: packages by name and version, and what each needs.
// Versions are made such that a range always has one that meets it.
type world struct {
	berry bool
	needs map[string]map[string]string // of name@version
}

var names = []string{"a", "b", "c", "d", "e", "@s/f", "true-g", "h.i"}

const majors, minors = 3, 3

func drawWorld(t *rapid.T) world {
	w := world{rapid.Bool().Draw(t, "berry"), map[string]map[string]string{}}
	for i, n := range names {
		for major := 1; major <= majors; major++ {
			for minor := range minors {
				needs := map[string]string{}
				// Only later names, so that there are no circles of requirements
				// that never end.
				for _, m := range names[i+1:] {
					if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
						needs[m] = drawRange(t)
					}
				}
				w.needs[fmt.Sprintf("%s@%d.%d.0", n, major, minor)] = needs
			}
		}
	}
	return w
}

func drawRange(t *rapid.T) string {
	return fmt.Sprintf("^%d.%d.0", rapid.IntRange(1, majors).Draw(t, "major"), rapid.IntRange(0, minors-1).Draw(t, "minor"))
}

// A state is a project: what its manifest asks for, and what yarn has locked.
type state struct {
	direct map[string]string
	locked map[string]string // descriptor to version
}

func (s state) clone() state { return state{maps.Clone(s.direct), maps.Clone(s.locked)} }

// install locks what is needed and not locked yet, newest first or as drawn, and
// forgets what is not needed any more: what yarn does.
func (w world) install(t *rapid.T, s *state) {
	locked := map[string]string{}
	var add func(name, rng string)
	add = func(name, rng string) {
		key := name + "@" + rng
		if _, ok := locked[key]; ok {
			return
		}
		v, ok := s.locked[key]
		if !ok {
			var major, low int
			if _, err := fmt.Sscanf(rng, "^%d.%d.0", &major, &low); err != nil {
				panic(err)
			}
			v = fmt.Sprintf("%d.%d.0", major, rapid.IntRange(low, minors-1).Draw(t, "minor locked"))
		}
		locked[key] = v
		for _, n := range slices.Sorted(maps.Keys(w.needs[name+"@"+v])) {
			add(n, w.needs[name+"@"+v][n])
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.direct)) {
		add(n, s.direct[n])
	}
	s.locked = locked
}

// change is what one pull request does: a requirement more, less or moved, or
// a locked version raised.
func (w world) change(t *rapid.T, s state) state {
	s = s.clone()
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		delete(s.direct, rapid.SampledFrom(names).Draw(t, "removed"))
	case 1:
		for _, key := range slices.Sorted(maps.Keys(s.locked)) {
			v := s.locked[key]
			if rapid.Bool().Draw(t, "raised") {
				var major, minor int
				if _, err := fmt.Sscanf(v, "%d.%d.0", &major, &minor); err != nil {
					panic(err)
				}
				s.locked[key] = fmt.Sprintf("%d.%d.0", major, max(minor, rapid.IntRange(0, minors-1).Draw(t, "to")))
			}
		}
	default:
		s.direct[rapid.SampledFrom(names).Draw(t, "added")] = drawRange(t)
	}
	w.install(t, &s)
	return s
}

// tree writes a state as yarn does.
func (w world) tree(all []*lockfile.Format, s state) *tree {
	var m strings.Builder
	m.WriteString("{\n  \"name\": \"app\",\n  \"dependencies\": {")
	for i, n := range slices.Sorted(maps.Keys(s.direct)) {
		if i > 0 {
			m.WriteByte(',')
		}
		fmt.Fprintf(&m, "\n    %q: %q", n, s.direct[n])
	}
	m.WriteString("\n  }\n}\n")
	blocks := map[string][]string{} // descriptors by name@version
	for key, v := range s.locked {
		at := key[:strings.LastIndexByte(key, '@')+1] + v
		blocks[at] = append(blocks[at], key)
	}
	lock := w.classic(blocks)
	if w.berry {
		lock = w.berryLock(blocks, s.direct)
	}
	return newTree(all, map[string]string{"package.json": m.String(), "yarn.lock": lock})
}

func (w world) classic(blocks map[string][]string) string {
	var texts []string
	order := map[string]string{}
	for at, keys := range blocks {
		slices.Sort(keys)
		var line []string
		for _, k := range keys {
			if k[0] == '@' || strings.HasPrefix(k, "true") {
				k = `"` + k + `"`
			}
			line = append(line, k)
		}
		version := at[strings.LastIndexByte(at, '@')+1:]
		text := strings.Join(line, ", ") + ":\n  version \"" + version + "\"\n  resolved \"https://e.org/" + at + "#0\"\n"
		if len(w.needs[at]) > 0 {
			text += "  dependencies:\n"
			for _, n := range slices.Sorted(maps.Keys(w.needs[at])) {
				name := n
				if n[0] == '@' || strings.HasPrefix(n, "true") {
					name = `"` + n + `"`
				}
				text += "    " + name + " \"" + w.needs[at][n] + "\"\n"
			}
		}
		order[keys[0]] = text
	}
	for _, k := range slices.Sorted(maps.Keys(order)) {
		texts = append(texts, order[k])
	}
	return head + strings.Join(texts, "\n")
}

func (w world) berryLock(blocks map[string][]string, direct map[string]string) string {
	order := map[string]string{}
	list := func(needs map[string]string) string {
		if len(needs) == 0 {
			return ""
		}
		text := "  dependencies:\n"
		for _, n := range slices.Sorted(maps.Keys(needs)) {
			name := n
			if n[0] == '@' {
				name = `"` + n + `"`
			}
			text += "    " + name + ": \"npm:" + needs[n] + "\"\n"
		}
		return text
	}
	for at, keys := range blocks {
		for i, k := range keys {
			j := strings.LastIndexByte(k, '@')
			keys[i] = k[:j] + "@npm:" + k[j+1:]
		}
		slices.Sort(keys)
		j := strings.LastIndexByte(at, '@')
		key := strings.Join(keys, ", ")
		order[key] = `"` + key + "\":\n  version: " + at[j+1:] + "\n  resolution: \"" + at[:j] + "@npm:" + at[j+1:] + "\"\n" +
			list(w.needs[at]) + "  checksum: 10c0/0\n  languageName: node\n  linkType: hard\n"
	}
	order["app@workspace:."] = "\"app@workspace:.\":\n  version: 0.0.0-use.local\n  resolution: \"app@workspace:.\"\n" + list(direct) + "  languageName: unknown\n  linkType: soft\n"
	texts := []string{strings.TrimSuffix(berryHead, "\n")}
	for _, k := range slices.Sorted(maps.Keys(order)) {
		texts = append(texts, order[k])
	}
	return strings.Join(texts, "\n")
}

func drawFork(t *rapid.T) (world, state) {
	w := drawWorld(t)
	s := state{map[string]string{}, map[string]string{}}
	for _, n := range names {
		if rapid.Bool().Draw(t, "direct") {
			s.direct[n] = drawRange(t)
		}
	}
	w.install(t, &s)
	return w, s
}

func join(t *rapid.T, ours, fork, head *tree) *tree {
	t.Helper()
	next, conflicts, err := ours.join(fork, head)
	if err != nil || len(conflicts) > 0 {
		t.Fatal(err, conflicts)
	}
	return next
}

func same(t *rapid.T, what string, got, want *tree) {
	t.Helper()
	if got, want := got.text["yarn.lock"], want.text["yarn.lock"]; got != want {
		t.Fatalf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

// What is written comes back, and is sound.
func TestPropertyRoundTrip(t *testing.T) {
	all := formats()
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawFork(t)
		tr := w.tree(all, s)
		d, err := tr.parse("yarn.lock", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Format.Encode(d)
		if err != nil || string(text) != tr.text["yarn.lock"] {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, p := range tr.problems() {
			t.Fatalf("%s %s", p.Code, p)
		}
	})
}

// A merge of one side alone gives that side, and two sides that do the same agree.
func TestPropertyOneSide(t *testing.T) {
	all := formats()
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawFork(t)
		fork, head := w.tree(all, s), w.tree(all, w.change(t, s))
		same(t, "merge(x,x,y)", join(t, fork, fork, head), head)
		same(t, "merge(x,y,y)", join(t, head, fork, head), head)
		same(t, "merge(x,y,x)", join(t, head, fork, fork), head)
	})
}

// Whatever two pull requests do, the result is sound, written as yarn would,
// and no version of it is lower than on a side which moved it.
func TestPropertyTwoSides(t *testing.T) {
	all := formats()
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawFork(t)
		fork := w.tree(all, s)
		a, b := w.tree(all, w.change(t, s)), w.tree(all, w.change(t, s))
		ab := join(t, join(t, fork, fork, a), fork, b)
		if a.text["yarn.lock"] == fork.text["yarn.lock"] || b.text["yarn.lock"] == fork.text["yarn.lock"] {
			return // then the lockfile was not merged again after the manifest
		}
		for _, p := range ab.problems() {
			t.Fatalf("%s %s\nfork\n%s\na\n%s\nb\n%s\nab\n%s", p.Code, p, fork.text["yarn.lock"], a.text["yarn.lock"], b.text["yarn.lock"], ab.text["yarn.lock"])
		}
		result := ab.Doc("yarn.lock")
		for _, h := range []*tree{a, b} {
			h.Doc("yarn.lock").Nodes(func(n *lockfile.Node) {
				was, have := fork.Doc("yarn.lock").Node(n.Key), result.Node(n.Key)
				if lockfile.Same(n, was) || have == nil {
					return
				}
				if c, ok := result.Format.Compare(have, n); ok && c < 0 {
					t.Fatalf("%s is at %s and was moved to %s", n.Key, have.Version, n.Version)
				}
			})
		}
		ba := join(t, join(t, fork, fork, b), fork, a)
		if ab.text["yarn.lock"] != ba.text["yarn.lock"] {
			t.Fatalf("the order counts:\n%s\n%s", ab.text["yarn.lock"], ba.text["yarn.lock"])
		}
	})
}

// A spoilt lockfile is found out.
func TestPropertySpoilt(t *testing.T) {
	all := formats()
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawFork(t)
		if len(s.locked) == 0 {
			return
		}
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(s.locked))).Draw(t, "entry")
		spoilt := s.clone()
		kind := rapid.IntRange(0, 2).Draw(t, "kind")
		var want lockfile.Code
		switch kind {
		case 0:
			delete(spoilt.locked, key)
			want = lockfile.Missing
		case 1:
			spoilt.locked[key] = "0.9.0"
			w.needs[key[:strings.LastIndexByte(key, '@')+1]+"0.9.0"] = nil
			want = lockfile.Unmet
		case 2:
			spoilt.locked["zzz@^1.0.0"] = "1.0.0"
			want = lockfile.Orphan
		}
		found := w.tree(all, spoilt).problems()
		for _, p := range found {
			if p.Code == want {
				return
			}
		}
		t.Fatalf("%s of %s is not found: %v", want, key, found)
	})
}
