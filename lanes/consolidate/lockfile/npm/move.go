package npm

import (
	"bytes"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
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
		p.member.Raw = indent(p.member.Raw, syntax(d).style.Unit, 2*(depth(key)-depth(n.Key)))
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

// depth is how many folders of packages a path goes through.
func depth(key string) int { return strings.Count(key, nm) }

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
