package golang

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// vendored is a block of a vendor/modules.txt: a module, and which of its
// packages are in the folder. Keys are "module PATH", or "replace PATH VERSION"
// for a replacement that is listed without being used.
type vendored struct {
	mod, by module.Version // by: what replaces it
	// explicit: go.mod asks for the module itself.
	explicit bool
	// marks are the other annotations: "go 1.22".
	marks    []string
	packages []string
}

// headKey is what stands before the first module.
const headKey = "#head"

func vendorFormat() *lockfile.Format {
	return &lockfile.Format{
		Name:      "vendor/modules.txt",
		Ecosystem: Ecosystem,
		Lock:      true,
		Match:     func(p string, _ []byte) bool { _, ok := vendorRoot(p); return ok },
		Parse:     parseVendor,
		Encode:    encodePieces,
		Compare:   compareVendored,
		Decide:    decideVendored,
		Tool:      toolVendored,
		Less:      lessVendored,
		Keep:      func(n *lockfile.Node) bool { return n.Version != "" },
		Settle:    settleVendor,
		Check:     checkVendor,
		Notes:     notesVendor,
	}
}

// vendorRoot is the folder of the module that a vendor/modules.txt belongs to.
func vendorRoot(p string) (string, bool) {
	dir, ok := strings.CutSuffix("/"+p, "/vendor/modules.txt")
	if !ok || slices.Contains(strings.Split(dir, "/"), "vendor") {
		return "", false
	}
	return strings.TrimPrefix(dir, "/"), true
}

func vendoredOf(n *lockfile.Node) *vendored {
	if n != nil {
		if v, ok := n.Data.(*vendored); ok {
			return v
		}
	}
	return &vendored{}
}

func parseVendor(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := unmarked(content); err != nil {
		return nil, err
	}
	text := string(content)
	d := lockfile.NewDoc(strings.Count(text, "\n# ") + 1)
	cur := &lockfile.Node{Key: headKey}
	start, at, curAt := 0, 0, 1
	end := func(to int) error {
		if cur.Raw = []byte(text[start:to]); len(cur.Raw) == 0 {
			return nil
		}
		if v := vendoredOf(cur); cur.Name != "" && v.by != (module.Version{}) && !v.explicit && len(v.marks)+len(v.packages) == 0 {
			cur.Key, cur.Version = strings.TrimSpace("replace "+v.mod.Path+" "+v.mod.Version), ""
		}
		if !d.Add(reuse(like, cur)) {
			return &lockfile.DuplicateError{Key: cur.Key, Line: curAt}
		}
		return nil
	}
	for l, pos := range linesAt(text) {
		at++
		switch {
		case strings.HasPrefix(l, "# "):
			if err := end(pos); err != nil {
				return nil, err
			}
			v, err := moduleLine(l)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", at, err)
			}
			start, curAt = pos, at
			cur = &lockfile.Node{Key: "module " + v.mod.Path, Name: v.mod.Path, Version: v.mod.Version, Root: true, Data: v}
		case strings.HasPrefix(l, "## "):
			v := vendoredOf(cur)
			for m := range strings.SplitSeq(strings.TrimSpace(l[3:]), ";") {
				if m = strings.TrimSpace(m); m == "explicit" {
					v.explicit = true
				} else {
					v.marks = append(v.marks, m)
				}
			}
		case strings.TrimSpace(l) == "":
		default:
			p := strings.TrimSuffix(l, "\n")
			if module.CheckImportPath(p) != nil || cur.Name == "" {
				return nil, fmt.Errorf("line %d: neither a module nor a package: %s", at, strconv.Quote(p))
			}
			v := vendoredOf(cur)
			v.packages = append(v.packages, p)
		}
	}
	return d, end(len(text))
}

// linesAt yields lines with their offsets.
func linesAt(text string) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		pos := 0
		for l := range strings.Lines(text) {
			if !yield(l, pos) {
				return
			}
			pos += len(l)
		}
	}
}

