package modules

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

const nm = "node_modules/"

// MaxPath is the longest path of a package: the limit of Linux for a path. It
// bounds what a hostile file can make of its nesting.
const MaxPath = 4096

// Join is the path of a package placed under a directory.
func Join(dir, name string) string {
	if dir == "" {
		return nm + name
	}
	return dir + "/" + nm + name
}

// Inside is the offset of a path behind its last node_modules/, or -1.
func Inside(key string) int {
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

// NameOf is the package name that a path ends in.
func NameOf(key string) string {
	if i := Inside(key); i >= 0 {
		return key[i:]
	}
	if key == "" {
		return "."
	}
	return key
}

// Parent is the directory whose node_modules holds the package at a path; for
// a folder of the project, the folder above.
func Parent(key string) string {
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

// Outside reports whether a folder is not in the project, so that what is in
// it finds nothing of the project's.
func Outside(dir string) bool { return dir == ".." || strings.HasPrefix(dir, "../") }

// top reports whether the search for a package ends in a folder.
func top(dir string) bool { return dir == "" || Outside(dir) && Inside(dir) < 0 }

// Within reports whether a path is a directory or below it.
func Within(p, dir string) bool {
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
		dir = Parent(dir)
	}
}

// Target is the package that an edge leads to.
func Target(d *lockfile.Doc, from *lockfile.Node, e lockfile.Edge) *lockfile.Node {
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
	if IsPeer(e) && !from.Root {
		return Parent(from.Key)
	}
	return from.Key
}

// IsPeer reports whether an edge is met from outside its package.
func IsPeer(e lockfile.Edge) bool { return e.Kind == lockfile.Peer || e.Kind == lockfile.PeerOptional }

// Linked is what a link leads to; another package is itself.
func Linked(d *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if p := Of(n); p.Link {
		if to := d.Node(p.Resolved); to != nil {
			return to
		}
	}
	return n
}

// Depth is how many folders of packages a path goes through.
func Depth(key string) int { return strings.Count(key, nm) }
