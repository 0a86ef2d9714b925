package consolidate

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// supersede finds a head whose every update another one brings as well or
// better, and returns it with the reason; nil when h has something of its own.
//
// The relation is strict: of two equals the one with more updates stays, then
// the earlier one, so that no two supersede each other.
func supersede(h *head, all []*head) (by *head, why Reason) {
	if len(h.updates) == 0 {
		return nil, ""
	}
	for _, d := range h.deltas {
		f := d.format()
		if f == nil && !coveredFile(d.Path, h, all) {
			return nil, ""
		}
		if f == nil || f.Lock {
			continue
		}
		for _, c := range d.changes() {
			if cmpNode(c.After, c.Before).Name == "" && !coveredText(d.Path, c, h, all) {
				return nil, ""
			}
		}
	}
	for _, u := range h.updates {
		better, reason := covers(u, h, all)
		if better == nil {
			return nil, ""
		}
		if by == nil {
			by, why = better, reason
		}
		if reason == HigherVersion && why != HigherVersion {
			by, why = better, reason
		}
	}
	return by, why
}

// coveredFile reports whether another head changes a file of no known format, too.
func coveredFile(path string, h *head, all []*head) bool {
	for _, o := range all {
		if o != h && slices.ContainsFunc(o.deltas, func(d *delta) bool { return d.Path == path }) {
			return true
		}
	}
	return false
}

// coveredText reports whether another head makes the same change to a manifest
// that is no update: a script, the text of a workflow.
func coveredText(path string, c lockfile.Change, h *head, all []*head) bool {
	return slices.ContainsFunc(all, func(o *head) bool {
		return o != h && slices.ContainsFunc(o.deltas, func(d *delta) bool {
			return d.Path == path && slices.ContainsFunc(d.changes(), func(x lockfile.Change) bool {
				return x.Key == c.Key && lockfile.Same(x.After, c.After)
			})
		})
	})
}

func covers(u *update, h *head, all []*head) (*head, Reason) {
	for _, o := range all {
		if o == h {
			continue
		}
		for _, v := range o.updates {
			if !v.is(u.Update) || !containsAll(v.files, u.files) {
				continue
			}
			c, ok := compareUpdates(v, u)
			switch {
			case !ok || c < 0:
			case c > 0:
				return o, HigherVersion
			case len(o.updates) > len(h.updates),
				len(o.updates) == len(h.updates) && slices.Index(all, o) < slices.Index(all, h):
				return o, SameUpdate
			}
		}
	}
	return nil, ""
}

// is reports whether two updates move the same dependency.
func (u Update) is(v Update) bool {
	return u.Ecosystem == v.Ecosystem && u.Directory == v.Directory && u.Name == v.Name
}

// compareUpdates orders what two updates of one dependency lead to.
func compareUpdates(a, b *update) (int, bool) {
	switch {
	case a.locked != nil && b.locked != nil && a.lock == b.lock:
		if c, ok := a.lock.Compare(a.locked, b.locked); ok && c != 0 {
			return c, true
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

func containsAll(list, part []string) bool {
	for _, p := range part {
		if !slices.Contains(list, p) {
			return false
		}
	}
	return true
}
