package cells

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// name is what a cell's node is called.
type name struct{ key, from string }

// align names the node of every span.
//
// Where the text around the cells is that of like, each cell is the one that
// stands at its place in like. Where it is not, a cell with the same ID and text
// is; the others of an ID follow each other in order. A node of like that has
// two values here is split: the cells that kept its text, else the first ones,
// keep its name.
func align(content []byte, spans []Span, like *lockfile.Doc) []name {
	a := &aligner{content: content, spans: spans, like: like, taken: map[string]bool{}, fresh: map[twin]string{}}
	for _, s := range spans {
		a.taken[s.Key] = true
	}
	was := a.matched()
	kept := a.kept(was)
	out := make([]name, len(spans))
	for i, s := range spans {
		switch {
		case s.Key != "":
			out[i].key = s.Key
		case was[i] != "" && kept[was[i]] == a.raw(i):
			out[i] = name{was[i], data(a.like.Node(was[i])).from}
		default:
			from := was[i]
			if from == "" {
				from = a.short[s.ID]
			}
			out[i] = name{a.name(twin{s.ID, a.raw(i), from}), from}
		}
	}
	return out
}

// twin is what cells of one node have in common.
type twin struct{ id, raw, from string }

type aligner struct {
	content []byte
	spans   []Span
	like    *lockfile.Doc
	taken   map[string]bool // keys that are in use
	fresh   map[twin]string // keys made here
	// short names, by ID, a node of like that has fewer cells here.
	short map[string]string
}

func (a *aligner) raw(i int) string { return string(a.content[a.spans[i].Start:a.spans[i].End]) }

// name makes a key that nothing has.
func (a *aligner) name(t twin) string {
	if key, ok := a.fresh[t]; ok {
		return key
	}
	key := t.id + t.raw
	for a.taken[key] {
		key += "'"
	}
	a.taken[key], a.fresh[t] = true, key
	return key
}

// kept is, for each node of like that has cells here, the text that keeps its key.
func (a *aligner) kept(was []string) map[string]string {
	out := map[string]string{}
	for i, key := range was {
		if key == "" {
			continue
		}
		raw := a.raw(i)
		if _, ok := out[key]; !ok || bytes.Equal(a.like.Node(key).Raw, []byte(raw)) {
			out[key] = raw
		}
	}
	return out
}

// matched gives, for each span, the key of its node in like, or nothing.
func (a *aligner) matched() []string {
	out := make([]string, len(a.spans))
	if a.like == nil || a.like.Node(TextKey) == nil {
		return out
	}
	for _, k := range a.like.Keys() {
		a.taken[k] = true
	}
	parts := strings.Split(string(a.like.Node(TextKey).Raw), mark)
	if a.sameText(parts) {
		for i := range out {
			if a.spans[i].Key == "" {
				out[i] = parts[2*i+1]
			}
		}
		return out
	}
	a.byText(parts, out)
	return out
}

// sameText reports whether the text around the spans, cut at its marks, is this.
func (a *aligner) sameText(parts []string) bool {
	if len(parts) != 2*len(a.spans)+1 {
		return false
	}
	at := 0
	for i, s := range a.spans {
		n := a.like.Node(parts[2*i+1])
		if string(a.content[at:s.Start]) != parts[2*i] || n == nil || data(n).id != s.ID {
			return false
		}
		at = s.End
	}
	return string(a.content[at:]) == parts[len(parts)-1]
}

// byText matches cells whose surroundings changed.
func (a *aligner) byText(parts []string, out []string) {
	type pair struct{ id, raw string }
	exact := map[pair]string{}     // nodes of like
	inLike := map[string]int{}     // how often each stands there
	order := map[string][]string{} // by ID, in order
	here := map[pair]int{}         // how often each stands here
	unknown := map[string][]pair{} // by ID, in order
	for i := 1; i < len(parts); i += 2 {
		n := a.like.Node(parts[i])
		if n == nil {
			continue
		}
		id := data(n).id
		p := pair{id, string(n.Raw)}
		if _, ok := exact[p]; !ok {
			exact[p] = n.Key
		}
		if inLike[n.Key]++; inLike[n.Key] == 1 {
			order[id] = append(order[id], n.Key)
		}
	}
	for i, s := range a.spans {
		p := pair{s.ID, a.raw(i)}
		if here[p]++; here[p] == 1 && exact[p] == "" {
			unknown[s.ID] = append(unknown[s.ID], p)
		}
	}
	a.short = map[string]string{}
	for id, keys := range order {
		gone := slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
			return here[pair{id, string(a.like.Node(k).Raw)}] > 0
		})
		for i, p := range unknown[id] {
			if i < len(gone) {
				exact[p] = gone[i]
			}
		}
		for _, k := range keys {
			if a.short[id] == "" && here[pair{id, string(a.like.Node(k).Raw)}] < inLike[k] {
				a.short[id] = k
			}
		}
	}
	for i, s := range a.spans {
		if s.Key == "" {
			out[i] = exact[pair{s.ID, a.raw(i)}]
		}
	}
}
