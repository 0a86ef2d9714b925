package pnpm

import (
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

// renaming is how one document's identities have to be written so that both
// sides speak of the same ones.
type renaming struct {
	*dialect
	parts map[part]string
	whole map[string]string // identities, after parts
	hint  func(id string, p part) string
	// origin is the fork's identity that one of this document was.
	origin func(id string) string
	// others are what became of the fork's identities elsewhere.
	others []elsewhere
	// moved is where the other side has moved an edge of a package that is new
	// on this side, when the package was still its predecessor; empty: nowhere.
	moved func(x *pack, dp dep) string
	// nests: a peer in a name is written with its own peers.
	nests bool
	known map[string]string // answers of found; empty while one is being worked out
}

// elsewhere is another document, and how it is rewritten.
type elsewhere struct {
	*moves
	by *renaming
}

func (r *renaming) idle() bool { return len(r.parts) == 0 && len(r.whole) == 0 && r.hint == nil }

// id is an identity's new name.
func (r *renaming) id(id string) string {
	bare, suffix := r.cut(id)
	return r.named(id, bare, suffix, "")
}

// named puts a name together again. Where the whole of it has a new name, that
// is it; else its peers are looked up in turn. Prefix is what an identity has
// before the name.
func (r *renaming) named(id, bare, suffix, prefix string) string {
	plain := bare + r.suffix(id, suffix, false)
	if len(r.whole) == 0 {
		return plain
	}
	if to := r.whole[prefix+plain]; to != "" {
		return to[len(prefix):]
	}
	return bare + r.suffix(id, suffix, true)
}

func (r *renaming) suffix(id, suffix string, deep bool) string {
	if suffix == "" || r.idle() {
		return suffix
	}
	return r.rename(suffix, func(peer string) string { return r.peer(id, peer, deep) })
}

// peer is the new name of a peer in the name of the package id. A peer that
// was bumped elsewhere has the peers that it has there.
func (r *renaming) peer(id, name string, deep bool) string {
	bare, own := r.cut(name)
	p, ok := partOf(bare)
	if !ok || r.joined {
		if ok && own == "" {
			return p.name + "@" + r.part(id, p)
		}
		return name
	}
	v := r.part(id, p)
	if v != p.version {
		if t := r.found(name, p.name, v, deep); t != "" {
			return t
		}
	}
	bare = p.name + "@" + v
	if !deep {
		return bare + r.suffix(id, own, false)
	}
	return r.named(id, bare, own, r.prefix)
}

// found is the identity that the other side has given to a package; empty: none.
func (r *renaming) found(id, name, version string, deep bool) string {
	if !r.nests {
		return ""
	}
	key := strings.Join([]string{id, version, strconv.FormatBool(deep)}, "\x00")
	if to, ok := r.known[key]; ok {
		return to
	}
	if r.known == nil {
		r.known = map[string]string{}
	}
	r.known[key] = "" // names can contain each other
	for _, o := range r.others {
		t := o.twins[r.origin(id)]
		x := o.ids[t]
		if t == "" || x.name != name || x.version != version {
			continue
		}
		to := o.by.id(t)
		if !deep {
			to = x.bare + o.by.suffix(t, x.suffix, false)
		}
		if len(to) <= longestName {
			r.known[key] = to
		}
		break
	}
	return r.known[key]
}

func (r *renaming) part(id string, p part) string {
	if v, ok := r.parts[p]; ok {
		return v
	}
	if r.hint != nil {
		return r.hint(id, p)
	}
	return p.version
}

// flat reports whether peers are written without their own peers.
func flat(d *lockfile.Doc) bool {
	n := d.Node(keyOf("settings", "dedupePeers"))
	return n != nil && n.Version == "true"
}

// all are the new names of a file's identities.
func (r *renaming) all(ids map[string]ident) map[string]ident {
	out := make(map[string]ident, len(ids))
	for id := range ids {
		to := r.id(id)
		out[to] = r.parse(to)
	}
	return out
}

// side is a document as it was before it was rewritten: what follows from the
// whole of it can only be computed there, for a rewritten one speaks of peers
// that only the other side has.
type side struct {
	*lockfile.Doc
	now, then map[string]string // keys that changed
}

// sidesOf are both sides of a merge as they were.
func sidesOf(m *lockfile.Merge) []side {
	if s := syntaxOf(m.Patch.Fork); s.sides != nil {
		return s.sides
	}
	return []side{{Doc: m.Before}, {Doc: m.Head()}}
}

// key is what a key of the side has become.
func (s side) key(old string) string {
	if k, ok := s.now[old]; ok {
		return k
	}
	return old
}

// node is what a node of the result was.
func (s side) node(key string) *lockfile.Node {
	if k, ok := s.then[key]; ok {
		key = k
	}
	return s.Node(key)
}

// doc rewrites a whole file.
func (r *renaming) doc(d *lockfile.Doc) (*lockfile.Doc, side) {
	was := side{d, map[string]string{}, map[string]string{}}
	if r.idle() && r.moved == nil {
		return d, was
	}
	out := lockfile.NewDoc(d.Len())
	out.Format, out.Path, out.Syntax = d.Format, d.Path, d.Syntax
	d.Nodes(func(n *lockfile.Node) {
		old := n.Key
		switch x := n.Data.(type) {
		case *need:
			n = r.need(n, x)
		case *pack:
			n = r.pack(n, x)
		}
		out.Add(n) // two that have got one name have become one
		if n.Key != old {
			was.now[old], was.then[n.Key] = n.Key, old
		}
	})
	return out, was
}

func (r *renaming) need(n *lockfile.Node, x *need) *lockfile.Node {
	if x.to == "" || x.group == specifiers {
		return n
	}
	to := r.id(x.to)
	if to == x.to {
		return n
	}
	c, y := *n, *x
	y.to, y.ref = to, r.ref(x.name, to)
	if x.Val != "" {
		y.Head = y.WithKeyValue(y.Key, y.ref)
		y.Val = yamltext.Scalar(y.ref)
	} else {
		list := y.Entry.Inside()
		for i := range list {
			if list[i].Key == "version" {
				list[i].Head = list[i].WithKeyValue("version", y.ref)
			}
		}
		y.Entry = y.Entry.With(list)
	}
	c.Raw, c.Data = []byte(y.Entry.Text()), &y
	c.Edges = append([]lockfile.Edge(nil), n.Edges...)
	for i := range c.Edges {
		if c.Edges[i].To == r.place(x.to) {
			c.Edges[i].To = r.place(to)
		}
	}
	return &c
}

// pack rewrites a package: its own name, and where its edges lead. An edge to
// a peer follows the peer.
func (r *renaming) pack(n *lockfile.Node, x *pack) *lockfile.Node {
	full := x.full
	if n.Parent == "#"+snapshots || !x.apart {
		full = r.id(x.full)
	}
	_, top, opaque := x.parts(x.suffix)
	refs := map[string]string{}
	for _, dp := range x.deps {
		if dp.to == "" {
			continue
		}
		if to := r.edge(x, top, opaque, dp); to != dp.to {
			refs[dp.name] = r.ref(dp.name, to)
		}
	}
	if full == x.full && len(refs) == 0 {
		return n
	}
	e := x.Entry
	list := e.Inside()
	for i := range list {
		if k := list[i].Key; k != "dependencies" && k != "optionalDependencies" {
			continue
		}
		sub := list[i].Inside()
		for j := range sub {
			if ref, ok := refs[sub[j].Key]; ok {
				sub[j].Head = sub[j].WithKeyValue(sub[j].Key, ref)
			}
		}
		list[i] = list[i].With(sub)
	}
	if len(refs) > 0 {
		e = e.With(list)
	}
	if full != x.full {
		val, _ := yamltext.Unquote(e.Val)
		e.Head, e.Key = e.WithKeyValue(full, val), full
	}
	if c, ok := x.with(n, e); ok {
		return c
	}
	return n
}

// edge is where a dependency leads after the renaming.
func (r *renaming) edge(x *pack, top []part, opaque bool, dp dep) string {
	id := r.parse(dp.to)
	p := part{id.name, id.version}
	isPeer := false
	for _, q := range top {
		isPeer = isPeer || q == p
	}
	if opaque && !x.apart {
		_, declared := x.peers[dp.name]
		isPeer = isPeer || declared
	}
	if r.moved != nil && !isPeer {
		if to := r.moved(x, dp); to != "" {
			return to
		}
	}
	bare := id.bare
	if isPeer && bare == r.prefix+p.name+r.sep+p.version {
		v := r.part(x.full, p)
		if t := r.found(dp.to, p.name, v, true); v != p.version && t != "" {
			return t
		}
		bare = r.prefix + p.name + r.sep + v
	}
	return r.named(dp.to, bare, id.suffix, "")
}
