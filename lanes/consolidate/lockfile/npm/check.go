package npm

import (
	"path"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// check validates a lockfile: against its own edges, and against the manifests.
func (r Ranges) check(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	var out []lockfile.Problem
	overridden := overrides(t, d.Path)
	d.Nodes(func(n *lockfile.Node) {
		for _, e := range n.Edges {
			if e.Name == "" || overridden[e.Name] {
				continue
			}
			to := target(d, n, e)
			if r.met(d, e, to) {
				continue
			}
			p := lockfile.Problem{
				Code: lockfile.Unmet, Path: d.Path, Key: n.Key,
				Name: e.Name, Req: e.Req,
			}
			if n.Key != "" {
				p.By = n.Name + "@" + n.Version
			}
			if to == nil {
				p.Code = lockfile.Missing
			} else {
				p.Have = to.Version
			}
			if peer(e) {
				p.Code, p.Soft = lockfile.PeerUnmet, true
			}
			out = append(out, p)
		}
	})
	reached := d.Reached(t)
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent != "" && !reached[n] {
			out = append(out, lockfile.Problem{Code: lockfile.Orphan, Path: d.Path, Key: n.Key, Name: n.Key, Have: n.Version, Soft: true})
		}
	})
	return append(out, r.inSync(d, t)...)
}

// inSync compares what the lockfile says of each manifest with the manifest.
func (r Ranges) inSync(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem {
	var out []lockfile.Problem
	d.Nodes(func(n *lockfile.Node) {
		p := data(n)
		if n.Parent == "" || !n.Root || p.link {
			return
		}
		file := path.Join(path.Dir(d.Path), n.Key, "package.json")
		m := t.Doc(file)
		if m == nil {
			return
		}
		locked := map[string]string{}
		for _, e := range n.Edges {
			locked[e.Name] = e.Req
		}
		for _, e := range Needs(m) {
			if peer(e) {
				continue
			}
			if have, ok := locked[e.Name]; !ok || have != e.Req {
				out = append(out, lockfile.Problem{
					Code: lockfile.OutOfSync, Path: d.Path, Key: n.Key, Name: e.Name, Req: e.Req, Have: have,
					Detail: file + " asks for " + e.Name + "@" + e.Req + ", the lockfile was made for " + orNone(have),
				})
			}
			delete(locked, e.Name)
		}
	})
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// overrides are the names whose requirements the manifest replaces.
func overrides(t lockfile.Tree, lock string) map[string]bool {
	m := t.Doc(path.Join(path.Dir(lock), "package.json"))
	if m == nil {
		return nil
	}
	return Overridden(m)
}
