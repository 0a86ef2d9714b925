package golang

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A Side is one of the two that a merge has.
type Side uint8

// The sides.
const (
	Ours   Side = iota // the result so far
	Theirs             // the head
)

// A Folder is what becomes of one vendored module's files when a head joins.
// A module's folder is one side's, whole: half of one version and half of
// another may well build.
type Folder struct {
	// Module is the module's path; empty for files that belong to none.
	Module string
	// Dir is its folder in the tree. Folders of other modules can be inside.
	Dir string
	// Paths are the head's changed files in it, in the order given.
	Paths []string
	// Take is the side that has the folder as it must be.
	Take Side
	// Tool says why neither side has it, and only go mod vendor knows; empty:
	// Take holds.
	Tool string
}

// Vendor decides over the vendored folders while one head joins the result.
type Vendor struct {
	dir                      string
	fork, head, ours, result *lockfile.Doc
}

// NewVendor takes the vendor/modules.txt of the head's fork, of the head, of
// the result before the head joins, and of the result after. Result must be
// there; of the others, nil stands for a tree without the file.
func NewVendor(fork, head, ours, result *lockfile.Doc) *Vendor {
	return &Vendor{path.Dir(result.Path), fork, head, ours, result}
}

// Module returns the module whose folder a path is in, by the longest match:
// of the result, or of the state that still has the folder. It is empty when
// the path belongs to none.
func (v *Vendor) Module(p string) string {
	rest, ok := strings.CutPrefix(p, v.dir+"/")
	if !ok {
		return ""
	}
	for _, d := range []*lockfile.Doc{v.result, v.ours, v.head, v.fork} {
		for m := path.Dir(rest); d != nil && m != "."; m = path.Dir(m) {
			if d.Node("module "+m) != nil {
				return m
			}
		}
	}
	return ""
}

// Folders sorts the vendored files that a head changes by module and decides
// over each, in order of first mention. The modules.txt is no such file. Behind
// them come, without Paths, folders that ours changed and that must be the
// head's, though it has them as its fork did.
func (v *Vendor) Folders(changed []string) []Folder {
	at := map[string]int{}
	var out []Folder
	folder := func(m string) *Folder {
		i, ok := at[m]
		if !ok {
			i = len(out)
			at[m] = i
			f := Folder{Module: m, Dir: path.Join(v.dir, m)}
			f.Take, f.Tool = v.decide(m)
			out = append(out, f)
		}
		return &out[i]
	}
	for _, p := range changed {
		if p != v.result.Path && strings.HasPrefix(p, v.dir+"/") {
			f := folder(v.Module(p))
			f.Paths = append(f.Paths, p)
		}
	}
	v.result.Nodes(func(n *lockfile.Node) {
		m := vendoredOf(n).mod.Path
		fork, head, ours := contentOf(v.fork, m), contentOf(v.head, m), contentOf(v.ours, m)
		if m == "" || fork == head || fork == ours || head == ours || head == (content{}) {
			return
		}
		if _, tool := v.decide(m); tool == "" && contentOf(v.result, m).sameModule(head) {
			folder(m)
		}
	})
	return out
}

// content is what a module's folder follows from.
type content struct {
	mod, by  module.Version
	packages string
}

func contentOf(d *lockfile.Doc, name string) content {
	if d == nil {
		return content{}
	}
	v := vendoredOf(d.Node("module " + name))
	return content{v.mod, v.by, strings.Join(v.packages, "\n")}
}

func (c content) sameModule(o content) bool { return c.mod == o.mod && c.by == o.by }

func (c content) list() []string {
	if c.packages == "" {
		return nil
	}
	return strings.Split(c.packages, "\n")
}

func (v *Vendor) decide(name string) (Side, string) {
	if name == "" {
		return Ours, "it changes vendored files of no module that " + v.result.Path + " lists"
	}
	fork, head := contentOf(v.fork, name), contentOf(v.head, name)
	ours, result := contentOf(v.ours, name), contentOf(v.result, name)
	copied := head.by.Path != "" && head.by.Version == "" // of a folder beside, and changes with it
	switch {
	case head == fork && copied && ours == fork:
		return Theirs, ""
	case head == fork:
		return Ours, fmt.Sprintf("it changes vendored files of %s and leaves its version and packages as they are", name)
	case ours == fork && result == head:
		return Theirs, ""
	case head == ours, head == content{} && result == ours:
		return Ours, ""
	case head.sameModule(ours):
		return Ours, fmt.Sprintf("two updates change which packages of %s are vendored", name)
	}
	take, other := Ours, head
	switch {
	case result.sameModule(head):
		take, other = Theirs, ours
	case !result.sameModule(ours):
		return Ours, fmt.Sprintf("no side vendors %s at the version that the result asks for", name)
	}
	if more := added(other.list(), fork.list(), result.list()); len(more) > 0 {
		return Ours, fmt.Sprintf("one update moves %s and another one vendors more of it (%s)", name, some(more))
	}
	return take, ""
}

// Drops reports whether a vendor/modules.txt lists a package and a later state of
// it does not.
func Drops(before, after *lockfile.Doc) bool {
	drops := false
	before.Nodes(func(n *lockfile.Node) {
		if now := after.Node(n.Key); !drops && now != n {
			drops = len(added(vendoredOf(n).packages, nil, vendoredOf(now).packages)) > 0
		}
	})
	return drops
}

// CheckImports finds what vendored Go files import and d, a vendor/modules.txt,
// does not list: an update that drops a package and another that begins to use
// it go together in every dependency file, and do not build. Only the files
// named in changed are read, those of other kinds and places are passed over.
func CheckImports(d *lockfile.Doc, t lockfile.Tree, changed []string) []lockfile.Problem {
	listed := map[string]bool{}
	d.Nodes(func(n *lockfile.Node) {
		for _, p := range vendoredOf(n).packages {
			listed[p] = true
		}
	})
	own := ""
	if mod := besideVendor(d, t); mod != nil {
		own = lineOf(mod.Node("module")).target
	}
	dir := path.Dir(d.Path)
	said := map[[2]string]bool{}
	var out []lockfile.Problem
	for _, file := range changed {
		pkg, ok := strings.CutPrefix(path.Dir(file), dir+"/")
		if !ok || !listed[pkg] || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, ok := t.Read(file)
		if !ok {
			continue
		}
		for _, imp := range imports(src) {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") || listed[imp] || imp == own || strings.HasPrefix(imp, own+"/") && own != "" || said[[2]string{pkg, imp}] {
				continue
			}
			said[[2]string{pkg, imp}] = true
			out = append(out, lockfile.Problem{
				Code: lockfile.Missing, Path: d.Path, By: pkg, Name: imp,
				Detail: fmt.Sprintf("%s imports %s, which is not vendored", pkg, imp),
			})
		}
	}
	return out
}

// imports are what a Go file imports; none when it is not Go.
func imports(src []byte) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly)
	if err != nil {
		return nil
	}
	var out []string
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}
