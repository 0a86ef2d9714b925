package npm

import (
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// flags say for which installs npm may leave a package out. They are derived
// from the whole graph, so a merge has to renew them.
type flags struct{ dev, optional, devOptional, peer bool }

func isFlag(member string) bool { return flagOf(&flags{}, member) != nil }

func flagOf(f *flags, member string) *bool {
	switch member {
	case "dev":
		return &f.dev
	case "optional":
		return &f.optional
	case "devOptional":
		return &f.devOptional
	case "peer":
		return &f.peer
	}
	return nil
}

func (f *flags) read(member string, yes bool) {
	if p := flagOf(f, member); p != nil {
		*p = yes
	}
}

// shown is what the file says of computed flags: devOptional is the overlap,
// and stands alone.
func (f flags) shown() flags {
	f.devOptional = f.devOptional && !f.dev && !f.optional
	return f
}

// derive computes every package's flags: each is kept only while every way to
// the package goes through an edge, or from a package, of that sort.
func derive(d *lockfile.Doc) map[*lockfile.Node]flags {
	all := make(map[*lockfile.Node]flags, d.Len())
	var queue []*lockfile.Node
	d.Nodes(func(n *lockfile.Node) {
		if n.Root && data(n) != nil && !data(n).link {
			all[n] = flags{}
			queue = append(queue, n)
		}
	})
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		f := all[n]
		for _, e := range n.Edges {
			t := target(d, n, e)
			if t == nil {
				continue
			}
			old, seen := all[t]
			if !seen {
				old = flags{true, true, true, true}
			}
			dev, opt := e.Kind == lockfile.Dev, e.Kind == lockfile.Optional || e.Kind == lockfile.PeerOptional
			next := flags{
				dev:         old.dev && (f.dev || dev),
				optional:    old.optional && (f.optional || opt),
				devOptional: old.devOptional && (f.devOptional || f.dev || f.optional || dev || opt),
				peer:        old.peer && (f.peer || peer(e)),
			}
			if !seen || next != old {
				all[t] = next
				queue = append(queue, t)
			}
		}
	}
	return all
}

// finish writes the flags that the merge changed.
func finish(m *lockfile.Merge) {
	now := derive(m.Doc)
	var head, was map[*lockfile.Node]flags
	for _, key := range append([]string(nil), m.Keys()...) {
		n := m.Node(key)
		p := data(n)
		want, ok := now[n]
		if p == nil || n.Parent == "" || !ok || p.flags == want.shown() {
			continue
		}
		// A file that already said otherwise for the same graph keeps its word.
		if was == nil {
			was, head = derive(m.Before), derive(m.Head())
		}
		if f, ok := was[n]; ok && f == want {
			continue
		}
		if f, ok := head[n]; ok && f == want {
			continue
		}
		if c, ok := withValue(n, writeFlags(p, want.shown(), m.Syntax.(*packagesSyntax).style)); ok {
			m.Set(c, "")
		}
	}
}

// first are the members that npm writes before the flags.
var first = map[string]bool{"name": true, "version": true, "resolved": true, "integrity": true}

func writeFlags(p *pkg, want flags, style jsontext.Style) []byte {
	o, err := jsontext.Parse(p.member.Value(), 0)
	if err != nil {
		return p.member.Value()
	}
	lead := "\n" + style.Unit + style.Unit + style.Unit
	if len(o.Members) > 0 {
		lead = string(o.Members[0].Lead())
	}
	var out []jsontext.Member
	for _, m := range o.Members {
		if !isFlag(m.Key) {
			out = append(out, m)
		}
	}
	for _, f := range []string{"dev", "devOptional", "optional", "peer"} {
		if !*flagOf(&want, f) {
			continue
		}
		at := 0
		for at < len(out) && (first[out[at].Key] || out[at].Key < f && out[at].Value()[0] != '{') {
			at++
		}
		out = append(out, jsontext.Member{})
		copy(out[at+1:], out[at:])
		out[at] = jsontext.NewMember(lead, f, []byte("true"))
	}
	return jsontext.Append(nil, out, o.Close)
}
