package pnpm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// encode writes a file: every node's text behind that of its parent. A key
// whose entries are all gone goes with them, if it had any.
func encode(d *lockfile.Doc) ([]byte, error) {
	syn := syntaxOf(d)
	d, _ = shorten(d)
	children := make(map[string][]*lockfile.Node, 256)
	size := len(syn.tail)
	d.Nodes(func(n *lockfile.Node) {
		children[n.Parent] = append(children[n.Parent], n)
		size += len(n.Raw)
	})
	for parent, list := range children {
		if !syn.unsorted[parent] && len(list) > 1 && sortable(list) {
			slices.SortStableFunc(list, func(a, b *lockfile.Node) int { return strings.Compare(a.Key, b.Key) })
		}
	}
	out := make([]byte, 0, size)
	written := 0
	var write func(n *lockfile.Node)
	write = func(n *lockfile.Node) {
		written++
		b, list := blockOf(n), children[n.Key]
		start := len(out)
		out = append(out, n.Raw...)
		if !b.holds {
			return
		}
		if b.empty && len(list) > 0 { // no longer "{}"
			out = append(out[:start], b.Lead+b.WithKeyValue(b.Key, "")...)
		}
		inside := len(out)
		for _, c := range list {
			write(c)
		}
		if !b.empty && len(out) == inside {
			out = out[:start]
		}
	}
	for _, n := range children[""] {
		write(n)
	}
	if written != d.Len() {
		return nil, fmt.Errorf("%d entries have lost the key that they stand under", d.Len()-written)
	}
	out = append(out, syn.tail...)
	if syn.noEOL {
		out = bytes.TrimSuffix(out, []byte{'\n'})
	}
	return out, nil
}

// sortable reports whether pnpm keeps these entries in order.
func sortable(list []*lockfile.Node) bool {
	return !slices.ContainsFunc(list, func(n *lockfile.Node) bool {
		section, rest, ok := strings.Cut(n.Key, arrow)
		return !ok || !ordered[section] || strings.Contains(rest, arrow+"#")
	})
}
