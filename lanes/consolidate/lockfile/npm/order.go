package npm

import "strings"

// collation is the order in which npm writes keys: that of ICU's root collation
// for the characters that names consist of. Upper case counts only between
// names that are otherwise equal.
const collation = ` _-,;:!?.'"()[]{}@*/\&#%` + "`" + `^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz`

// newLess returns the order of keys. What is not ASCII goes last, by its bytes.
func newLess() func(a, b string) bool {
	var weight [256]byte
	for c := range weight {
		weight[c] = byte(c)
	}
	for i := range len(collation) {
		c := collation[i]
		weight[c] = byte(i)
		weight[strings.ToUpper(collation[i : i+1])[0]] = byte(i)
	}
	compare := func(a, b string) int {
		for i := range min(len(a), len(b)) {
			if x, y := weight[a[i]], weight[b[i]]; x != y {
				return int(x) - int(y)
			}
		}
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return -strings.Compare(a, b) // lower case first
	}
	return func(a, b string) bool {
		la, okA := strings.CutPrefix(a, legacyPrefix)
		lb, okB := strings.CutPrefix(b, legacyPrefix)
		memberA, memberB := !okA && strings.HasPrefix(a, "#"), !okB && strings.HasPrefix(b, "#")
		switch {
		case memberA || memberB: // a member of the file, with what it holds behind it
			return memberA && !memberB
		case okA != okB:
			return false
		}
		return compare(la, lb) < 0
	}
}