// moduleLine reads "# PATH VERSION", with " => PATH [VERSION]" if it is replaced.
func moduleLine(l string) (*vendored, error) {
	f := strings.Fields(l)[1:]
	v := &vendored{}
	if len(f) > 0 {
		v.mod.Path, f = f[0], f[1:]
	}
	if len(f) > 0 && semver.IsValid(f[0]) {
		v.mod.Version, f = f[0], f[1:]
	}
	if len(f) > 1 && f[0] == "=>" {
		v.by.Path = f[1]
		if f = f[2:]; len(f) > 0 {
			v.by.Version, f = f[0], f[1:]
		}
	}
	if v.mod.Path == "" || len(f) > 0 || v.mod.Version == "" && v.by.Path == "" {
		return nil, fmt.Errorf("not a module: %s", strconv.Quote(strings.TrimSuffix(l, "\n")))
	}
	return v, nil
}

// node writes a block anew.
func (v *vendored) node() *lockfile.Node {
	var b strings.Builder
	b.WriteString("# " + v.mod.Path)
	for _, w := range []string{v.mod.Version, v.by.Path, v.by.Version} {
		if w != "" {
			if w == v.by.Path {
				b.WriteString(" =>")
			}
			b.WriteString(" " + w)
		}
	}
	marks := v.marks
	if v.explicit {
		marks = append([]string{"explicit"}, marks...)
	}
	if len(marks) > 0 {
		b.WriteString("\n## " + strings.Join(marks, "; "))
	}
	for _, p := range v.packages {
		b.WriteString("\n" + p)
	}
	b.WriteByte('\n')
	return &lockfile.Node{
		Key: "module " + v.mod.Path, Name: v.mod.Path, Version: v.mod.Version,
		Root: true, Data: v, Raw: []byte(b.String()),
	}
}

func compareVendored(a, b *lockfile.Node) (int, bool) {
	va, vb := vendoredOf(a), vendoredOf(b)
	if va.by.Path != vb.by.Path || va.mod.Path != "" && vb.mod.Path != "" && va.mod.Path != vb.mod.Path {
		return 0, false
	}
	if c, ok := Compare(a.Version, b.Version); !ok || c != 0 || va.by.Version == vb.by.Version {
		return c, ok
	}
	return Compare(va.by.Version, vb.by.Version)
}

func lessVendored(a, b string) bool {
	ma, okA := strings.CutPrefix(a, "module ")
	mb, okB := strings.CutPrefix(b, "module ")
	return okA && okB && ma < mb
}

// decideVendored merges two blocks of one module. The folder of the higher
// version is taken whole, so a package that only the other side has is in
// nobody's folder at that version.
func decideVendored(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	b, o, t := vendoredOf(before), vendoredOf(ours), vendoredOf(theirs)
	if o.mod.Path == "" || t.mod.Path == "" {
		return decideWhole(before, ours, theirs)
	}
	type id struct{ mod, by module.Version }
	won, ok := pick(id{b.mod, b.by}, id{o.mod, o.by}, id{t.mod, t.by})
	if !ok {
		c, ok := compareVendored(ours, theirs)
		if !ok || c == 0 {
			return nil, false
		}
		if won = (id{o.mod, o.by}); c < 0 {
			won = id{t.mod, t.by}
		}
	}
	oWins, tWins := won == id{o.mod, o.by}, won == id{t.mod, t.by}
	if oWins != tWins {
		win, lose, winner := t, o, theirs
		if oWins {
			win, lose, winner = o, t, ours
		}
		return winner, len(added(lose.packages, b.packages, win.packages)) == 0
	}
	// One version on both sides: whatever either needs of it is there.
	n := *o
	n.packages = mergedPackages(o.packages, t.packages)
	n.explicit, _ = pick(b.explicit, o.explicit, t.explicit)
	marks, ok := pick(strings.Join(b.marks, ";"), strings.Join(o.marks, ";"), strings.Join(t.marks, ";"))
	if !ok {
		return nil, false
	}
	if marks != strings.Join(o.marks, ";") {
		n.marks = t.marks
	}
	out := n.node()
	for _, same := range []*lockfile.Node{ours, theirs} {
		if lockfile.Same(same, out) {
			return same, true
		}
	}
	return out, true
}

