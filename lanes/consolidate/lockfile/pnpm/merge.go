package pnpm

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A settler decides between two entries of one key that both sides changed. A
// nil entry is one that the side does not have; a nil result, one that goes.
type settler func(before, ours, theirs *entry) (*entry, bool)

// merge3 merges the entries of one key three ways.
func merge3(before, ours, theirs []entry, settle settler) ([]entry, bool) {
	const most = 4096 // entries; no package has a quarter of that
	if len(ours)+len(theirs) > most {
		return nil, false
	}
	b, o, t := index(before), index(ours), index(theirs)
	out := make([]entry, 0, len(ours)+len(theirs))
	for i := range ours {
		e := &ours[i]
		was, they := b[e.key], t[e.key]
		switch {
		case same(e, they), same(was, they):
			out = append(out, *e)
		case same(was, e):
			if they != nil {
				out = append(out, *they)
			}
		default:
			r, ok := settle(was, e, they)
			if !ok {
				return nil, false
			}
			if r != nil {
				out = append(out, *r)
			}
		}
	}
	for i := range theirs {
		e := &theirs[i]
		was := b[e.key]
		if o[e.key] != nil || same(was, e) {
			continue
		}
		if was != nil { // ours removed what theirs changed
			r, ok := settle(was, nil, e)
			if !ok {
				return nil, false
			}
			if r == nil {
				continue
			}
			e = r
		}
		out = insert(out, *e)
	}
	return out, true
}

func index(list []entry) map[string]*entry {
	m := make(map[string]*entry, len(list))
	for i := range list {
		m[list[i].key] = &list[i]
	}
	return m
}

func same(a, b *entry) bool { return a == b || a != nil && b != nil && a.text() == b.text() }

// members of an entry, in pnpm's order.
var memberOrder = map[string]int{
	"resolution": 1, "id": 2, "name": 3, "version": 4, "engines": 5, "cpu": 6, "os": 7, "libc": 8,
	"deprecated": 9, "hasBin": 10, "prepare": 11, "requiresBuild": 12, "bundleDependencies": 13,
	"peerDependencies": 14, "peerDependenciesMeta": 15, "dependencies": 16, "optionalDependencies": 17,
	"transitivePeerDependencies": 18, "dev": 19, "optional": 20,
}

// insert puts an entry before the first that pnpm writes behind it.
func insert(list []entry, e entry) []entry {
	rank := memberOrder[e.key]
	at := len(list)
	for i := range list {
		if r := memberOrder[list[i].key]; rank > 0 && r > rank || rank == 0 && r == 0 && list[i].key > e.key {
			at = i
			break
		}
	}
	out := append(list[:at:at], e)
	return append(out, list[at:]...)
}

// compose is e with other entries below it.
func compose(e entry, list []entry) entry {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].text())
	}
	e.body = b.String()
	switch {
	case e.explicit: // the first line below a "? key" begins with the colon
		in := indent(e.head)
		e.body = e.body[:min(in, len(e.body))] + ":" + e.body[min(in+1, len(e.body)):]
	case e.body == "" && !e.item:
		e.head, e.val = strings.TrimSuffix(e.withKeyValue(e.key, ""), "\n")+" {}\n", "{}"
	case e.val == "{}" || e.val == "[]":
		e.head, e.val = e.withKeyValue(e.key, ""), ""
	}
	return e
}

// parts of an entry; what cannot be split has none.
func inside(e *entry) []entry {
	if e == nil {
		return nil
	}
	c := *e
	list, err := inner(&c)
	if err != nil {
		return nil
	}
	return list
}

// combine merges two nodes of one version that differ in something else.
func (r rules) combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	var was *entry
	if before != nil {
		was = &blockOf(before).entry
	}
	o, t := blockOf(ours), blockOf(theirs)
	if o.holds && t.holds {
		return ours, true
	}
	if o.holds != t.holds || o.explicit || t.explicit {
		return nil, false
	}
	switch x := ours.Data.(type) {
	case *pack:
		list, ok := merge3(inside(was), inside(&o.entry), inside(&t.entry), r.member)
		if !ok {
			return nil, false
		}
		return x.with(ours, compose(o.entry, list))
	case *need:
		return r.combineNeed(before, ours, theirs)
	}
	if o.body == "" || t.body == "" {
		return nil, false
	}
	list, ok := merge3(inside(was), inside(&o.entry), inside(&t.entry), r.member)
	if !ok || len(list) == 0 {
		return nil, false
	}
	return plain(ours, compose(o.entry, list)), true
}

