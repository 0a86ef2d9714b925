package npmlock

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// renew writes the flags that the merge changed. Where the file of a side says
// otherwise for the same graph, it keeps its word: npm's own were not always right.
func renew(m *lockfile.Merge) {
	now := modules.Derive(m.Doc, m.Tree)
	var head, was map[*lockfile.Node]modules.Flags
	var changed []*lockfile.Node
	m.Nodes(func(n *lockfile.Node) {
		p := data(n)
		full, ok := now[n]
		want := full.Shown()
		if p != nil && n.Parent != packagesKey { // npm 6 has two flags, and knows no peers
			want.DevOptional, want.Peer = p.Flags.DevOptional, p.Flags.Peer
		}
		if p == nil || p.Link || !ok || n.Key == "" || p.Flags == want {
			return
		}
		if was == nil {
			was = modules.Derive(m.Before, m.Was)
			if syntax(m.Doc).version > 1 { // else it takes the head's manifest, which is not here
				head = modules.Derive(m.Head(), m.Tree)
			}
		}
		if side := m.Head().Node(n.Key); side != nil && known(head, side, full) {
			want = data(side).Flags
		} else if side := m.Before.Node(n.Key); side != nil && known(was, side, full) {
			want = data(side).Flags
		}
		if p.Flags == want {
			return
		}
		if c, ok := withValue(n, writeFlags(p, want)); ok {
			changed = append(changed, c)
		}
	})
	for _, c := range changed {
		m.Set(c, "")
	}
}

func known(all map[*lockfile.Node]modules.Flags, n *lockfile.Node, f modules.Flags) bool {
	have, ok := all[n]
	return ok && have == f
}

// flagNames are in the order of the alphabet, which is npm's in an entry.
var flagNames = [...]string{"dev", "devOptional", "optional", "peer"}

// first are the members that npm writes before the flags.
var first = map[string]bool{"name": true, "version": true, "resolved": true, "integrity": true}

// writeFlags is the value of a package's member with other flags.
func writeFlags(p *pkg, want modules.Flags) []byte {
	o, err := jsontext.Parse(p.member.Value(), 0)
	if err != nil || len(o.Members) == 0 {
		return p.member.Value()
	}
	var out []jsontext.Member
	for _, m := range o.Members {
		if want.Of(m.Key) == nil {
			out = append(out, m)
		}
	}
	for _, f := range flagNames {
		if !*want.Of(f) {
			continue
		}
		at := 0
		for at < len(out) && (first[out[at].Key] || out[at].Key < f && out[at].Value()[0] != '{') {
			at++
		}
		out = append(out, jsontext.Member{})
		copy(out[at+1:], out[at:])
		out[at] = o.Members[len(o.Members)-1].WithKey(f).WithValue([]byte("true"))
	}
	return jsontext.Append(nil, out, o.Close)
}
