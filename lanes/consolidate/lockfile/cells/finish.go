package cells

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Finish is the [lockfile.Format] function that keeps cells and text together
// after a merge. A new value for a cell that is no longer there goes, unless
// another for the same thing, of which the head knew nothing, would be left
// behind at a lower one. What cannot be settled
// is a conflict: a cell that one side changed and the other took away, a node
// that one side changed and the other split, and a value that is another one in
// the text that the other side brings.
func Finish(m *lockfile.Merge) {
	placed, before := places(m.Doc), places(m.Before)
	for _, key := range slices.Sorted(maps.Keys(placed)) {
		if m.Node(key) == nil {
			conflict(m, key, m.Before.Node(key), nil, whyLost)
		}
	}
	splits(m)
	var gone []string
	there := map[string][]*lockfile.Node{} // by ID
	m.Nodes(func(n *lockfile.Node) {
		switch {
		case n.Key == TextKey:
		case placed[n.Key] > 0:
			there[data(n).id] = append(there[data(n).id], n)
		default:
			gone = append(gone, n.Key)
		}
	})
	for _, key := range gone {
		n := m.Node(key)
		if before[key] > 0 {
			if !lockfile.Same(m.Patch.Fork.Node(key), n) {
				conflict(m, key, n, nil, whyGone)
			}
		} else if low := behind(m, there[data(n).id], n); low != nil {
			conflict(m, key, low, n, whyElsewhere)
		}
		m.Delete(key)
	}
	if len(m.Conflicts) == 0 {
		readBack(m)
	}
}

// readBack makes sure that the file holds what it was merged from: a value can
// bring a closing quote that the other side's text does not open.
func readBack(m *lockfile.Merge) {
	text, err := m.Format.Encode(m.Doc)
	if err != nil {
		conflict(m, TextKey, nil, nil, whyUnread)
		return
	}
	d, err := m.Format.Parse(text, m.Doc)
	if err != nil || d.Len() != m.Len() {
		conflict(m, TextKey, nil, nil, whyUnread)
		return
	}
	d.Nodes(func(n *lockfile.Node) {
		if !lockfile.Same(n, m.Node(n.Key)) {
			conflict(m, n.Key, m.Node(n.Key), n, whyUnread)
		}
	})
	d.Format, d.Path = m.Format, m.Path
	m.Doc = d
}

// splits finds a node that this patch changed and an earlier one split, or the
// other way round: nobody said what the cells that were split off are to be.
func splits(m *lockfile.Merge) {
	fork := m.Patch.Fork
	earlier := map[string][]*lockfile.Node{} // by the key they were split from
	m.Before.Nodes(func(n *lockfile.Node) {
		if from := data(n).from; from != "" && fork.Node(n.Key) == nil {
			earlier[from] = append(earlier[from], n)
		}
	})
	for _, c := range m.Patch.Changes {
		switch {
		case c.After == nil || c.Key == TextKey:
		case c.Before != nil:
			for _, n := range earlier[c.Key] {
				if !bytes.Equal(n.Raw, c.After.Raw) {
					conflict(m, n.Key, n, c.After, whySplit)
				}
			}
		default:
			from := data(c.After).from
			if was, ours := fork.Node(from), m.Before.Node(from); was != nil && ours != nil && !lockfile.Same(was, ours) {
				conflict(m, from, ours, c.After, whySplit)
			}
		}
	}
}

// behind finds, among cells for the same thing as n, one whose value is not
// known to be as high: of the node that n was split from, or of one that the
// fork does not have. For all others the patch speaks itself.
func behind(m *lockfile.Merge, others []*lockfile.Node, n *lockfile.Node) *lockfile.Node {
	from := data(n).from
	for _, other := range others {
		if bytes.Equal(other.Raw, n.Raw) || other.Key != from && m.Patch.Fork.Node(other.Key) != nil {
			continue
		}
		if c, ok := m.Format.Compare(other, n); !ok || c < 0 {
			return other
		}
	}
	return nil
}

// What is wrong where two values are not what is.
const (
	whyLost      = "the text has a place for it, and its value is gone"
	whyGone      = "it is changed in one and taken out in the other"
	whyElsewhere = "what is bumped stands at a lower version in another place"
	whySplit     = "one moves all of its places, and another only some"
	whyUnread    = "the two changes give another file than each means"
)

func conflict(m *lockfile.Merge, key string, ours, theirs *lockfile.Node, why string) {
	c := lockfile.Conflict{Key: key, Why: why}
	for _, side := range []struct {
		n  *lockfile.Node
		to *string
	}{{m.Patch.Fork.Node(key), &c.Before}, {ours, &c.Ours}, {theirs, &c.Theirs}} {
		if side.n != nil {
			c.Name, *side.to = side.n.Name, side.n.Version
		}
	}
	m.Conflicts = append(m.Conflicts, c)
}
