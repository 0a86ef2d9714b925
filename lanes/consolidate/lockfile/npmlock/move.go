package npmlock

import (
	"bytes"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// rekey is a node under another path, written as that needs.
func rekey(d *lockfile.Doc, n *lockfile.Node, key string) *lockfile.Node {
	if n.Key == key {
		return n
	}
	c := *n
	c.Key, c.Parent = key, parentKey(d, key)
	p := *data(n)
	if c.Parent == packagesKey {
		p.member = p.member.WithKey(key)
	} else {
		// Deeper in the tree it is indented more: one step for the entry that
		// holds it, one for the object in there.
		p.member.Raw = indent(p.member.Raw, syntax(d).style.Unit, 2*(modules.Depth(key)-modules.Depth(n.Key)))
		p.member = located(p.member.Raw, p.member.Key)
		p.nest = nil
	}
	c.Raw, c.Data = p.member.Raw, &p
	return &c
}

// located is a member's text, taken apart.
func located(raw []byte, key string) jsontext.Member {
	o, err := jsontext.Parse(append(append([]byte{'{'}, raw...), '}'), 0)
	if err != nil || len(o.Members) != 1 {
		return jsontext.Member{Key: key, Raw: raw, ValueEnd: len(raw)} // raw was a member: it cannot be
	}
	o.Members[0].Key = key
	return o.Members[0]
}

// indent moves every line of a text by so many steps.
func indent(text []byte, unit string, steps int) []byte {
	if steps == 0 || unit == "" {
		return text
	}
	lines := bytes.Split(text, []byte{'\n'})
	pad := []byte(strings.Repeat(unit, max(steps, -steps)))
	for i, l := range lines[1:] {
		if steps > 0 {
			lines[i+1] = append(bytes.Clone(pad), l...)
		} else {
			lines[i+1] = bytes.TrimPrefix(l, pad)
		}
	}
	return bytes.Join(lines, []byte{'\n'})
}

// behind is the key that a new one goes behind: the last smaller one that it
// shares its object with.
func behind(d *lockfile.Doc, key string) string {
	in := parentKey(d, key)
	last := in
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent == in && (n.Key == "" || d.Format.Less(n.Key, key)) {
			last = n.Key
		}
	})
	return last
}

// parentKey is the Parent of the node of a package at a path.
func parentKey(d *lockfile.Doc, key string) string {
	if shadowed, ok := strings.CutPrefix(key, legacyPrefix); ok {
		if up := modules.Parent(shadowed); up != "" {
			return legacyPrefix + up
		}
		return legacyKey
	}
	if syntax(d).version > 1 {
		return packagesKey
	}
	if up := modules.Parent(key); up != "" {
		return up
	}
	return legacyKey
}
