package consolidate

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// mostTold is how many problems of one file are told one by one: who has more
// makes the file anew, and reads no list.
const mostTold = 10

// tolerated are the problems that the base has, by ID.
func (e *engine) tolerated(p string) map[string]bool {
	ids, ok := e.baseProblems[p]
	if !ok {
		ids = map[string]bool{}
		hard := 0
		for _, x := range e.base.Problems([]string{p}) {
			ids[x.ID()] = true
			if x.Soft {
				continue
			}
			if hard++; hard <= mostTold {
				e.warn("the base has this problem already: %s", e.base.Locate(x))
			}
		}
		if hard > mostTold {
			e.warn("the base has %d more problems in %s; have its package manager make it anew", hard-mostTold, p)
		}
		e.baseProblems[p] = ids
	}
	return ids
}

// fresh are the problems of a tree that the base does not have.
func (e *engine) fresh(t *tree.Tree, changed []string) []lockfile.Problem {
	var out []lockfile.Problem
	for _, p := range t.Concerned(changed) {
		for _, x := range t.Problems([]string{p}) {
			id := x.ID()
			if e.tolerated(p)[id] || x.Soft && x.Code == lockfile.Orphan {
				continue
			}
			out = append(out, x)
		}
	}
	return append(out, e.vendorProblems(t, changed)...)
}

// alone is what a head is by itself: its fork, and the fork with its changes.
func (e *engine) alone(h *head) (fork, alone *tree.Tree, err error) {
	entries, err := e.entries(h.fork)
	if err != nil {
		return nil, nil, err
	}
	fork = tree.New(e.Reader, entries)
	alone = fork.Child()
	for _, d := range h.deltas {
		alone.Set(d.Path, taken(d).file)
	}
	return fork, alone, nil
}

// ownProblems are those of a head by itself that its fork does not have.
func (e *engine) ownProblems(h *head) (map[string]lockfile.Problem, error) {
	if h.own != nil {
		return h.own, nil
	}
	fork, alone, err := e.alone(h)
	if err != nil {
		return nil, err
	}
	changed := h.paths()
	before := map[string]bool{}
	for _, x := range fork.Problems(fork.Concerned(changed)) {
		before[x.ID()] = true
	}
	h.own = map[string]lockfile.Problem{}
	for _, x := range alone.Problems(alone.Concerned(changed)) {
		if !before[x.ID()] {
			h.own[x.ID()] = x
		}
	}
	return h.own, nil
}

func (h *head) paths() []string {
	out := make([]string, len(h.deltas))
	for i, d := range h.deltas {
		out[i] = d.Path
	}
	return out
}

// regressions are what a merge must never do to a head's files: lower what the
// head did not lower, or lose what it brings.
func regressions(before, after *tree.Tree, h *head) []lockfile.Problem {
	var out []lockfile.Problem
	for _, d := range h.deltas {
		was, now := before.Doc(d.Path), after.Doc(d.Path)
		if d.patch == nil || now == nil || now.Format.Compare == nil {
			continue
		}
		wants := map[string]*lockfile.Node{}
		for _, c := range d.patch.Changes {
			wants[c.Key] = c.After
		}
		now.Nodes(func(n *lockfile.Node) {
			if n.Version == "" || now.Format.Nested != nil && now.Format.Nested(n.Key) {
				return
			}
			want, changed := wants[n.Key]
			if changed && lower(now.Format, n, want) {
				out = append(out, lockfile.Problem{Code: lockfile.NotIncluded, Path: d.Path, Key: n.Key, Name: n.Name, Req: want.Version, Have: n.Version})
			}
			if was == nil || was.Format != now.Format || want != nil && want.Version == n.Version {
				return
			}
			if old := was.Node(n.Key); old != n && lower(now.Format, n, old) {
				out = append(out, lockfile.Problem{Code: lockfile.BelowBase, Path: d.Path, Key: n.Key, Name: n.Name, Req: old.Version, Have: n.Version})
			}
		})
	}
	for _, u := range h.updates {
		if p, ok := u.arrived(before, after); !ok {
			out = append(out, p)
		}
	}
	return out
}

func lower(f *lockfile.Format, a, b *lockfile.Node) bool {
	if a == nil || b == nil || a == b || f.Compare == nil {
		return false
	}
	c, ok := f.Compare(a, b)
	return ok && c < 0
}

// arrived reports whether an update's files hold its dependency at the update's
// version or higher, each at its own: one file may name a commit, another a tag.
// What was dropped before the head came has nowhere to arrive.
func (u *update) arrived(before, after *tree.Tree) (lockfile.Problem, bool) {
	for _, b := range u.brings {
		d := after.Doc(b.path)
		if d == nil || d.Format != u.format || b.now.Version == "" {
			continue
		}
		if n := d.Node(b.now.Key); n != nil {
			if lower(d.Format, n, b.now) {
				return lockfile.Problem{Code: lockfile.NotIncluded, Path: b.path, Key: n.Key, Name: u.Name, Req: b.now.Version, Have: n.Version}, false
			}
			continue
		}
		if was := before.Doc(b.path); b.before != nil && was != nil && !named(was, u.Name) {
			continue
		}
		found := false
		d.Nodes(func(n *lockfile.Node) { found = found || n.Name == u.Name && !lower(d.Format, n, b.now) })
		if !found {
			return lockfile.Problem{Code: lockfile.NotIncluded, Path: b.path, Key: b.now.Key, Name: u.Name, Req: b.now.Version}, false
		}
	}
	return lockfile.Problem{}, true
}

// revives refuses a head that would bring back a dependency which others have
// dropped from their manifest, only to bump it.
func (h *head) revives(was, now *tree.Tree) error {
	for _, u := range h.updates {
		for _, b := range u.brings {
			if b.before != nil && u.dropped(was, b.path) && !u.dropped(now, b.path) {
				return u.gone(b.path)
			}
		}
	}
	return nil
}

// nothingLeft refuses a head of which nothing arrives because what it moves has
// been dropped.
func (h *head) nothingLeft(t *tree.Tree) *refusal {
	for _, u := range h.updates {
		for _, b := range u.brings {
			if u.From != "" && u.dropped(t, b.path) {
				return u.gone(b.path)
			}
		}
	}
	return nil
}

// pointless reports whether nothing is left in a tree of what a head moves.
func (h *head) pointless(t *tree.Tree) bool { return h.nothingLeft(t) != nil }

func (u *update) dropped(t *tree.Tree, path string) bool {
	d := t.Doc(path)
	return d != nil && !named(d, u.Name)
}

func (u *update) gone(path string) *refusal {
	return &refusal{Gone, u.Name + " is not in " + path + " any more", Evidence{File: path, Key: u.Name, Theirs: u.To}}
}

func named(d *lockfile.Doc, name string) bool {
	found := false
	d.Nodes(func(n *lockfile.Node) { found = found || n.Name == name })
	return found
}
