package modules

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// mostMoves is how many packages a repair places at most, so that no file can
// keep it busy; real ones take some dozens. What is left unmet the check finds.
const mostMoves = 5000

// MostNested is how many levels deep a repair nests packages at most. Nothing
// real is nested deeper than some ten levels; packages that need each other's
// older versions in a circle would be nested without end. (Npm makes a link there.)
const MostNested = 24

// origin is where the text of a moved package comes from.
type origin struct {
	doc *lockfile.Doc
	key string
}

// mender puts back what a merge by path has taken from somebody.
type mender struct {
	Judge
	*lockfile.Merge
	layout Layout
	// project stands for the manifest where the file has no entry for it.
	project *lockfile.Node
	moved   map[string]origin
	moves   int
	users   map[string][]string    // by name: the packages that need it
	named   map[string][]candidate // by name: the packages of all sides
	queue   []string
	queued  map[string]bool
}

// Layout is how a file writes its packages down.
type Layout struct {
	// Rekey is a package under another path.
	Rekey func(d *lockfile.Doc, n *lockfile.Node, key string) *lockfile.Node
	// Behind is the key that a new package goes behind.
	Behind func(d *lockfile.Doc, key string) string
}

// Repair looks at the edges of the merged tree that the merge may have cut. One
// that is unmet here, and in neither side alone, gets the version again that
// met it on the side its package came from. What came inside an archive travels
// with that. Where the file does not hold the project's own needs, they are
// read from its manifest.
func Repair(m *lockfile.Merge, j Judge, l Layout) {
	changed := bundles(m)
	w := &mender{Judge: j, Merge: m, layout: l, moved: map[string]origin{}, queued: map[string]bool{}}
	if m.Format.Roots != nil {
		if d := Manifest(m.Doc, m.Tree, ""); d != nil {
			w.project = &lockfile.Node{Root: true, Edges: npm.Needs(d), Data: &Package{}}
		}
	}
	for _, c := range m.Patch.Changes {
		changed[NameOf(c.Key)] = true
	}
	if !w.search(changed) {
		return
	}
	m.Prune() // what nobody needs is nobody's obstacle
	for len(w.queue) > 0 && w.moves < mostMoves {
		key := w.queue[0]
		w.queue = w.queue[1:]
		w.queued[key] = false
		n := w.node(key)
		if n == nil {
			continue
		}
		for _, e := range n.Edges {
			t := Target(m.Doc, n, e)
			if e.Name == "" || w.Met(m.Doc, n, e, t) || w.unmetAlready(n, e, t) {
				continue
			}
			w.mend(n, e, t)
		}
	}
}

// search lists the packages with an unmet edge. Only what leads to a changed
// name can have changed, or what changed itself.
func (w *mender) search(changed map[string]bool) bool {
	w.packages(func(n *lockfile.Node) {
		old := w.Before.Node(n.Key)
		for _, e := range n.Edges {
			if e.Name != "" && (old != n || changed[e.Name]) && !w.Met(w.Doc, n, e, Target(w.Doc, n, e)) {
				w.look(n.Key)
				return
			}
		}
	})
	return len(w.queue) > 0
}

// packages calls f for every package, and for the project.
func (w *mender) packages(f func(n *lockfile.Node)) {
	if w.project != nil {
		f(w.project)
	}
	w.Nodes(func(n *lockfile.Node) {
		if len(n.Edges) > 0 {
			f(n)
		}
	})
}

// node is a package, or the project.
func (w *mender) node(key string) *lockfile.Node {
	if key == "" && w.project != nil {
		return w.project
	}
	return w.Node(key)
}

// look puts a package's edges on the list of what has to be looked at.
func (w *mender) look(key string) {
	if !w.queued[key] {
		w.queued[key] = true
		w.queue = append(w.queue, key)
	}
}

