package golang

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// hash is a line of a go.sum. Keys are module and version, with "/go.mod" for
// the hash of that file alone. Versions of one module stand side by side, so
// nodes have none to compare: two hashes of one key are a conflict.
type hash struct {
	path, version string
	mod           bool // of the go.mod alone
}

func sumFormat() *lockfile.Format {
	return &lockfile.Format{
		Name:      "go.sum",
		Ecosystem: Ecosystem,
		Lock:      true,
		Match: func(p string, _ []byte) bool {
			return named("go.sum")(p, nil) || named("go.work.sum")(p, nil)
		},
		Parse:  parseSum,
		Encode: encodePieces,
		Decide: func(_, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
			return ours, sameWords(string(ours.Raw), string(theirs.Raw))
		},
		Less:   lessSum,
		Keep:   func(n *lockfile.Node) bool { return n.Name != "" },
		Finish: finishSum,
		Settle: settleSum,
		Check:  checkSum,
		Notes:  notesSum,
	}
}

func parseSum(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := unmarked(content); err != nil {
		return nil, err
	}
	text := string(content)
	d := lockfile.NewDoc(strings.Count(text, "\n") + 1)
	at := 0
	for l := range strings.Lines(text) {
		at++
		n := &lockfile.Node{Raw: []byte(l), Root: true}
		switch f := strings.Fields(l); len(f) {
		case 0:
			n.Key = "#empty " + strconv.Itoa(at)
		case 3:
			v, mod := strings.CutSuffix(f[1], "/go.mod")
			n.Key, n.Name, n.Data = f[0]+" "+f[1], f[0], &hash{f[0], v, mod}
		default:
			return nil, fmt.Errorf("line %d: a line of a go.sum has three words, this one has %d", at, len(f))
		}
		if old := d.Node(n.Key); old != nil {
			if !sameWords(string(old.Raw), l) {
				return nil, &lockfile.DuplicateError{Key: n.Key, Line: at}
			}
			// Git's union merges leave such lines, and Go reads over them.
			n.Key, n.Name, n.Data = "#again "+strconv.Itoa(at), "", nil
		}
		d.Add(reuse(like, n))
	}
	return d, nil
}

// encodePieces writes nodes one after the other.
func encodePieces(d *lockfile.Doc) ([]byte, error) {
	var out []byte
	d.Nodes(func(n *lockfile.Node) {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, n.Raw...)
	})
	return out, nil
}

// lessSum orders keys as Go does: by module, version, and the whole module
// before its go.mod.
func lessSum(a, b string) bool {
	if a[0] == '#' || b[0] == '#' {
		return false
	}
	pa, va, _ := strings.Cut(a, " ")
	pb, vb, _ := strings.Cut(b, " ")
	if pa != pb {
		return pa < pb
	}
	wa, wb := strings.TrimSuffix(va, "/go.mod"), strings.TrimSuffix(vb, "/go.mod")
	if c, ok := Compare(wa, wb); ok && c != 0 {
		return c < 0
	}
	return va < vb
}

func hashOf(n *lockfile.Node) *hash {
	if n != nil {
		if h, ok := n.Data.(*hash); ok {
			return h
		}
	}
	return &hash{}
}

// finishSum drops the hashes of whole modules below what go.mod asks for:
// those are never built, whoever else needs what. Of their go.mod files that
// cannot be known, so the hashes of those stay.
func finishSum(m *lockfile.Merge) {
	mod := besideSum(m.Doc, m.Tree)
	if mod == nil {
		return
	}
	moved := map[string]bool{}
	for _, c := range m.Patch.Changes {
		for _, n := range []*lockfile.Node{c.Before, c.After} {
			if h := hashOf(n); h.path != "" && !h.mod {
				moved[h.path] = true
			}
		}
	}
	low := map[string]bool{}
	unbuilt := neverBuilt(mod)
	m.Nodes(func(n *lockfile.Node) {
		if h := hashOf(n); moved[h.path] && unbuilt(h) {
			low[n.Key] = true
		}
	})
	m.DeleteAll(low)
}

