package modules

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// bundles makes what came inside a package's archive that of the version which
// the merge chose: two versions' archives cannot be mixed. It returns the names
// of what it changed.
func bundles(m *lockfile.Merge) map[string]bool {
	changed := map[string]bool{}
	owners := map[string]bool{}
	for _, c := range m.Patch.Changes {
		for _, d := range []*lockfile.Doc{m.Head(), m.Patch.Fork, m.Before} {
			if o := Owner(d, c.Key); o != "" {
				owners[o] = true
			}
		}
	}
	for key := range owners {
		n := m.Node(key)
		if n == nil {
			continue
		}
		side := m.Before
		if lockfile.Same(n, m.Head().Node(key)) && !lockfile.Same(n, m.Before.Node(key)) {
			side = m.Head()
		}
		travel(m, side, key, changed)
	}
	return changed
}

// Owner is the package whose archive, or whose own lockfile, decides about the
// package at a path; "" when none does.
func Owner(d *lockfile.Doc, key string) string {
	n := d.Node(key)
	if n == nil || n.Name == "" || Inside(key) < 0 {
		return ""
	}
	p := Of(n)
	for up := Parent(key); up != ""; up = Parent(up) {
		x := d.Node(up)
		if x == nil || Of(x) == nil {
			continue
		}
		if Of(x).Shrinkwrap || p.Bundled && !Of(x).Bundled {
			return up
		}
	}
	return ""
}

// travel makes what an owner brings the same as on a side.
func travel(m *lockfile.Merge, side *lockfile.Doc, key string, changed map[string]bool) {
	for _, n := range below(m.Doc, key) {
		if Owner(m.Doc, n.Key) == key && side.Node(n.Key) == nil {
			m.Delete(n.Key)
			changed[NameOf(n.Key)] = true
		}
	}
	for _, n := range below(side, key) {
		if Owner(side, n.Key) == key && !lockfile.Same(n, m.Node(n.Key)) {
			m.Set(n, m.Behind(side, n.Key))
			changed[NameOf(n.Key)] = true
		}
	}
}