// counterpart is the package of a side that a package of the result is, if the
// side has it with this edge.
func counterpart(d *lockfile.Doc, n *lockfile.Node, e lockfile.Edge) *lockfile.Node {
	on := d.Node(n.Key)
	if on == nil || on.Version != n.Version || !slices.Contains(on.Edges, e) {
		return nil
	}
	return on
}

// unmetAlready reports whether an edge is just as unmet on a side of its own:
// then that is not this merge's to mend.
func (w *mender) unmetAlready(n *lockfile.Node, e lockfile.Edge, t *lockfile.Node) bool {
	for _, d := range []*lockfile.Doc{w.Head(), w.Before} {
		on := counterpart(d, n, e)
		if on == nil {
			continue
		}
		switch was := Target(d, on, e); {
		case t == nil && was == nil, t != nil && was != nil && was.Key == t.Key && was.Version == t.Version:
			return true
		}
	}
	return false
}

// mend meets one edge, which leads to t now, if it can: with what met it where
// its package comes from, else with any side's, the highest version first.
func (w *mender) mend(n *lockfile.Node, e lockfile.Edge, t *lockfile.Node) {
	for _, find := range []func(*lockfile.Node, lockfile.Edge) []candidate{w.former, w.others} {
		for _, c := range find(n, e) {
			if at, ok := w.room(n, e, t, c); ok {
				w.place(c, at)
				return
			}
		}
	}
}

// candidate is a package of a side.
type candidate struct {
	*lockfile.Node
	from *lockfile.Doc
}

// former are the packages that met an edge before.
func (w *mender) former(n *lockfile.Node, e lockfile.Edge) []candidate {
	var out []candidate
	add := func(on *lockfile.Node, from *lockfile.Doc) {
		if on == nil {
			return
		}
		if t := Target(from, on, e); t != nil && w.Met(from, on, e, t) && !Of(t).Bundled {
			out = append(out, candidate{t, from})
		}
	}
	if o, ok := w.moved[n.Key]; ok {
		add(o.doc.Node(o.key), o.doc)
	}
	for _, d := range w.Sources() {
		add(counterpart(d, n, e), d)
	}
	return out
}

// others are the packages of all sides that meet an edge.
func (w *mender) others(n *lockfile.Node, e lockfile.Edge) []candidate {
	if w.named == nil {
		w.named = map[string][]candidate{}
		for _, d := range w.Sources() {
			d.Nodes(func(t *lockfile.Node) {
				if t.Name != "" && Inside(t.Key) >= 0 && !Of(t).Bundled {
					w.named[NameOf(t.Key)] = append(w.named[NameOf(t.Key)], candidate{t, d})
				}
			})
		}
	}
	var out []candidate
	for _, c := range w.named[e.Name] {
		if w.Met(c.from, n, e, c.Node) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		c, _ := w.Compare(b.Version, a.Version)
		return c
	})
	return out
}

// room finds the path for a package that an edge needs, which leads to t now:
// where it was, if its dependent finds it there, else as high as it can stand
// without taking another's place. If there is none, it replaces t where t would
// always be found first, and those who used t look again.
func (w *mender) room(n *lockfile.Node, e lockfile.Edge, t *lockfile.Node, c candidate) (string, bool) {
	var free []string
	var blocked *lockfile.Node
	for dir := start(n, e); ; dir = Parent(dir) {
		at := Join(dir, e.Name)
		if blocked = w.Node(at); blocked != nil {
			break // beyond it, this one would be found first
		}
		if (dir == "" || w.Node(dir) != nil) && len(at) <= MaxPath && Depth(at) <= MostNested {
			free = append(free, at)
		}
		if top(dir) {
			break
		}
	}
	slices.Reverse(free)
	if i := slices.Index(free, c.Key); i > 0 {
		free = slices.Insert(slices.Delete(free, i, i+1), 0, c.Key)
	}
	second := "" // where it would stand, but its own peers would not fit
	for _, at := range free {
		if w.hurts(at, e.Name, c.Node, true) {
			continue
		}
		if w.fits(at, c.Node) {
			return at, true
		}
		if second == "" {
			second = at
		}
	}
	if second != "" {
		return second, true
	}
	if t == nil || t != blocked || Of(t).Bundled {
		return "", false
	}
	if Parent(t.Key) == n.Key || !w.hurts(t.Key, e.Name, c.Node, false) {
		return t.Key, true
	}
	return "", false
}