// besideSum is the go.mod that a go.sum belongs to; nil for a go.work.sum.
func besideSum(d *lockfile.Doc, t lockfile.Tree) *lockfile.Doc {
	if path.Base(d.Path) != "go.sum" {
		return nil
	}
	return t.Doc(sibling(d.Path, "go.mod"))
}

// neverBuilt tells which modules are below what a go.mod asks for.
func neverBuilt(mod *lockfile.Doc) func(*hash) bool {
	asks := requires(mod)
	standIns := map[module.Version]bool{}
	for _, r := range replaces(mod) {
		standIns[r] = true
	}
	return func(h *hash) bool {
		c, ok := Compare(h.version, asks[h.path])
		return ok && c < 0 && !h.mod && !standIns[module.Version{Path: h.path, Version: h.version}]
	}
}

// settleSum puts back what a head removed when go.mod keeps a requirement that
// it removed, too: updates that change go.mod alone keep lines there, and none
// here.
func settleSum(d *lockfile.Doc, p *lockfile.Patch, was, now lockfile.Tree) *lockfile.Doc {
	mod, before := besideSum(d, now), was.Doc(d.Path)
	if mod == nil || before == nil {
		return d
	}
	lost := false
	for _, x := range missingSums(mod, d) {
		lost = lost || before.Node(x.Key) != nil
	}
	if !lost {
		return d
	}
	removed := map[string]bool{}
	for _, c := range p.Changes {
		removed[c.Key] = c.After == nil
	}
	out := d.Clone()
	unbuilt := neverBuilt(mod)
	behind := ""
	before.Nodes(func(n *lockfile.Node) {
		if removed[n.Key] && out.Node(n.Key) == nil && !unbuilt(hashOf(n)) {
			out.Set(n, behind)
		}
		if out.Node(n.Key) != nil {
			behind = n.Key
		}
	})
	return out
}

func notesSum(d *lockfile.Doc, merged []*lockfile.Patch) []string {
	kept := removedButThere(d, merged)
	if len(kept) == 0 {
		return nil
	}
	var names []string
	for _, n := range kept {
		names = append(names, n.Name)
	}
	names = slices.Compact(names)
	return []string{fmt.Sprintf("not tidied: it keeps hashes that one update removes and another may need (%s); run go mod tidy", some(names))}
}

// checkSum compares a go.sum with the go.mod beside it.
func checkSum(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	mod := besideSum(d, t)
	if mod == nil {
		return nil
	}
	return append(missingSums(mod, d), checkOvertaken(d, mod)...)
}

// overtaken are the modules that go.mod asks for in a version below one whose
// go.mod Go has read while it chose versions, with that version: something
// needs the higher one, and Go refuses a go.mod that says otherwise.
func overtaken(mod, sums *lockfile.Doc) map[string]string {
	asks, rep := requires(mod), replaces(mod)
	high := map[string]string{}
	sums.Nodes(func(n *lockfile.Node) {
		h := hashOf(n)
		id := module.Version{Path: h.path, Version: asks[h.path]}
		if !h.mod || replacement(rep, id) != id || mod.Node("exclude "+h.path+" "+h.version) != nil {
			return
		}
		if c, ok := Compare(h.version, asks[h.path]); !ok || c <= 0 {
			return
		}
		if c, ok := Compare(h.version, high[h.path]); !ok || c > 0 {
			high[h.path] = h.version
		}
	})
	return high
}

// checkOvertaken says which those are.
func checkOvertaken(d, mod *lockfile.Doc) []lockfile.Problem {
	high := overtaken(mod, d)
	var out []lockfile.Problem
	mod.Nodes(func(n *lockfile.Node) {
		if v := high[n.Name]; lineOf(n).verb == "require" && v != "" {
			out = append(out, lockfile.Problem{
				Code: lockfile.AskTool, Path: d.Path, Key: n.Name + " " + v + "/go.mod", Name: n.Name, Req: v, Have: n.Version,
				Detail: "something needs " + n.Name + " " + v + ", as this file shows, and go.mod asks for " + n.Version + "; only go mod tidy can say",
			})
		}
	})
	return out
}
