package pnpm

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

// members of an entry, in pnpm's order.
var memberOrder = map[string]int{
	"resolution": 1, "id": 2, "name": 3, "version": 4, "engines": 5, "cpu": 6, "os": 7, "libc": 8,
	"deprecated": 9, "hasBin": 10, "prepare": 11, "requiresBuild": 12, "bundleDependencies": 13,
	"peerDependencies": 14, "peerDependenciesMeta": 15, "dependencies": 16, "optionalDependencies": 17,
	"transitivePeerDependencies": 18, "dev": 19, "optional": 20,
}

// insert puts an entry before the first that pnpm writes behind it.
func insert(list []yamltext.Entry, e yamltext.Entry) []yamltext.Entry {
	rank := memberOrder[e.Key]
	at := len(list)
	for i := range list {
		if r := memberOrder[list[i].Key]; rank > 0 && r > rank || rank == 0 && r == 0 && list[i].Key > e.Key {
			at = i
			break
		}
	}
	out := append(list[:at:at], e)
	return append(out, list[at:]...)
}

// combine merges two nodes of one version that differ in something else.
func (r rules) combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	var was *yamltext.Entry
	if before != nil {
		was = &blockOf(before).Entry
	}
	o, t := blockOf(ours), blockOf(theirs)
	if o.holds && t.holds {
		return ours, true
	}
	if o.holds != t.holds || o.Explicit || t.Explicit {
		return nil, false
	}
	switch x := ours.Data.(type) {
	case *pack:
		list, ok := yamltext.Merge3(was.Inside(), o.Entry.Inside(), t.Entry.Inside(), r.member, insert)
		if !ok {
			return nil, false
		}
		return x.with(ours, o.Entry.With(list))
	case *need:
		return r.combineNeed(before, ours, theirs)
	}
	if o.Body == "" || t.Body == "" {
		return nil, false
	}
	list, ok := yamltext.Merge3(was.Inside(), o.Entry.Inside(), t.Entry.Inside(), r.member, insert)
	if !ok || len(list) == 0 {
		return nil, false
	}
	return plain(ours, o.Entry.With(list)), true
}

// plain is a node without a meaning of its own, with other text.
func plain(n *lockfile.Node, e yamltext.Entry) *lockfile.Node {
	c := *n
	c.Raw, c.Data = []byte(e.Text()), &block{Entry: e}
	return &c
}

// with is the node with other text.
func (x *pack) with(n *lockfile.Node, e yamltext.Entry) (*lockfile.Node, bool) {
	section, _, _ := strings.Cut(n.Key, arrow)
	c := &lockfile.Node{Key: keyOf(section, e.Key), Parent: n.Parent, Raw: []byte(e.Text())}
	if err := x.dialect.decode(c, section, e); err != nil {
		return nil, false
	}
	packOf(c).recipe = x.recipe
	return c, true
}

// member settles one member of an entry that both sides changed.
func (r rules) member(before, ours, theirs *yamltext.Entry) (*yamltext.Entry, bool) {
	var key string
	if ours != nil {
		key = ours.Key
	} else {
		key = theirs.Key
	}
	switch key {
	case "dependencies", "optionalDependencies", "transitivePeerDependencies", "peerDependencies", "peerDependenciesMeta":
		list, ok := yamltext.Merge3(before.Inside(), ours.Inside(), theirs.Inside(), r.higher, insert)
		if !ok || len(list) == 0 {
			return nil, ok
		}
		base := ours
		if base == nil {
			base = theirs
		}
		e := base.With(list)
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
func (r rules) higher(_, ours, theirs *yamltext.Entry) (*yamltext.Entry, bool) {
	if ours == nil || theirs == nil {
		return nil, false
	}
	a, _ := yamltext.Unquote(ours.Val)
	b, _ := yamltext.Unquote(theirs.Val)
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
	list := x.Entry.Inside()
	for i := range list {
		if list[i].Key == "specifier" {
			list[i].Head = list[i].WithKeyValue("specifier", spec)
		}
	}
	x.Entry, x.spec = x.Entry.With(list), spec
	c := *n
	c.Raw, c.Data = []byte(x.Entry.Text()), &x
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
