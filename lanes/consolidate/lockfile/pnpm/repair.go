package pnpm

import (
	"path"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// repair gives importers the requirements of their manifests, and puts back
// what one side dropped and the other needs.
func (r rules) repair(m *lockfile.Merge) {
	wants := map[string]map[string]ask{} // by importer
	for _, key := range append([]string(nil), m.Keys()...) {
		n := m.Node(key)
		x := needOf(n)
		if x == nil || m.Tree == nil {
			continue
		}
		if _, ok := wants[x.importer]; !ok {
			wants[x.importer] = nil
			if d := m.Tree.Doc(manifestOf(m.Path, x.importer)); d != nil {
				wants[x.importer] = asks(d, true)
			}
		}
		if want, ok := wants[x.importer][x.name]; ok {
			r.sync(m, n, want.req)
		}
	}
	m.Restore()
	for _, key := range append([]string(nil), m.Keys()...) {
		adopt(m, m.Node(key))
	}
}

// adopt puts back the keys that a node stands under.
func adopt(m *lockfile.Merge, n *lockfile.Node) {
	for n.Parent != "" && m.Node(n.Parent) == nil {
		var parent *lockfile.Node
		for _, d := range m.Sources() {
			if parent = d.Node(n.Parent); parent != nil {
				m.Set(parent, m.Behind(d, parent.Key))
				break
			}
		}
		if parent == nil {
			return
		}
		n = parent
	}
}

// sync takes the requirement that the manifest has, where a side has it: a
// merge of versions can have left it behind.
func (r rules) sync(m *lockfile.Merge, n *lockfile.Node, want string) {
	x := needOf(n)
	if want == x.spec || x.group != specifiers && x.spec == "" {
		return
	}
	for _, d := range m.Sources() {
		o := d.Node(n.Key)
		y := needOf(o)
		if y == nil || y.spec != want || o.Parent != n.Parent {
			continue
		}
		if x.group == specifiers || !r.Meets(n.Name, want, "", n.Version) {
			m.Set(o, "")
		} else {
			m.Set(withSpec(n, want), "")
		}
		return
	}
}

// An ask is a requirement of a manifest, and the group that pnpm locks it in.
type ask struct{ req, group string }

// asks are a manifest's requirements as pnpm reads them: of a name in several
// groups, the strongest. Peers count where pnpm installs them by itself.
func asks(m *lockfile.Doc, peers bool) map[string]ask {
	out := map[string]ask{}
	read := func(section, group string) {
		m.Nodes(func(n *lockfile.Node) {
			if n.Parent == "#"+section && n.Direct {
				out[n.Name] = ask{n.Version, group}
			}
		})
	}
	if peers {
		read("peerDependencies", "dependencies")
	}
	for _, g := range []string{"devDependencies", "dependencies", "optionalDependencies"} {
		read(g, g)
	}
	return out
}

func manifestOf(lock, importer string) string {
	return path.Join(path.Dir(lock), importer, "package.json")
}
