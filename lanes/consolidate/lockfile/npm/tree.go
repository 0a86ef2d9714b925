package npm

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

const nm = "node_modules/"

// join is the path of a package placed under a directory.
func join(dir, name string) string {
	if dir == "" {
		return nm + name
	}
	return dir + "/" + nm + name
}

// parent is the directory whose node_modules holds the package at a path; for
// a folder of the project, the folder above.
func parent(key string) string {
	if i := strings.LastIndex(key, nm); i >= 0 && !strings.Contains(key[i+len(nm):], "/node_modules") {
		return strings.TrimSuffix(key[:i], "/")
	}
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		return key[:i]
	}
	return ""
}

// resolve finds a name as node does: in the folder's own node_modules, then in
// those above.
func resolve(d *lockfile.Doc, dir, name string) *lockfile.Node {
	for {
		if n := d.Node(join(dir, name)); n != nil {
			return n
		}
		if dir == "" {
			return nil
		}
		dir = parent(dir)
	}
}

// target is the package that an edge leads to. Peers are looked for beside
// the package, never inside it.
func target(d *lockfile.Doc, from *lockfile.Node, e lockfile.Edge) *lockfile.Node {
	if e.Name == "" {
		return d.Node(e.To)
	}
	return resolve(d, start(from, e), e.Name)
}

// start is the folder where the search for an edge begins.
func start(from *lockfile.Node, e lockfile.Edge) string {
	if from == nil {
		return ""
	}
	if peer(e) && !from.Root {
		return parent(from.Key)
	}
	return from.Key
}

func peer(e lockfile.Edge) bool { return e.Kind == lockfile.Peer || e.Kind == lockfile.PeerOptional }

// met reports whether an edge is satisfied by what it leads to.
func (r Ranges) met(d *lockfile.Doc, e lockfile.Edge, t *lockfile.Node) bool {
	if t == nil {
		return e.Kind == lockfile.Optional || e.Kind == lockfile.PeerOptional
	}
	if p := data(t); p != nil && p.link {
		if to := d.Node(p.to); to != nil {
			t = to
		}
		if t.Version == "" {
			return true
		}
		return r.Meets(e.Name, e.Req, "", t.Version)
	}
	if t.Version == "" {
		return true
	}
	return r.Meets(e.Name, e.Req, t.Name, t.Version)
}
