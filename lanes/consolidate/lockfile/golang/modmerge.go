package golang

import (
	"fmt"
	"strings"

	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// compareLines orders the versions of two directives; a node that is none
// counts as what the other one is.
func compareLines(a, b *lockfile.Node) (int, bool) {
	la, lb := lineOf(a), lineOf(b)
	verb := la.verb
	if verb == "" {
		verb = lb.verb
	}
	switch {
	case lb.verb != "" && lb.verb != verb, la.target != lb.target:
		return 0, false
	case verb == "go", verb == "toolchain":
		return CompareGo(a.Version, b.Version)
	}
	return Compare(a.Version, b.Version)
}

// lessLine orders the lines of a block as go mod tidy does.
func lessLine(a, b string) bool {
	verb, ra, okA := strings.Cut(a, " ")
	verbB, rb, okB := strings.Cut(b, " ")
	if !okA || !okB || verb != verbB || verb[0] == '#' || verb == "retract" {
		return false
	}
	if verb == "exclude" {
		pa, va, _ := strings.Cut(ra, " ")
		pb, vb, _ := strings.Cut(rb, " ")
		if c, ok := Compare(va, vb); ok && pa == pb {
			return c < 0
		}
	}
	return ra < rb
}

// place is where a line stands and how it begins.
type place struct{ parent, lead, pre string }

func placeOf(n *lockfile.Node) place {
	l := lineOf(n)
	if n == nil {
		return place{}
	}
	return place{n.Parent, l.lead, l.pre}
}

// decideLine merges a directive that both sides changed: version, mark and
// place apart.
func decideLine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	b, o, t := lineOf(before), lineOf(ours), lineOf(theirs)
	switch {
	case o.verb == "" || o.version == "" || t.version == "" || o.target != t.target:
		return decideWhole(before, ours, theirs)
	case before == nil:
		before = &lockfile.Node{}
	}
	winner := ours
	if v, ok := pick(before.Version, ours.Version, theirs.Version); !ok {
		c, ok := compareLines(ours, theirs)
		if !ok || c == 0 {
			return nil, false
		}
		if c < 0 {
			winner = theirs
		}
	} else if v != ours.Version {
		winner = theirs
	}
	marked := ours
	if post, ok := pick(b.post, o.post, t.post); ok {
		if post != o.post {
			marked = theirs
		}
	} else if o.indirect != t.indirect {
		// The side that changed the mark; if both add the line, it is direct.
		if t.indirect != b.indirect && b.verb != "" || !t.indirect && b.verb == "" {
			marked = theirs
		}
	} else if !sameWords(o.post, t.post) {
		return nil, false
	}
	placed := marked
	if p, ok := pick(placeOf(before), placeOf(ours), placeOf(theirs)); ok {
		placed = ours
		if p != placeOf(ours) {
			placed = theirs
		}
	}
	return joined(winner, marked, placed, ours, theirs), true
}

// joined makes a line of the version, the mark and the place of three.
func joined(version, mark, placed, ours, theirs *lockfile.Node) *lockfile.Node {
	l := *lineOf(placed)
	l.version, l.post, l.indirect = lineOf(version).version, lineOf(mark).post, lineOf(mark).indirect
	n := *placed
	n.Version, n.Direct, n.Data, n.Raw = version.Version, mark.Direct, &l, []byte(l.text())
	for _, same := range []*lockfile.Node{ours, theirs} {
		if lockfile.Same(same, &n) {
			return same
		}
	}
	return &n
}

// decideWhole takes what only one side changed in meaning.
func decideWhole(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	said := func(n *lockfile.Node) string {
		if n == nil {
			return ""
		}
		return strings.Join(strings.Fields(string(n.Raw)), " ")
	}
	text, ok := pick(said(before), said(ours), said(theirs))
	if ok && text == said(ours) {
		return ours, true
	}
	return theirs, ok
}

