package npm

import "strings"

// collation is the order in which npm writes keys: that of ICU's root collation
// for the characters that names consist of. Upper case counts only between
// names that are otherwise equal.
const collation = ` _-,;:!?.'"()[]{}@*/\&#%` + "`" + `^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz`

// NewLess returns the order of keys: of packages' paths, of requirements
// ("dependencies/a"), and of what has the key of a member of the file before it
// ("#dependencies/node_modules/a"). A member itself ("#dependencies") stands
// before what it holds. What is not ASCII goes last, by its bytes.
func NewLess() func(a, b string) bool {
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
	// split takes the member off a key that has one before it.
	split := func(key string) (member, rest string) {
		if !strings.HasPrefix(key, "#") {
			return "", key
		}
		if i := strings.IndexByte(key, '/'); i > 0 {
			return key[:i], key[i+1:]
		}
		return key, ""
	}
	return func(a, b string) bool {
		ma, ra := split(a)
		mb, rb := split(b)
		if aIs, bIs := ma != "" && ra == "", mb != "" && rb == ""; aIs || bIs {
			return aIs && !bIs
		}
		return ma == mb && compare(ra, rb) < 0
	}
}
