package golang

import (
	"path"
	"strings"

	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// checkMod finds what makes Go refuse a go.mod unless it may rewrite it, as
// far as the tree tells: the go.mod files of other modules are not there,
// except of those that stand beside.
func checkMod(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	var out []lockfile.Problem
	add := func(p lockfile.Problem) {
		p.Path = d.Path
		out = append(out, p)
	}
	if idleToolchain(d) {
		add(lockfile.Problem{
			Code: lockfile.OutOfSync, Key: "toolchain", Name: "toolchain",
			Detail: "the toolchain is not higher than the go line, and Go refuses the file until one of them changes",
		})
	}
	asks := requires(d)
	d.Nodes(func(n *lockfile.Node) {
		l := lineOf(n)
		switch {
		case l.verb == "require" && d.Node("exclude "+n.Name+" "+n.Version) != nil:
			add(lockfile.Problem{
				Code: lockfile.Unmet, Key: n.Key, Name: n.Name, Req: n.Version,
				Detail: "it asks for " + n.Name + " " + n.Version + " and excludes that version",
			})
		case l.verb == "replace" && asks[n.Name] != "" && (l.old == "" || l.old == asks[n.Name]):
			out = append(out, beside(d, n, asks, t)...)
		}
	})
	if sums := sibling(d.Path, "go.sum"); t.Doc(sums) == nil && t.Doc(sibling(d.Path, "vendor/modules.txt")) == nil {
		if _, there := t.Read(sums); !there {
			out = append(out, missingSums(d, nil)...)
		}
	}
	return out
}

// beside checks a module that a folder of this tree stands for: its own
// requirements count here, too. Updates that move the one forget the other.
func beside(d *lockfile.Doc, replace *lockfile.Node, asks map[string]string, t lockfile.Tree) []lockfile.Problem {
	file, ok := local(d.Path, lineOf(replace).target)
	if !ok {
		return nil
	}
	if _, there := t.Read(file); !there {
		return []lockfile.Problem{{
			Code: lockfile.Missing, Path: d.Path, Key: replace.Key, Name: replace.Name,
			Detail: replace.Name + " is replaced by a folder without go.mod: " + file,
		}}
	}
	other := t.Doc(file)
	if other == nil {
		return nil
	}
	var out []lockfile.Problem
	// Neither version is named: the problem is the same one however far each
	// side has come.
	stale := func(key, name, what string) {
		out = append(out, lockfile.Problem{
			Code: lockfile.OutOfSync, Path: d.Path, Key: key, By: replace.Name, Name: name,
			Detail: file + ", which stands for " + replace.Name + " here, asks for " + what + " than this file; run go mod tidy here",
		})
	}
	if a, b := other.Node("go"), d.Node("go"); a != nil && b != nil {
		if c, ok := CompareGo(a.Version, b.Version); ok && c > 0 {
			stale("go", "go", "a higher go line")
		}
	}
	other.Nodes(func(n *lockfile.Node) {
		if lineOf(n).verb != "require" || asks[n.Name] == "" {
			return
		}
		if c, ok := Compare(n.Version, asks[n.Name]); ok && c > 0 {
			stale(n.Key, n.Name, "a higher "+n.Name)
		}
	})
	return out
}

// readsMod reports whether a go.mod stands for another one by a replacement.
func readsMod(d *lockfile.Doc, changed string) bool {
	for _, r := range replaces(d) {
		if file, ok := local(d.Path, r.Path); ok && r.Version == "" && file == changed {
			return true
		}
	}
	return false
}

// local is the go.mod in the folder that a replacement names, if it is in the tree.
func local(mod, target string) (string, bool) {
	if !strings.HasPrefix(target, ".") {
		return "", false
	}
	file := path.Join(path.Dir(mod), target, "go.mod")
	return file, !strings.HasPrefix(file, "../")
}

// sibling is a path from the folder of another file.
func sibling(file, name string) string { return path.Join(path.Dir(file), name) }

// missingSums are the requirements whose hashes a go.sum lacks. Every
// requirement's go.mod is read, and the module itself where it gives the
// project a package, which is sure only for what it imports.
func missingSums(mod, sums *lockfile.Doc) []lockfile.Problem {
	rep := replaces(mod)
	var out []lockfile.Problem
	mod.Nodes(func(n *lockfile.Node) {
		if lineOf(n).verb != "require" {
			return
		}
		m := replacement(rep, module.Version{Path: n.Name, Version: n.Version})
		if m.Version == "" {
			return // a folder
		}
		need := func(key, what string, soft bool) {
			if sums != nil && sums.Node(key) != nil {
				return
			}
			out = append(out, lockfile.Problem{
				Code: lockfile.Missing, Path: sibling(mod.Path, "go.sum"), Key: key, Name: n.Name, Req: n.Version, Soft: soft,
				Detail: "the hash of " + what + " is missing",
			})
		}
		id := m.Path + " " + m.Version
		need(id+"/go.mod", id+"'s go.mod", false)
		need(id, id, lineOf(n).indirect)
	})
	return out
}
