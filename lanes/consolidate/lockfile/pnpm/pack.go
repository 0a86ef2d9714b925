package pnpm

import (
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
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
func (p *lockParser) pack(e yamltext.Entry, section, parent string) error {
	n := &lockfile.Node{Key: keyOf(section, e.Key), Parent: parent, Raw: []byte(e.Text())}
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
func (d *dialect) decode(n *lockfile.Node, section string, e yamltext.Entry) error {
	x := &pack{dialect: d, block: block{Entry: e}, ident: d.parse(e.Key)}
	n.Data = x
	members, err := e.Inner()
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

func (d *dialect) member(x *pack, m *yamltext.Entry) error {
	switch m.Key {
	case "dependencies", "optionalDependencies":
		list, err := m.Inner()
		if err != nil {
			return err
		}
		for _, c := range list {
			ref, ok := yamltext.Unquote(c.Val)
			if c.Item || !ok || ref == "" {
				return fmt.Errorf("line %d: not a dependency: %s", c.Line, yamltext.Short(strings.TrimSpace(c.Head)))
			}
			x.deps = append(x.deps, dep{c.Key, ref, d.target(c.Key, ref), m.Key[0] == 'o'})
		}
	case "peerDependencies", "peerDependenciesMeta":
		list, err := m.Inner()
		if err != nil {
			return err
		}
		if x.peers == nil {
			x.peers = map[string]peer{}
		}
		for _, c := range list {
			q := x.peers[c.Key]
			if m.Key == "peerDependencies" {
				q.req, _ = yamltext.Unquote(c.Val)
			} else {
				q.optional = strings.Contains(c.Body, "optional: true")
			}
			x.peers[c.Key] = q
		}
	case "transitivePeerDependencies":
		list, err := m.Inner()
		if err != nil {
			return err
		}
		for _, c := range list {
			x.transitive = append(x.transitive, c.Key)
		}
	case "name":
		if v, _ := yamltext.Unquote(m.Val); x.ident.name == "" {
			x.ident.name = v
		}
	case "version":
		if v, _ := yamltext.Unquote(m.Val); v != "" {
			x.ident.version = v
		}
	case "dev":
		x.dev = flagOf(m.Val)
	case "optional":
		x.optional = flagOf(m.Val)
	}
	return nil
}
