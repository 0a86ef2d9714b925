package jsontext

import "bytes"

// Resolve settles a value that both sides changed differently. A nil value is
// an absent one. It returns false when it cannot say which is right.
type Resolve func(path []string, before, ours, theirs []byte) ([]byte, bool)

// mergeDepth is how deep Merge3 looks into a value; below it a value is taken
// as a whole. No manifest comes near it, and every level reads the value again.
const mergeDepth = 64

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
	if isObject(ours) && isObject(theirs) && (before == nil || isObject(before)) && len(path) < mergeDepth {
		return m.object(path, before, ours, theirs)
	}
	if v, ok := m.resolve(path, before, ours, theirs); ok {
		return v
	}
	return m.conflict(path, ours)
}

func (m *merger) conflict(path []string, ours []byte) []byte {
	m.conflicts = append(m.conflicts, append([]string(nil), path...))
	return ours
}

// members is an object with its members by key.
type members struct {
	Object
	byKey map[string]Member
}

func parseMembers(v []byte) (members, error) {
	if v == nil {
		return members{}, nil
	}
	o, err := Parse(v, 0)
	byKey := make(map[string]Member, len(o.Members))
	for _, m := range o.Members {
		byKey[m.Key] = m
	}
	return members{o, byKey}, err
}

// get is the value of a key, nil when it is absent.
func (o members) get(key string) []byte {
	if m, ok := o.byKey[key]; ok {
		return m.Value()
	}
	return nil
}

func (m *merger) object(path []string, before, ours, theirs []byte) []byte {
	b, errB := parseMembers(before)
	o, errO := parseMembers(ours)
	t, errT := parseMembers(theirs)
	if errB != nil || errO != nil || errT != nil {
		return m.conflict(path, ours)
	}
	added, closing := m.added(path, b, o, t), o.Close
	if len(o.Members) == 0 {
		closing = t.Close
	}
	out := make([]Member, 0, len(o.Members)+1)
	waiting := added[""] // what theirs adds here, first one first
	delete(added, "")    // a member of ours may have the empty key
	for _, om := range o.Members {
		// Sorted neighbours that only ours has go before.
		for len(waiting) > 0 {
			if n := len(out); (n == 0 || out[n-1].Key < om.Key) && om.Key < waiting[0].Key {
				break
			}
			out, waiting = append(out, waiting[0]), waiting[1:]
		}
		if v := m.value(append(path, om.Key), b.get(om.Key), om.Value(), t.get(om.Key)); v != nil {
			if !bytes.Equal(v, om.Value()) {
				om = om.WithValue(v)
			}
			out = append(out, om)
		}
		waiting = append(waiting, added[om.Key]...)
	}
	return Append(nil, append(out, waiting...), closing)
}

// added are the members of the result that ours does not have, by the member
// of ours that they stand behind in theirs ("": at the front).
func (m *merger) added(path []string, b, o, t members) map[string][]Member {
	out := map[string][]Member{}
	behind := ""
	for _, tm := range t.Members {
		if _, ok := o.byKey[tm.Key]; ok {
			behind = tm.Key
			continue
		}
		v := m.value(append(path, tm.Key), b.get(tm.Key), nil, tm.Value())
		if v == nil {
			continue
		}
		if !bytes.Equal(v, tm.Value()) {
			tm = tm.WithValue(v)
		}
		if n := len(o.Members); n > 0 { // written like its new siblings
			lead := o.Members[n-1].Lead()
			tm.Raw = append(bytes.Clone(lead), tm.Raw[tm.KeyAt:tm.ValueEnd]...)
		}
		out[behind] = append(out[behind], tm)
	}
	return out
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

func same(a, b []byte) bool {
	return (a == nil) == (b == nil) && bytes.Equal(a, b)
}
