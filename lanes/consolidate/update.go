package consolidate

import (
	"path"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// An update is a dependency that a head moves, with the nodes that show it.
type update struct {
	Update
	format *lockfile.Format // of the manifest, or of the lockfile if there is none
	node   *lockfile.Node   // after; nil when removed
	lock   *lockfile.Format
	locked *lockfile.Node // highest locked version after
	files  []string
	brings []bringing
	fork   *lockfile.Doc // the lockfile that it started from
}

// bringing is what an update wants in a file, and what was there.
type bringing struct {
	path        string
	before, now *lockfile.Node // before is nil when the head adds it
}

// findUpdates tells what a head is about: the requirements that it changes; if
// it changes only lockfiles, the packages that its message names; else all.
func (h *head) findUpdates() {
	byName := map[[3]string]*update{}
	var order []*update
	get := func(f *lockfile.Format, dir, name string) *update {
		k := [3]string{f.Ecosystem, dir, name}
		if byName[k] == nil {
			byName[k] = &update{Update: Update{Ecosystem: f.Ecosystem, Directory: dir, Name: name}, format: f}
			order = append(order, byName[k])
		}
		return byName[k]
	}
	locks := map[[3]string]*update{}
	var lockOrder []*update
	for _, d := range h.deltas {
		f := d.format()
		if f == nil {
			continue
		}
		dir := directory(d.Path)
		for _, c := range d.changes() {
			n := cmpNode(c.After, c.Before)
			if n.Name == "" {
				continue
			}
			h.names[n.Name] = true
			if versionOf(c.Before) == versionOf(c.After) {
				continue
			}
			if n.Direct && !f.Lock {
				u := get(f, dir, n.Name)
				if c.Before != nil {
					u.From = c.Before.Version
				}
				if c.After != nil {
					u.To, u.node = c.After.Version, c.After
					u.brings = append(u.brings, bringing{d.Path, c.Before, c.After})
				}
				if !slices.Contains(u.files, d.Path) {
					u.files = append(u.files, d.Path)
				}
				continue
			}
			k := [3]string{f.Ecosystem, dir, n.Name}
			u := locks[k]
			if u == nil {
				u = &update{Update: Update{Ecosystem: f.Ecosystem, Directory: dir, Name: n.Name}, format: f, lock: f}
				locks[k] = u
				lockOrder = append(lockOrder, u)
			}
			if !slices.Contains(u.files, d.Path) {
				u.files = append(u.files, d.Path)
			}
			u.raise(f, d.Path, c)
			if d.patch != nil && u.fork == nil {
				u.fork = d.patch.Fork
			}
		}
	}
	since(lockOrder)
	h.updates = order
	for _, u := range order {
		for dir := u.Directory; ; dir = path.Dir(dir) {
			if l := locks[[3]string{u.Ecosystem, dir, u.Name}]; l != nil && l.locked != nil {
				u.From, u.To, u.lock, u.locked = cmpString(l.From, u.From), l.To, l.lock, l.locked
				break
			}
			if dir == "/" {
				break
			}
		}
	}
	if len(h.updates) > 0 {
		return
	}
	// An entry that only goes by another name now, for the peers in it, moves nothing.
	lockOrder = slices.DeleteFunc(lockOrder, func(u *update) bool { return u.From == u.To })
	for _, u := range lockOrder {
		if u.locked != nil && h.mentions(u.Name) {
			h.updates = append(h.updates, u)
		}
	}
	if len(h.updates) == 0 {
		h.updates = lockOrder
	}
}

// since looks in the forks for what dependencies come from, where no entry of
// the same key says so: the highest version there.
func since(list []*update) {
	highest := map[*lockfile.Doc]map[string]*lockfile.Node{}
	for _, u := range list {
		if u.From != "" || u.fork == nil || u.lock.Compare == nil {
			continue
		}
		of := highest[u.fork]
		if of == nil {
			of = map[string]*lockfile.Node{}
			highest[u.fork] = of
			u.fork.Nodes(func(n *lockfile.Node) {
				if best := of[n.Name]; n.Version != "" && (best == nil || lower(u.fork.Format, best, n)) {
					of[n.Name] = n
				}
			})
		}
		u.From = versionOf(of[u.Name])
	}
}

// raise notes one changed entry of a lockfile: of several copies the highest counts.
func (u *update) raise(f *lockfile.Format, path string, c lockfile.Change) {
	higher := func(a, b *lockfile.Node) bool {
		if b == nil || f.Compare == nil {
			return true
		}
		x, ok := f.Compare(a, b)
		return !ok || x > 0
	}
	if c.After != nil && c.After.Version != "" && higher(c.After, u.locked) {
		u.locked, u.node, u.To = c.After, c.After, c.After.Version
		u.brings = []bringing{{path, nil, c.After}}
	}
	if c.Before != nil && c.Before.Version != "" && (u.From == "" || higher(c.Before, &lockfile.Node{Version: u.From})) {
		u.From = c.Before.Version
	}
}

// mentions reports whether a head's message or branch names a package.
func (h *head) mentions(name string) bool {
	isWord := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '/' || b == '@'
	}
	text := h.tip.Message
	if len(text) > 100_000 {
		text = text[:100_000]
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
			if !strings.Contains(text[:i], "\n") || strings.Contains(line, "dependency-name:") {
				return true
			}
		}
		from = end
	}
	return strings.Contains(h.branch+"-", "/"+strings.TrimPrefix(name, "@")+"-")
}

// directory is where users would say that a file is: workflows belong to the root.
func directory(p string) string {
	dir := path.Dir(p)
	if dir == "." || dir == ".github/workflows" || dir == "vendor" {
		return "/"
	}
	return "/" + strings.TrimSuffix(dir, "/vendor")
}

func cmpNode(a, b *lockfile.Node) *lockfile.Node {
	if a != nil {
		return a
	}
	return b
}

func cmpString(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func versionOf(n *lockfile.Node) string {
	if n == nil {
		return ""
	}
	return n.Version
}
