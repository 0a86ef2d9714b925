package yamltext

import (
	"strings"
)

// A Settler decides between two entries of one key that both sides changed. A
// nil entry is one that the side does not have; a nil result, one that goes.
type Settler func(before, ours, theirs *Entry) (*Entry, bool)

// Merge3 merges the entries of one key three ways. Insert places what only
// theirs has added.
func Merge3(before, ours, theirs []Entry, settle Settler, insert func(list []Entry, e Entry) []Entry) ([]Entry, bool) {
	const most = 4096 // entries; no package has a quarter of that
	if len(ours)+len(theirs) > most {
		return nil, false
	}
	b, o, t := index(before), index(ours), index(theirs)
	out := make([]Entry, 0, len(ours)+len(theirs))
	for i := range ours {
		e := &ours[i]
		was, they := b[e.Key], t[e.Key]
		switch {
		case same(e, they), same(was, they):
			out = append(out, *e)
		case same(was, e):
			if they != nil {
				out = append(out, *they)
			}
		default:
			r, ok := settle(was, e, they)
			if !ok {
				return nil, false
			}
			if r != nil {
				out = append(out, *r)
			}
		}
	}
	for i := range theirs {
		e := &theirs[i]
		was := b[e.Key]
		if o[e.Key] != nil || same(was, e) {
			continue
		}
		if was != nil { // ours removed what theirs changed
			r, ok := settle(was, nil, e)
			if !ok {
				return nil, false
			}
			if r == nil {
				continue
			}
			e = r
		}
		out = insert(out, *e)
	}
	return out, true
}

func index(list []Entry) map[string]*Entry {
	m := make(map[string]*Entry, len(list))
	for i := range list {
		m[list[i].Key] = &list[i]
	}
	return m
}

func same(a, b *Entry) bool { return a == b || a != nil && b != nil && a.Text() == b.Text() }

// With is the entry with other entries below it.
func (e *Entry) With(list []Entry) Entry {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].Text())
	}
	c := *e
	c.Body = b.String()
	switch {
	case c.Explicit: // the first line below a "? key" begins with the colon
		in := Indent(c.Head)
		c.Body = c.Body[:min(in, len(c.Body))] + ":" + c.Body[min(in+1, len(c.Body)):]
	case c.Body == "" && !c.Item:
		c.Head, c.Val = strings.TrimSuffix(c.WithKeyValue(c.Key, ""), "\n")+" {}\n", "{}"
	case c.Val == "{}" || c.Val == "[]":
		c.Head, c.Val = c.WithKeyValue(c.Key, ""), ""
	}
	return c
}

// Inside are the entries below one; none when it is nil or cannot be split.
func (e *Entry) Inside() []Entry {
	if e == nil {
		return nil
	}
	list, err := e.Inner()
	if err != nil {
		return nil
	}
	return list
}
