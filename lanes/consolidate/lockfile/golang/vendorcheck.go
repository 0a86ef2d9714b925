package golang

import (
	"golang.org/x/mod/module"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// checkVendor finds where vendor/modules.txt and go.mod disagree: with a
// vendor folder, Go builds nothing until they agree.
func checkVendor(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	mod := besideVendor(d, t)
	if mod == nil {
		return nil
	}
	g := mod.Node("go")
	old := g == nil || olderGo(g.Version, "1.14") // the file tells less
	var out []lockfile.Problem
	add := func(key string, m module.Version, detail string) {
		out = append(out, lockfile.Problem{
			Code: lockfile.OutOfSync, Path: d.Path, Key: key, Name: m.Path, Req: m.Version, Detail: m.Path + " " + detail,
		})
	}
	listed := map[module.Version]*vendored{}
	d.Nodes(func(n *lockfile.Node) {
		if v := vendoredOf(n); v.mod.Path != "" {
			listed[v.mod] = v
		}
	})
	rep := replaces(mod)
	mod.Nodes(func(n *lockfile.Node) {
		switch l := lineOf(n); l.verb {
		case "require":
			m := module.Version{Path: n.Name, Version: n.Version}
			if v := listed[m]; old {
				if x := vendoredOf(d.Node("module " + m.Path)); len(x.packages) > 0 && x.mod != m {
					add("module "+m.Path, m, m.Version+" is asked for by go.mod, and "+x.mod.Version+" is vendored; run go mod vendor")
				}
			} else if v == nil || !v.explicit {
				add("module "+m.Path, m, m.Version+" is asked for by go.mod and is not marked as explicit here; run go mod vendor")
			}
		case "replace":
			from := module.Version{Path: n.Name, Version: l.old}
			v := listed[from]
			switch {
			case v == nil && old:
			case v == nil || v.by.Path == "":
				add("replace "+from.Path, from, "is replaced in go.mod and not here; run go mod vendor")
			case v.by != replacement(rep, from):
				add("replace "+from.Path, from, "is replaced by "+described(replacement(rep, from))+" in go.mod and by "+described(v.by)+" here; run go mod vendor")
			}
		}
	})
	asks := requires(mod)
	d.Nodes(func(n *lockfile.Node) {
		v := vendoredOf(n)
		if len(v.packages) > 0 && v.explicit && asks[v.mod.Path] != v.mod.Version {
			add(n.Key, v.mod, v.mod.Version+" is marked as explicit and go.mod does not ask for it; run go mod vendor")
		}
		if v.by.Path != "" && replacement(rep, v.mod) == v.mod {
			add(n.Key, v.mod, "is replaced here and not in go.mod; run go mod vendor")
		}
	})
	return out
}

func described(m module.Version) string {
	if m.Version == "" {
		return m.Path
	}
	return m.Path + " " + m.Version
}

func olderGo(v, than string) bool {
	c, ok := CompareGo(v, than)
	return ok && c < 0
}
