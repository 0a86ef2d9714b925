package consolidate

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// offers are who moves a dependency, and how, in the order of the heads.
type offers map[Update][]offer

type offer struct {
	head   *head
	update *update
}

// subject is an update without its versions: which dependency it moves.
func (u Update) subject() Update {
	u.From, u.To = "", ""
	return u
}

func offersOf(heads []*head) offers {
	out := offers{}
	for _, h := range heads {
		for _, u := range h.updates {
			out[u.subject()] = append(out[u.subject()], offer{h, u})
		}
	}
	return out
}

// supersede finds a head whose every update another one brings as well or
// better, and returns it with the reason; nil when h has something of its own.
//
// The relation is strict: of two equals the one with more updates stays, then
// the earlier one, so that no two supersede each other.
func (all offers) supersede(h *head) (by *head, why Reason) {
	if len(h.updates) == 0 {
		return nil, ""
	}
	var better []*head
	for _, u := range h.updates {
		o, reason := all.cover(u, h)
		if o == nil {
			return nil, ""
		}
		if by == nil || reason == HigherVersion && why != HigherVersion {
			by, why = o, reason
		}
		if !slices.Contains(better, o) {
			better = append(better, o)
		}
	}
	for _, d := range h.deltas {
		if !d.coveredBy(better) {
			return nil, ""
		}
	}
	return by, why
}

// coveredBy reports whether heads that bring all of a head's updates do to a
// file what it did beside them.
func (d *delta) coveredBy(heads []*head) bool {
	f := d.format()
	if f == nil {
		return format.Derived(d.Path) || slices.ContainsFunc(heads, func(o *head) bool { return slices.Contains(o.paths(), d.Path) })
	}
	if f.Lock {
		return true // it follows from the manifests
	}
	for _, c := range d.changes() {
		if cmpNode(c.After, c.Before).Name == "" && !slices.ContainsFunc(heads, func(o *head) bool { return o.makes(d.Path, c) }) {
			return false // a script, the text of a workflow
		}
	}
	return true
}

// makes reports whether a head makes the same change to a file.
func (h *head) makes(path string, c lockfile.Change) bool {
	return slices.ContainsFunc(h.deltas, func(d *delta) bool {
		return d.Path == path && slices.ContainsFunc(d.changes(), func(x lockfile.Change) bool {
			return x.Key == c.Key && lockfile.Same(x.After, c.After)
		})
	})
}

// cover finds the best that is offered in place of an update of h.
func (all offers) cover(u *update, h *head) (*head, Reason) {
	var best offer
	var why Reason
	earlier := true
	for _, o := range all[u.subject()] {
		if o.head == h {
			earlier = false
			continue
		}
		if !containsAll(o.update.files, u.files) {
			continue
		}
		c, ok := compareUpdates(o.update, u)
		more := len(o.head.updates) - len(h.updates)
		if !ok || c < 0 || c == 0 && (more < 0 || more == 0 && !earlier) {
			continue
		}
		if best.head != nil {
			c, ok := compareUpdates(o.update, best.update)
			if !ok || c < 0 || c == 0 && len(o.head.updates) <= len(best.head.updates) {
				continue
			}
		}
		if best, why = o, SameUpdate; c > 0 {
			why = HigherVersion
		}
	}
	return best.head, why
}

// compareUpdates orders what two updates of one dependency lead to.
func compareUpdates(a, b *update) (int, bool) {
	switch {
	case a.locked != nil && b.locked != nil && a.lock == b.lock:
		if c, ok := a.lock.Compare(a.locked, b.locked); ok && c != 0 {
			return c, c*compareAsked(a, b) >= 0
		}
		if a.locked.Version != b.locked.Version {
			return 0, false
		}
	case (a.locked == nil) != (b.locked == nil):
		return 0, false // one moves only the requirement
	}
	if a.node == nil || b.node == nil {
		return 0, a.node == b.node
	}
	if a.node.Version == b.node.Version {
		return 0, true
	}
	if a.format != b.format || a.format.Compare == nil {
		return 0, false
	}
	return a.format.Compare(a.node, b.node)
}

// compareAsked orders what two updates write into their manifests; zero: the
// same, or they have no order. A lockfile can be ahead of the one that asks for more.
func compareAsked(a, b *update) int {
	if a.node == nil || b.node == nil || a.format != b.format || a.format.Lock || a.format.Compare == nil {
		return 0
	}
	if c, ok := a.format.Compare(a.node, b.node); ok {
		return c
	}
	return 0
}

func containsAll(list, part []string) bool {
	for _, p := range part {
		if !slices.Contains(list, p) {
			return false
		}
	}
	return true
}
