package npm

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

const nm = "node_modules/"

// maxPath is the longest path of a package: the limit of Linux for a path. It
// bounds what a hostile file can make of its nesting.
const maxPath = 4096

// join is the path of a package placed under a directory.
func join(dir, name string) string {
	if dir == "" {
		return nm + name
	}
	return dir + "/" + nm + name
}

// inside is the offset of a path behind its last node_modules/, or -1.
func inside(key string) int {
	for end := len(key); ; {
		i := strings.LastIndex(key[:end], nm)
		if i < 0 {
			return -1
		}
		if i == 0 || key[i-1] == '/' {
			return i + len(nm)
		}
		end = i
	}
}

// nameOf is the package name that a path ends in.
func nameOf(key string) string {
	if i := inside(key); i >= 0 {
		return key[i:]
	}
	if key == "" {
		return "."
	}
	return key
}

// parent is the directory whose node_modules holds the package at a path; for
// a folder of the project, the folder above.
func parent(key string) string {
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return ""
	}
	dir := key[:i]
	if up, ok := modules(dir); ok {
		return up
	}
	if i := strings.LastIndexByte(dir, '/'); i >= 0 && dir[i+1:] != "" && dir[i+1] == '@' {
		if up, ok := modules(dir[:i]); ok {
			return up
		}
	}
	return dir
}

// modules is the folder that has this folder of packages.
func modules(dir string) (of string, ok bool) {
	const name = "node_modules"
	if dir == name {
		return "", true
	}
	return strings.CutSuffix(dir, "/"+name)
}

// outside reports whether a folder is not in the project, so that what is in
// it finds nothing of the project's.
func outside(dir string) bool { return dir == ".." || strings.HasPrefix(dir, "../") }

// top reports whether the search for a package ends in a folder.
func top(dir string) bool { return dir == "" || outside(dir) && inside(dir) < 0 }

// within reports whether a path is a directory or below it.
func within(p, dir string) bool {
	return dir == "" || strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/')
}

// resolve finds a name as node does: in the folder's own node_modules, then in
// those above.
func resolve(d *lockfile.Doc, dir, name string) *lockfile.Node {
	var room [256]byte
	for {
		key := append(room[:0], dir...)
		if dir != "" {
			key = append(key, '/')
		}
		key = append(append(key, nm...), name...)
		if n := d.At(key); n != nil {
			return n
		}
		if top(dir) {
			return nil
		}
		dir = parent(dir)
	}
}

// target is the package that an edge leads to.
func target(d *lockfile.Doc, from *lockfile.Node, e lockfile.Edge) *lockfile.Node {
	if e.Name == "" {
		return d.Node(e.To)
	}
	dir := ""
	if from != nil {
		dir = from.Key
	}
	return resolve(d, dir, e.Name)
}

// start is the folder where a package that meets the edge may stand deepest.
// Peers stand beside their dependent, never inside it.
func start(from *lockfile.Node, e lockfile.Edge) string {
	if peer(e) && !from.Root {
		return parent(from.Key)
	}
	return from.Key
}

func peer(e lockfile.Edge) bool { return e.Kind == lockfile.Peer || e.Kind == lockfile.PeerOptional }

// linked is what a link leads to; another package is itself.
func linked(d *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if p := data(n); p.link {
		if to := d.Node(p.resolved); to != nil {
			return to
		}
	}
	return n
}