func sameWords(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// finishMod tidies what a merge by lines leaves behind.
func finishMod(m *lockfile.Merge) {
	dropEmpty(m.Doc, m.Before)
	// Of two heads one raises the go line and another the toolchain: one that
	// is not higher than the go line makes Go refuse the file.
	if idleToolchain(m.Doc) && !idleToolchain(m.Before) {
		m.Delete("toolchain")
	}
}

// settleMod mends requirements that go.sum shows to be too low: the merge kept
// what one update drops, or took from one what another has overtaken. A version
// whose hash is there is what Go would choose; without it the line goes where
// an update drops it, and stays a problem where none does.
func settleMod(d *lockfile.Doc, p *lockfile.Patch, was, now lockfile.Tree) *lockfile.Doc {
	file := sibling(d.Path, "go.sum")
	sums := now.Doc(file)
	if sums == nil {
		return d
	}
	high := overtaken(d, sums)
	if mod, sums := was.Doc(d.Path), was.Doc(file); mod != nil && sums != nil {
		asked, asks := requires(mod), requires(d)
		for name, v := range overtaken(mod, sums) {
			if high[name] == v && asked[name] == asks[name] {
				delete(high, name) // not this head's
			}
		}
	}
	if len(high) == 0 {
		return d
	}
	dropped := map[string]string{} // and the version that it had
	for _, c := range p.Changes {
		if c.After == nil {
			dropped[c.Key] = c.Before.Version
		}
	}
	out := d.Clone()
	gone := map[string]bool{}
	for name, v := range high {
		key := "require " + name
		switch n := out.Node(key); {
		case sums.Node(name+" "+v) != nil:
			out.Set(withVersion(n, v), "")
		case dropped[key] == n.Version: // no other update moves it
			gone[key] = true
		}
	}
	out.DeleteAll(gone)
	dropEmpty(out, d)
	return out
}

// withVersion is a requirement of another version.
func withVersion(n *lockfile.Node, version string) *lockfile.Node {
	c, l := *n, *lineOf(n)
	l.version = version
	c.Version, c.Data, c.Raw = version, &l, []byte(l.text())
	return &c
}

// dropEmpty removes blocks that have lost their last line.
func dropEmpty(d, before *lockfile.Doc) {
	now, was := parents(d), parents(before)
	empty := map[string]bool{}
	d.Nodes(func(n *lockfile.Node) {
		if _, ok := n.Data.(*block); ok && now[n.Key] == 0 && was[n.Key] > 0 {
			empty[n.Key] = true
		}
	})
	d.DeleteAll(empty)
}

func parents(d *lockfile.Doc) map[string]int {
	out := map[string]int{}
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent != "" {
			out[n.Parent]++
		}
	})
	return out
}

// idleToolchain reports whether a file names a toolchain that its go line
// asks for, or more, already.
func idleToolchain(d *lockfile.Doc) bool {
	g, t := d.Node("go"), d.Node("toolchain")
	if g == nil || t == nil {
		return false
	}
	c, ok := CompareGo(t.Version, g.Version)
	return ok && c <= 0
}

// notesMod tells of requirements that stayed although an update removes them.
func notesMod(d *lockfile.Doc, merged []*lockfile.Patch) []string {
	kept := removedButThere(d, merged)
	if len(kept) == 0 {
		return nil
	}
	var names []string
	for _, n := range kept {
		names = append(names, n.Name+" "+n.Version)
	}
	return []string{fmt.Sprintf("not tidied: it still asks for %s, which one update removes and another may need; run go mod tidy", some(names))}
}

// removedButThere are the nodes of d that a patch removes, in the order of d.
func removedButThere(d *lockfile.Doc, merged []*lockfile.Patch) []*lockfile.Node {
	removed := map[string]bool{}
	for _, p := range merged {
		for _, c := range p.Changes {
			if c.After == nil {
				removed[c.Key] = true
			}
		}
	}
	var out []*lockfile.Node
	d.Nodes(func(n *lockfile.Node) {
		if removed[n.Key] && n.Name != "" {
			out = append(out, n)
		}
	})
	return out
}

// requires are a go.mod's requirements: version by path.
func requires(d *lockfile.Doc) map[string]string {
	out := map[string]string{}
	d.Nodes(func(n *lockfile.Node) {
		if lineOf(n).verb == "require" {
			out[n.Name] = n.Version
		}
	})
	return out
}

// replaces are a go.mod's or go.work's replacements. A key without version
// is for all versions.
func replaces(d *lockfile.Doc) map[module.Version]module.Version {
	out := map[module.Version]module.Version{}
	d.Nodes(func(n *lockfile.Node) {
		if l := lineOf(n); l.verb == "replace" {
			out[module.Version{Path: n.Name, Version: l.old}] = module.Version{Path: l.target, Version: n.Version}
		}
	})
	return out
}

// replacement is what stands for a module; the module itself when nothing does.
func replacement(list map[module.Version]module.Version, m module.Version) module.Version {
	for _, k := range []module.Version{m, {Path: m.Path}} {
		if r, ok := list[k]; ok {
			return r
		}
	}
	return m
}
