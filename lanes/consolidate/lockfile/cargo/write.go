package cargo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// writer writes the crates of one file. How long a reference must be depends on
// all of them.
type writer struct {
	crates []*crate
	keys   map[string]*crate
	of     map[*crate]string // their keys
	counts map[string]map[string]int
	full   bool
}

func newWriter(r *version.Rules, d *lockfile.Doc) *writer {
	w := &writer{keys: map[string]*crate{}, of: map[*crate]string{}, counts: map[string]map[string]int{}}
	if n := d.Node(headKey); n != nil {
		w.full = n.Data.(head).full
	}
	d.Nodes(func(n *lockfile.Node) {
		c, ok := n.Data.(*crate)
		if !ok {
			return
		}
		w.crates = append(w.crates, c)
		w.keys[n.Key], w.of[c] = c, n.Key
		if w.counts[c.name] == nil {
			w.counts[c.name] = map[string]int{}
		}
		w.counts[c.name][c.version]++
	})
	if d.Syntax.(*lockSyntax).sorted {
		slices.SortStableFunc(w.crates, byPackage(r))
	}
	return w
}

func encodeLock(r *version.Rules, d *lockfile.Doc) []byte {
	syn := d.Syntax.(*lockSyntax)
	w := newWriter(r, d)
	var b strings.Builder
	if n := d.Node(headKey); n != nil {
		b.WriteString(n.Data.(head).text)
	}
	for i, c := range w.crates {
		old := syn.blocks[w.of[c]]
		b.WriteString(old.as(w.crate(c)))
		switch {
		case i == len(w.crates)-1:
			b.WriteString(syn.end)
		case old.gap != "":
			b.WriteString(old.gap)
		default:
			b.WriteString("\n\n")
		}
	}
	if n := d.Node(tailKey); n != nil {
		b.Write(n.Raw)
	}
	meta := syn.meta.as(w.sums())
	if meta != "" && syn.meta.text == "" && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteByte('\n')
	}
	return []byte(b.String() + meta)
}

// crate is the entry of a crate without the end of its last line.
func (w *writer) crate(c *crate) string {
	var b strings.Builder
	b.WriteString(opening)
	field := func(k, v string) {
		if v != "" {
			fmt.Fprintf(&b, "%s = %q\n", k, v)
		}
	}
	field("name", c.name)
	field("version", c.version)
	field("source", c.source)
	if !w.full {
		field("checksum", c.checksum)
	}
	if len(c.deps) > 0 {
		b.WriteString("dependencies = [\n")
		for _, ref := range w.refs(c) {
			fmt.Fprintf(&b, " %q,\n", ref)
		}
		b.WriteString("]\n")
	}
	for _, l := range c.extra {
		b.WriteString(l + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// refs writes references as short as the crates in the file allow.
func (w *writer) refs(c *crate) []string {
	refs := make([]string, 0, len(c.deps))
	for _, k := range c.deps {
		to := w.keys[k]
		switch {
		case to == nil:
			refs = append(refs, strings.TrimSuffix(k, " ?"))
		case w.full, w.counts[to.name][to.version] > 1:
			whole := *to
			whole.source = place(to.source)
			refs = append(refs, whole.full())
		case len(w.counts[to.name]) > 1:
			refs = append(refs, to.name+" "+to.version)
		default:
			refs = append(refs, to.name)
		}
	}
	slices.Sort(refs)
	return refs
}

// sums are the checksums of a file that has them apart from the crates.
func (w *writer) sums() string {
	if !w.full {
		return ""
	}
	var lines []string
	for _, c := range w.crates {
		if c.checksum != "" {
			lines = append(lines, fmt.Sprintf("%q = %q\n", "checksum "+c.full(), c.checksum))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	return metadata + strings.Join(lines, "")
}
