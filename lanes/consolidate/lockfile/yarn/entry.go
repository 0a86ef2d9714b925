package yarn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// An entry is what a block says; the nodes of its descriptors share it.
type entry struct {
	fields []field
	// at is what it is resolved to; entries with the same are one block. Empty
	// when the file does not say, as for a folder.
	at string
	// meta is the file's own version, where it has one.
	meta string

	version string
	needs   []lockfile.Edge
}

// A field is a line of an entry, with the lines nested in it. Key and value are
// as the file writes them.
type field struct {
	key, value string
	sub        []field
	nested     bool
}

func entryOf(n *lockfile.Node) *entry {
	e, _ := n.Data.(*entry)
	return e
}

// plain is the string that a key or value stands for.
func plain(raw string) string {
	if strings.HasPrefix(raw, `"`) {
		if s, ok := jsontext.String([]byte(raw)); ok {
			return s
		}
	}
	return raw
}

// newEntry reads what the merge has to know of an entry's fields.
func (y *dialect) newEntry(fields []field, meta string) *entry {
	e := &entry{fields: fields, meta: meta}
	e.at, e.version = e.get(y.at), e.get("version")
	e.needs = y.edges(e)
	return e
}

func find(fields []field, key string) *field {
	for i := range fields {
		if plain(fields[i].key) == key {
			return &fields[i]
		}
	}
	return nil
}

// index finds fields by key.
func index(fields []field) map[string]*field {
	out := make(map[string]*field, len(fields))
	for i := range fields {
		out[plain(fields[i].key)] = &fields[i]
	}
	return out
}

// get is the value of an entry's field; empty when it has none.
func (e *entry) get(key string) string {
	if f := find(e.fields, key); f != nil {
		return plain(f.value)
	}
	return ""
}

// pairs are the lines nested in one of an entry's fields.
func (e *entry) pairs(key string) [][2]string {
	f := find(e.fields, key)
	if f == nil {
		return nil
	}
	out := make([][2]string, 0, len(f.sub))
	for _, s := range f.sub {
		if !s.nested {
			out = append(out, [2]string{plain(s.key), plain(s.value)})
		}
	}
	return out
}

// parseBody reads a block's fields. Line is where they begin in the file.
func (y *dialect) parseBody(body string, line int) ([]field, error) {
	const deepest = 8 // berry nests three levels
	var open [deepest + 1]*[]field
	var seen [deepest + 1]map[string]bool
	var top []field
	open[1], seen[1] = &top, map[string]bool{}
	depth := 0 // of the last field
	for pos := 0; pos < len(body); line++ {
		l, next := lineAt(body, pos)
		pos = next
		l = strings.TrimRight(l, " \t\r")
		text := strings.TrimLeft(l, " ")
		if text == "" || text[0] == '#' {
			continue
		}
		indent := len(l) - len(text)
		d := indent / 2
		if indent%2 != 0 || d == 0 || d > deepest || open[d] == nil || d > depth+1 {
			return nil, fmt.Errorf("line %d: the indentation fits nothing above: %s", line, quoted(l))
		}
		f, nested, err := y.cut(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		list := open[d]
		if key := plain(f.key); seen[d][key] {
			return nil, &lockfile.DuplicateError{Key: key, Line: line}
		}
		seen[d][plain(f.key)] = true
		f.nested = nested
		*list = append(*list, f)
		clear(open[d+1:])
		if nested && d < deepest {
			open[d+1], seen[d+1] = &(*list)[len(*list)-1].sub, map[string]bool{}
		}
		depth = d
	}
	return top, nil
}

// render writes fields as yarn does.
func (y *dialect) render(fields []field) []byte {
	var b strings.Builder
	y.write(&b, fields, "  ")
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

func (y *dialect) write(b *strings.Builder, fields []field, indent string) {
	for _, f := range fields {
		b.WriteString(indent + f.key)
		if f.nested {
			b.WriteString(":\n")
			y.write(b, f.sub, indent+"  ")
			continue
		}
		b.WriteString(y.separator + f.value + "\n")
	}
}

// sortFields brings fields into yarn's order.
func (y *dialect) sortFields(fields []field) {
	slices.SortStableFunc(fields, func(a, b field) int { return y.before(plain(a.key), plain(b.key)) })
}

// ranked orders keys: those of a list as they stand there, then the others.
func ranked(first []string) func(a, b string) int {
	rank := make(map[string]int, len(first))
	for i, k := range first {
		rank[k] = i - len(first)
	}
	return func(a, b string) int {
		if c := rank[a] - rank[b]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	}
}