// fits reports whether the peers of a package at a path are met there, or could
// be by others beside it.
func (w *mender) fits(at string, c *lockfile.Node) bool {
	dir := Parent(at)
	for _, e := range c.Edges {
		if !IsPeer(e) {
			continue
		}
		t := resolve(w.Doc, dir, e.Name)
		if t != nil && Parent(t.Key) == dir && !w.Met(w.Doc, c, e, t) {
			return false
		}
	}
	return true
}

// hurts reports whether a package at a path takes the place of one that
// somebody finds now and that only that one can be: shadow says that the place
// is free, so it is about those who look further up; else about those who use
// what stands there and have no folder of their own for another.
func (w *mender) hurts(at, name string, c *lockfile.Node, shadow bool) bool {
	dir := Parent(at)
	for _, key := range w.usersOf(name) {
		n := w.node(key)
		if n == nil || !Within(key, dir) {
			continue
		}
		for _, e := range n.Edges {
			if e.Name != name || w.Met(w.Doc, n, e, &lockfile.Node{Key: at, Name: c.Name, Version: c.Version, Data: c.Data}) {
				continue
			}
			t := Target(w.Doc, n, e)
			if shadow {
				// A peer may not stand in the folder of who needs it.
				above := t == nil || len(Parent(t.Key)) < len(dir)
				if above && Within(start(n, e), dir) && w.Met(w.Doc, n, e, t) || IsPeer(e) && !n.Root && key == dir {
					return true
				}
			} else if t != nil && t.Key == at && (IsPeer(e) || key == dir) && w.Met(w.Doc, n, e, t) {
				return true
			}
		}
	}
	return false
}

// usersOf are the packages that need a name. What the repair adds is noted, what
// it removes stays in the list.
func (w *mender) usersOf(name string) []string {
	if w.users == nil {
		w.users = map[string][]string{}
		w.packages(w.use)
	}
	return w.users[name]
}

func (w *mender) use(n *lockfile.Node) {
	for _, e := range n.Edges {
		if e.Name != "" {
			w.users[e.Name] = append(w.users[e.Name], n.Key)
		}
	}
}

// place puts a package with all that is nested in it at a path, in place of
// what stands there.
func (w *mender) place(c candidate, at string) {
	w.moves++
	name := NameOf(at)
	users := w.usersOf(name)
	if old := w.Node(at); old != nil {
		for _, key := range users {
			if n := w.node(key); n != nil && Within(key, Parent(at)) {
				w.look(key)
			}
		}
		for _, n := range below(w.Doc, at) {
			w.Delete(n.Key)
		}
	}
	put := func(n *lockfile.Node, key string) {
		behind := w.layout.Behind(w.Doc, key)
		if key == n.Key {
			behind = w.Behind(c.from, key)
		}
		x := w.layout.Rekey(w.Doc, n, key)
		w.Set(x, behind)
		w.moved[key] = origin{c.from, n.Key}
		w.use(x)
		w.look(key)
	}
	put(c.Node, at)
	for _, n := range below(c.from, c.Key) {
		put(n, at+n.Key[len(c.Key):])
	}
	// Those below look whether they find the new one and what it is to them.
	for _, key := range users {
		if Within(key, Parent(at)) {
			w.look(key)
		}
	}
}

// below are the packages nested in a package, in file order.
func below(d *lockfile.Doc, key string) []*lockfile.Node {
	var out []*lockfile.Node
	d.Nodes(func(n *lockfile.Node) {
		if len(n.Key) > len(key) && Within(n.Key, key) && n.Name != "" {
			out = append(out, n)
		}
	})
	return out
}