// added are packages that one side added and the other side lacks.
func added(list, before, other []string) []string {
	known := map[string]bool{}
	for _, p := range slices.Concat(before, other) {
		known[p] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return known[p] })
}

func mergedPackages(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

func toolVendored(before, ours, theirs *lockfile.Node) string {
	b, o, t := vendoredOf(before), vendoredOf(ours), vendoredOf(theirs)
	more := append(added(o.packages, b.packages, t.packages), added(t.packages, b.packages, o.packages)...)
	if len(more) == 0 {
		return ""
	}
	return fmt.Sprintf("one update moves it and another one vendors more of it (%s); only go mod vendor has those packages at that version", some(more))
}

// settleVendor makes the blocks agree with go.mod on what it asks for itself.
func settleVendor(d *lockfile.Doc, _ *lockfile.Patch, was, now lockfile.Tree) *lockfile.Doc {
	mod := besideVendor(d, now)
	if mod == nil || !annotated(d) {
		return d
	}
	asks, rep := requires(mod), replaces(mod)
	before := was.Doc(d.Path)
	if before == nil {
		before = lockfile.NewDoc(0)
	}
	asked := map[string]string{}
	if mod := was.Doc(mod.Path); mod != nil {
		asked = requires(mod)
	}
	out := d.Clone()
	d.Nodes(func(n *lockfile.Node) {
		v := *vendoredOf(n)
		want := asks[v.mod.Path]
		untouched := want == asked[v.mod.Path] && lockfile.Same(n, before.Node(n.Key))
		if n.Version != "" && !untouched && v.explicit != (want != "") && (want == "" || want == n.Version) {
			v.explicit = want != ""
			out.Set(v.node(), "")
		}
	})
	// A requirement that go.mod keeps and that gives no package.
	mod.Nodes(func(n *lockfile.Node) {
		key := "module " + n.Name
		if lineOf(n).verb != "require" || d.Node(key) != nil || before.Node(key) == nil {
			return
		}
		v := &vendored{mod: module.Version{Path: n.Name, Version: n.Version}, explicit: true}
		if r := replacement(rep, v.mod); r != v.mod {
			v.by = r
		}
		out.Set(v.node(), nearest(before, out, key))
	})
	return out
}

// nearest is the key before one in d that other has, too.
func nearest(d, other *lockfile.Doc, key string) string {
	keys := d.Keys()
	for i := slices.Index(keys, key) - 1; i >= 0; i-- {
		if other.Node(keys[i]) != nil {
			return keys[i]
		}
	}
	return ""
}

// besideVendor is the go.mod that a modules.txt belongs to; nil when there is
// none, or when it lists what several modules of a workspace need.
func besideVendor(d *lockfile.Doc, t lockfile.Tree) *lockfile.Doc {
	root, _ := vendorRoot(d.Path)
	if n := d.Node(headKey); n != nil && strings.HasPrefix(string(n.Raw), "## workspace") {
		return nil
	}
	return t.Doc(path.Join(root, "go.mod"))
}

// annotated reports whether a file tells which modules go.mod asks for, as
// those do that Go 1.14 or later wrote.
func annotated(d *lockfile.Doc) bool {
	for _, k := range d.Keys() {
		if vendoredOf(d.Node(k)).explicit {
			return true
		}
	}
	return false
}

func notesVendor(d *lockfile.Doc, merged []*lockfile.Patch) []string {
	kept := removedButThere(d, merged)
	if len(kept) == 0 {
		return nil
	}
	var names []string
	for _, n := range kept {
		names = append(names, n.Name)
	}
	return []string{fmt.Sprintf("not tidied: it still vendors %s, which one update removes and another may need; run go mod vendor", some(names))}
}
