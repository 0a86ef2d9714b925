package pnpm

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

// finish renews what pnpm derives from the whole graph, where the merge
// changed it, and looks whether every package still has the peers that its
// dependents provide.
func (r rules) finish(m *lockfile.Merge) {
	now, sides := graphOf(m.Doc), sidesOf(m)
	if !writable(m) {
		return
	}
	r.flags(m, now, sides)
	r.passed(m, now, sides)
	type place struct{ by, to, peer string }
	known := map[place]bool{}
	for _, s := range sides {
		for _, x := range graphOf(s.Doc).stales() {
			known[place{s.key(x.by.Key), s.key(x.to.Key), x.peer}] = true
		}
	}
	for _, x := range graphOf(m.Doc).stales() {
		if !known[place{x.by.Key, x.to.Key, x.peer}] {
			m.AskTool(x.to, x.String())
			return
		}
	}
}

// longestKey is the limit of js-yaml, in bytes: longer keys stand behind "? ".
const longestKey = 1024

// writable asks for the tool where a name has got too long to be written as
// the rest of the file is.
func writable(m *lockfile.Merge) bool {
	short, unknown := shorten(m.Doc)
	for _, id := range unknown {
		n := m.Node(syntaxOf(m.Doc).place(id))
		m.AskTool(n, n.Name+"@"+n.Version+" has so many peers now that pnpm writes a digest of them")
		return false
	}
	for _, k := range short.Keys() {
		n := short.Node(k)
		if x := packOf(n); x != nil && x.Explicit != (len(yamltext.Scalar(x.Key)) > longestKey) {
			m.AskTool(n, n.Name+"@"+n.Version+" has got a key that is written in another way")
			return false
		}
	}
	return true
}

func (s stale) String() string {
	what := s.to.Name + "@" + s.to.Version
	if s.have == "" {
		return what + " is locked without its peer " + s.peer + ", but beside it stands " + s.want + "; only pnpm can add it"
	}
	if s.want == "" {
		return what + " is locked with the peer " + s.peer + "@" + s.have + ", but " + s.by.Name + "@" + s.by.Version + " was locked without it; only pnpm can renew it"
	}
	return what + " is locked with the peer " + s.peer + "@" + s.have + ", but beside it stands " + s.want + "; only pnpm can renew it"
}

// flags renews dev and optional.
func (r rules) flags(m *lockfile.Merge, now graph, sides []side) {
	ways := now.ways()
	var before []map[*lockfile.Node]reach
	for _, key := range slices.Clone(m.Keys()) {
		n := m.Node(key)
		x := packOf(n)
		w, ok := ways[n]
		if x == nil || !ok {
			continue
		}
		dev, optional := now.flagsOf(w)
		if x.dev == dev && x.optional == optional {
			continue
		}
		if before == nil {
			for _, s := range sides {
				before = append(before, graphOf(s.Doc).ways())
			}
		}
		// A file that already said otherwise for the same graph keeps its word.
		kept := false
		for i, s := range sides {
			if old := s.node(key); packOf(old) != nil && packOf(old).dev == x.dev && packOf(old).optional == x.optional {
				was, ok := before[i][old]
				kept = kept || ok && was == w
			}
		}
		if kept {
			continue
		}
		if c, ok := x.withFlags(n, dev, optional); ok {
			m.Set(c, "")
		}
	}
}

func (x *pack) withFlags(n *lockfile.Node, dev, optional flag) (*lockfile.Node, bool) {
	e := x.Entry
	list := e.Inside()
	list = setFlag(list, "dev", dev)
	list = setFlag(list, "optional", optional)
	return x.with(n, e.With(list))
}

func setFlag(list []yamltext.Entry, name string, f flag) []yamltext.Entry {
	at := slices.IndexFunc(list, func(e yamltext.Entry) bool { return e.Key == name })
	if f == absent {
		if at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		return list
	}
	val := map[flag]string{yes: "true", no: "false"}[f]
	if at >= 0 {
		list[at].Head = list[at].Head[:yamltext.Indent(list[at].Head)] + name + ": " + val + "\n"
		return list
	}
	return insert(list, yamltext.Entry{Head: "    " + name + ": " + val + "\n", Key: name, Val: val})
}

// passed renews transitivePeerDependencies.
func (r rules) passed(m *lockfile.Merge, now graph, sides []side) {
	after := now.transitive()
	var before []map[*lockfile.Node]names
	for _, s := range sides {
		before = append(before, graphOf(s.Doc).transitive())
	}
	if after == nil || slices.ContainsFunc(before, func(b map[*lockfile.Node]names) bool { return b == nil }) {
		return
	}
	for _, key := range slices.Clone(m.Keys()) {
		n := m.Node(key)
		x := packOf(n)
		want, ok := after[n]
		if x == nil || !ok {
			continue
		}
		// By what changed, so that a file that said otherwise keeps its word.
		var was names
		for i, s := range sides {
			if old := packOf(s.node(key)); old != nil && (was == nil || slices.Equal(old.transitive, x.transitive)) {
				was = before[i][s.node(key)]
				if slices.Equal(old.transitive, x.transitive) {
					break
				}
			}
		}
		if was == nil {
			continue
		}
		list := slices.DeleteFunc(slices.Clone(x.transitive), func(p string) bool { return was[p] && !want[p] })
		for p := range want {
			if !was[p] && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		if len(list) == len(x.transitive) && !slices.ContainsFunc(list, func(p string) bool { return !slices.Contains(x.transitive, p) }) {
			continue
		}
		slices.Sort(list)
		if c, ok := x.withTransitive(n, list); ok {
			m.Set(c, "")
		}
	}
}

func (x *pack) withTransitive(n *lockfile.Node, peers []string) (*lockfile.Node, bool) {
	const name = "transitivePeerDependencies"
	e := x.Entry
	list := e.Inside()
	list = slices.DeleteFunc(list, func(m yamltext.Entry) bool { return m.Key == name })
	if len(peers) > 0 {
		m := yamltext.Entry{Head: "    " + name + ":\n", Key: name}
		for _, p := range peers {
			m.Body += "      - " + yamltext.Scalar(p) + "\n"
		}
		list = insert(list, m)
	}
	return x.with(n, e.With(list))
}
