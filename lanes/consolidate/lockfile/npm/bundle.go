package npm

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
			if o := owner(d, c.Key); o != "" {
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

// owner is the package whose archive, or whose own lockfile, decides about the
// package at a path; "" when none does.
func owner(d *lockfile.Doc, key string) string {
	n := d.Node(key)
	if n == nil || n.Name == "" || inside(key) < 0 {
		return ""
	}
	p := data(n)
	for up := parent(key); up != ""; up = parent(up) {
		x := d.Node(up)
		if x == nil || data(x) == nil {
			continue
		}
		if data(x).shrinkwrap || p.bundled && !data(x).bundled {
			return up
		}
	}
	return ""
}

// travel makes what an owner brings the same as on a side.
func travel(m *lockfile.Merge, side *lockfile.Doc, key string, changed map[string]bool) {
	for _, n := range below(m.Doc, key) {
		if owner(m.Doc, n.Key) == key && side.Node(n.Key) == nil {
			m.Delete(n.Key)
			changed[nameOf(n.Key)] = true
		}
	}
	for _, n := range below(side, key) {
		if owner(side, n.Key) == key && !lockfile.Same(n, m.Node(n.Key)) {
			m.Set(n, m.Behind(side, n.Key))
			changed[nameOf(n.Key)] = true
		}
	}
}
