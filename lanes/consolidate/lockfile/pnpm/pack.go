package pnpm

import (
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// pack is the Data of a node of packages or snapshots.
type pack struct {
	*dialect
	block
	ident
	deps []dep
	// peers are what the package declares, where this entry says so.
	peers map[string]peer
	// transitive are peers of what it needs, met or not.
	transitive []string
	// recipe made the digest that the file has for the peers; nil: it has none.
	recipe *recipe
	// dev and optional are the flags as written.
	dev, optional flag
}

type peer struct {
	req      string
	optional bool
}

// flag is a member that may be absent.
type flag uint8

const (
	absent flag = iota
	no
	yes
)

func flagOf(s string) flag {
	if s == "true" {
		return yes
	}
	return no
}

// dep is a dependency of a package, or of an importer.
type dep struct {
	name, ref string
	to        string // identity; empty for a link
	optional  bool
}

// need is the Data of an importer's entry.
type need struct {
	block
	dep
	importer, group, spec string
}

// place is the key of the node that an edge to an identity leads to.
func (d *dialect) place(id string) string {
	if d.apart {
		return keyOf(snapshots, id)
	}
	return keyOf(packages, id)
}

// pack reads an entry of packages or snapshots.
func (p *lockParser) pack(e entry, section, parent string) error {
	n := &lockfile.Node{Key: keyOf(section, e.key), Parent: parent, Raw: []byte(e.text())}
	if p.like != nil {
		if old := p.like.Node(n.Key); lockfile.Same(old, n) {
			return add(p.doc, nil, old)
		}
	}
	if err := p.decode(n, section, e); err != nil {
		return err
	}
	return add(p.doc, nil, n)
}

// decode fills a node of packages or snapshots from its text.
func (d *dialect) decode(n *lockfile.Node, section string, e entry) error {
	x := &pack{dialect: d, block: block{entry: e}, ident: d.parse(e.key)}
	n.Data = x
	members, err := inner(&e)
	if err != nil {
		return err
	}
	x.empty = len(members) == 0
	for i := range members {
		if err := d.member(x, &members[i]); err != nil {
			return err
		}
	}
	n.Name, n.Version = x.ident.name, x.ident.version
	if n.Name == "" {
		n.Name = x.ident.bare
	}
	for _, dp := range x.deps {
		if dp.to == "" {
			continue
		}
		kind := lockfile.Required
		if dp.optional {
			kind = lockfile.Optional
		}
		n.Edges = append(n.Edges, lockfile.Edge{Name: dp.name, Req: dp.ref, To: d.place(dp.to), Kind: kind})
	}
	if d.apart && section == snapshots {
		n.Edges = append(n.Edges, lockfile.Edge{Name: n.Name, Req: n.Version, To: keyOf(packages, x.pkg())})
	}
	return nil
}

func (d *dialect) member(x *pack, m *entry) error {
	switch m.key {
	case "dependencies", "optionalDependencies":
		list, err := inner(m)
		if err != nil {
			return err
		}
		for _, c := range list {
			ref, ok := unquote(c.val)
			if c.item || !ok || ref == "" {
				return fmt.Errorf("line %d: not a dependency: %s", c.line, short(strings.TrimSpace(c.head)))
			}
			x.deps = append(x.deps, dep{c.key, ref, d.target(c.key, ref), m.key[0] == 'o'})
		}
	case "peerDependencies", "peerDependenciesMeta":
		list, err := inner(m)
		if err != nil {
			return err
		}
		if x.peers == nil {
			x.peers = map[string]peer{}
		}
		for _, c := range list {
			q := x.peers[c.key]
			if m.key == "peerDependencies" {
				q.req, _ = unquote(c.val)
			} else {
				q.optional = strings.Contains(c.body, "optional: true")
			}
			x.peers[c.key] = q
		}
	case "transitivePeerDependencies":
		list, err := inner(m)
		if err != nil {
			return err
		}
		for _, c := range list {
			x.transitive = append(x.transitive, c.key)
		}
	case "name":
		if v, _ := unquote(m.val); x.ident.name == "" {
			x.ident.name = v
		}
	case "version":
		if v, _ := unquote(m.val); v != "" {
			x.ident.version = v
		}
	case "dev":
		x.dev = flagOf(m.val)
	case "optional":
		x.optional = flagOf(m.val)
	}
	return nil
}