// plain is a node without a meaning of its own, with other text.
func plain(n *lockfile.Node, e entry) *lockfile.Node {
	c := *n
	c.Raw, c.Data = []byte(e.text()), &block{entry: e}
	return &c
}

// with is the node with other text.
func (x *pack) with(n *lockfile.Node, e entry) (*lockfile.Node, bool) {
	section, _, _ := strings.Cut(n.Key, arrow)
	c := &lockfile.Node{Key: keyOf(section, e.key), Parent: n.Parent, Raw: []byte(e.text())}
	if err := x.dialect.decode(c, section, e); err != nil {
		return nil, false
	}
	packOf(c).recipe = x.recipe
	return c, true
}

// member settles one member of an entry that both sides changed.
func (r rules) member(before, ours, theirs *entry) (*entry, bool) {
	var key string
	if ours != nil {
		key = ours.key
	} else {
		key = theirs.key
	}
	switch key {
	case "dependencies", "optionalDependencies", "transitivePeerDependencies", "peerDependencies", "peerDependenciesMeta":
		list, ok := merge3(inside(before), inside(ours), inside(theirs), r.higher)
		if !ok || len(list) == 0 {
			return nil, ok
		}
		base := ours
		if base == nil {
			base = theirs
		}
		e := compose(*base, list)
		return &e, true
	case "dev", "optional", "deprecated", "requiresBuild": // derived, or a word of the registry's
		if ours == nil {
			return theirs, true
		}
		return ours, true
	case "specifier", "version":
		return r.higher(before, ours, theirs)
	}
	return nil, false
}

// higher takes the higher of two values.
func (r rules) higher(_, ours, theirs *entry) (*entry, bool) {
	if ours == nil || theirs == nil {
		return nil, false
	}
	a, _ := unquote(ours.val)
	b, _ := unquote(theirs.val)
	ab, _ := cutParens(a)
	bb, _ := cutParens(b)
	c, ok := r.Compare(ab, bb)
	if !ok {
		c, ok = r.CompareReqs(ab, bb)
	}
	switch {
	case !ok || c == 0:
		return nil, false
	case c < 0:
		return theirs, true
	}
	return ours, true
}

// combineNeed merges two entries of an importer that lead to one version: the
// requirement and the peers each three ways.
func (r rules) combineNeed(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	o, t := needOf(ours), needOf(theirs)
	b := needOf(before)
	if t == nil || ours.Parent != theirs.Parent {
		return nil, false
	}
	if b == nil {
		b = &need{}
	}
	spec, ok := pick(b.spec, o.spec, t.spec)
	if !ok {
		c, known := r.CompareReqs(o.spec, t.spec)
		if !known {
			return nil, false
		}
		if spec = o.spec; c < 0 {
			spec = t.spec
		}
	}
	ref, ok := pick(b.ref, o.ref, t.ref)
	if !ok {
		return nil, false
	}
	for _, n := range []*lockfile.Node{ours, theirs} {
		if x := needOf(n); x.spec == spec && x.ref == ref {
			return n, true
		}
	}
	n := ours
	if t.ref == ref {
		n = theirs
	}
	return withSpec(n, spec), true
}

// pick is the value of the side that changed it.
func pick(before, ours, theirs string) (string, bool) {
	switch {
	case ours == theirs, before == theirs:
		return ours, true
	case before == ours:
		return theirs, true
	}
	return "", false
}

// withSpec is an importer's entry with another requirement.
func withSpec(n *lockfile.Node, spec string) *lockfile.Node {
	x := *needOf(n)
	list := inside(&x.entry)
	for i := range list {
		if list[i].key == "specifier" {
			list[i].head = list[i].withKeyValue("specifier", spec)
		}
	}
	x.entry, x.spec = compose(x.entry, list), spec
	c := *n
	c.Raw, c.Data = []byte(x.entry.text()), &x
	c.Edges = append([]lockfile.Edge(nil), n.Edges...)
	for i := range c.Edges {
		if c.Edges[i].Req != "" {
			c.Edges[i].Req = spec
		}
	}
	return &c
}

// tool says why two nodes that cannot be combined need pnpm.
func tool(_, ours, theirs *lockfile.Node) string {
	if needOf(ours) == nil && packOf(ours) == nil || ours.Version != theirs.Version {
		return ""
	}
	return "two updates lead to " + ours.Name + "@" + ours.Version + " with different peers; only pnpm can say which are right"
}
