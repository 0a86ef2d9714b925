package npm

import (
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// origin is where the text of a moved package comes from.
type origin struct {
	doc *lockfile.Doc
	key string
}

// mender puts back what a merge by path has taken from somebody.
type mender struct {
	Ranges
	*lockfile.Merge
	moved map[string]origin
}

// repair looks at every edge of the merged tree. One that is unmet here, and
// was met on the side its package came from, gets that side's version again:
// where it was, if that place is free and nobody else is hurt, else nested
// under the package that needs it.
func (r Ranges) repair(m *lockfile.Merge) {
	w := &mender{Ranges: r, Merge: m, moved: map[string]origin{}}
	queue := slices.Clone(m.Keys())
	queued := make(map[string]bool, len(queue))
	for _, k := range queue {
		queued[k] = true
	}
	// Each step places one package deeper than the last or fills a gap, so it
	// ends; the bound is for hostile files.
	for budget := 20*len(queue) + 1000; len(queue) > 0 && budget > 0; budget-- {
		key := queue[0]
		queue = queue[1:]
		queued[key] = false
		n := m.Node(key)
		if n == nil {
			continue
		}
		for _, e := range n.Edges {
			if e.Name == "" || w.met(m.Doc, e, target(m.Doc, n, e)) {
				continue
			}
			for _, k := range w.mend(n, e) {
				if !queued[k] {
					queued[k] = true
					queue = append(queue, k)
				}
			}
		}
	}
}

// mend meets one edge, and returns the keys whose edges have to be looked at again.
func (w *mender) mend(n *lockfile.Node, e lockfile.Edge) []string {
	t, from := w.wanted(n, e)
	if t == nil {
		return nil
	}
	for _, at := range w.places(n, e, t) {
		old := w.Node(at)
		if old != nil && lockfile.Same(old, t) {
			continue
		}
		forced := old != nil && at == join(start(n, e), e.Name) && n.Root
		if old != nil && !forced {
			continue
		}
		if !forced && w.hurts(at, e.Name, t) {
			continue
		}
		return w.place(t, from, at)
	}
	return nil
}

// wanted is the package that met the edge on a side where n stood as it is.
func (w *mender) wanted(n *lockfile.Node, e lockfile.Edge) (*lockfile.Node, *lockfile.Doc) {
	if o, ok := w.moved[n.Key]; ok {
		if on := o.doc.Node(o.key); on != nil {
			if t := target(o.doc, on, e); t != nil && w.met(o.doc, e, t) {
				return t, o.doc
			}
		}
	}
	for _, d := range w.Sources() {
		on := d.Node(n.Key)
		if on == nil || on.Version != n.Version {
			continue
		}
		if t := target(d, on, e); t != nil && w.met(d, e, t) {
			return t, d
		}
	}
	// A requirement that this merge put together: any side's version that meets it.
	for _, d := range w.Sources() {
		if t := resolve(d, start(n, e), e.Name); t != nil && w.met(d, e, t) {
			return t, d
		}
	}
	return nil, nil
}

// places are where a package may stand for an edge, best first: where it was,
// if the dependent finds it there, then from the dependent upwards.
func (w *mender) places(n *lockfile.Node, e lockfile.Edge, t *lockfile.Node) []string {
	var out []string
	dir := start(n, e)
	for d := dir; ; d = parent(d) {
		at := join(d, e.Name)
		if at == t.Key {
			out = slices.Insert(out, 0, at)
		} else {
			out = append(out, at)
		}
		if d == "" || w.Node(at) != nil { // beyond it, this one would be found first
			break
		}
	}
	return out
}

// hurts reports whether a package placed there takes the place of one that
// somebody below finds further up and that only that one satisfies.
func (w *mender) hurts(at, name string, t *lockfile.Node) bool {
	dir := parent(at)
	for _, k := range w.Keys() {
		n := w.Node(k)
		if n.Parent == "" || (dir != "" && k != dir && !strings.HasPrefix(k, dir+"/")) {
			continue
		}
		for _, e := range n.Edges {
			if e.Name != name || !within(start(n, e), dir) {
				continue
			}
			cur := target(w.Doc, n, e)
			shadowed := cur == nil || len(parent(cur.Key)) < len(dir)
			if shadowed && w.met(w.Doc, e, cur) && !w.met(w.Doc, e, t) {
				return true
			}
		}
	}
	return false
}

func within(p, dir string) bool {
	return dir == "" || p == dir || strings.HasPrefix(p, dir+"/")
}

// place puts a package and what is nested in it at a path.
func (w *mender) place(t *lockfile.Node, from *lockfile.Doc, at string) []string {
	var touched []string
	put := func(n *lockfile.Node, key string) {
		behind := w.Behind(from, n.Key)
		if key != n.Key {
			behind = w.before(key)
		}
		c := rekey(n, key)
		w.Set(c, behind)
		w.moved[key] = origin{from, n.Key}
		touched = append(touched, key)
	}
	old := w.Node(at)
	put(t, at)
	inside := t.Key + "/" + nm
	for _, k := range from.Keys() {
		if rest, ok := strings.CutPrefix(k, inside); ok {
			if to := at + "/" + nm + rest; w.Node(to) == nil {
				put(from.Node(k), to)
			}
		}
	}
	if old != nil { // Whoever used the one that was here looks again.
		for _, k := range w.Keys() {
			for _, e := range w.Node(k).Edges {
				if e.Name == nameOf(at) {
					touched = append(touched, k)
					break
				}
			}
		}
	}
	return touched
}

// before is the key that a new one goes behind: the last smaller one.
func (w *mender) before(key string) string {
	behind := packagesKey
	for _, k := range w.Keys() {
		if k == "" || w.Node(k).Parent == packagesKey && w.Format.Less(k, key) {
			behind = k
		}
	}
	return behind
}

// rekey is a node under another path. An alias keeps its name in the text.
func rekey(n *lockfile.Node, key string) *lockfile.Node {
	if n.Key == key {
		return n
	}
	c := *n
	p := *data(n)
	p.member, p.fresh = p.member.WithKey(key), true
	c.Key, c.Raw, c.Data = key, p.member.Raw, &p
	return &c
}
