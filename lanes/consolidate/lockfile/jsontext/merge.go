package jsontext

import "bytes"

// Resolve settles a value that both sides changed differently. A nil value is
// an absent one. It returns false when it cannot say which is right.
type Resolve func(path []string, before, ours, theirs []byte) ([]byte, bool)

// Merge3 merges two versions of a value by meaning: objects member by member,
// everything else as a whole. It keeps the text of ours wherever theirs did not
// change it. The second result lists the paths that could not be settled;
// ours stands there.
func Merge3(before, ours, theirs []byte, resolve Resolve) ([]byte, [][]string) {
	m := merger{resolve: resolve}
	return m.value(nil, before, ours, theirs), m.conflicts
}

type merger struct {
	resolve   Resolve
	conflicts [][]string
}

func (m *merger) value(path []string, before, ours, theirs []byte) []byte {
	switch {
	case same(ours, theirs), same(before, theirs):
		return ours
	case same(before, ours):
		return theirs
	}
	if isObject(ours) && isObject(theirs) && (before == nil || isObject(before)) {
		return m.object(path, before, ours, theirs)
	}
	if v, ok := m.resolve(path, before, ours, theirs); ok {
		return v
	}
	m.conflicts = append(m.conflicts, append([]string(nil), path...))
	return ours
}

func (m *merger) object(path []string, before, ours, theirs []byte) []byte {
	b := Object{}
	if before != nil {
		b, _ = Parse(before, 0)
	}
	o, errO := Parse(ours, 0)
	t, errT := Parse(theirs, 0)
	if errO != nil || errT != nil {
		m.conflicts = append(m.conflicts, append([]string(nil), path...))
		return ours
	}
	out := make([]Member, 0, len(o.Members)+1)
	for _, om := range o.Members {
		bm, inB := b.Get(om.Key)
		tm, inT := t.Get(om.Key)
		var bv, tv []byte
		if inB {
			bv = bm.Value()
		}
		if inT {
			tv = tm.Value()
		}
		if v := m.value(append(path, om.Key), bv, om.Value(), tv); v != nil {
			if !bytes.Equal(v, om.Value()) {
				om = om.WithValue(v)
			}
			out = append(out, om)
		}
	}
	last := "" // the member of theirs before this one that stands in the result
	for _, tm := range t.Members {
		if _, ok := o.Get(tm.Key); ok {
			last = tm.Key
			continue
		}
		var bv []byte
		if bm, ok := b.Get(tm.Key); ok {
			bv = bm.Value()
		}
		v := m.value(append(path, tm.Key), bv, nil, tm.Value())
		if v == nil {
			continue
		}
		if len(o.Members) > 0 {
			tm.Raw, tm.KeyEnd, tm.ValueAt = restyle(tm, o.Members[0]), 0, 0
		}
		out = insertBehind(out, last, tm)
		last = tm.Key
	}
	closing := o.Close
	if len(o.Members) == 0 {
		closing = t.Close
	}
	return Append(nil, out, closing)
}

// restyle gives a member the leading white space of its new siblings.
func restyle(m, sibling Member) []byte {
	return append(append([]byte(nil), sibling.Lead()...), m.Raw[m.KeyAt:]...)
}

func insertBehind(list []Member, key string, m Member) []Member {
	at := 0
	for i, x := range list {
		if x.Key == key {
			at = i + 1
			break
		}
	}
	// Sorted neighbours that only ours has go first.
	for at > 0 && at < len(list) && list[at-1].Key < list[at].Key && list[at].Key < m.Key {
		at++
	}
	list = append(list, Member{})
	copy(list[at+1:], list[at:])
	list[at] = m
	return list
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

func same(a, b []byte) bool {
	return (a == nil) == (b == nil) && bytes.Equal(a, b)
}
