package jsontext

import "bytes"

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// valid reports whether t is one JSON value, as json.Valid does. A lockfile is
// read once for each pull request, so this is worth its lines: it takes a
// third of the time. It does not recurse.
func valid(t []byte) bool {
	var open []byte // the brackets that are open
	i := 0
	for {
		// A value begins here.
		if i = space(t, i); i >= len(t) {
			return false
		}
		switch c := t[i]; c {
		case '{', '[':
			if len(open) == maxDepth {
				return false
			}
			open = append(open, c+2) // its closing one
			if i = space(t, i+1); i < len(t) && t[i] == c+2 {
				break // empty
			}
			if c == '{' {
				if i = validKey(t, i); i < 0 {
					return false
				}
			}
			continue
		case '"':
			i = validString(t, i)
		case 't':
			i = literal(t, i, "true")
		case 'f':
			i = literal(t, i, "false")
		case 'n':
			i = literal(t, i, "null")
		default:
			i = validNumber(t, i)
		}
		if i < 0 {
			return false
		}
		// A value has ended: close what it ends.
		for {
			i = space(t, i)
			if len(open) == 0 {
				return i == len(t)
			}
			if i >= len(t) {
				return false
			}
			if t[i] == ',' {
				if i++; open[len(open)-1] == '}' {
					if i = validKey(t, space(t, i)); i < 0 {
						return false
					}
				}
				break
			}
			if t[i] != open[len(open)-1] {
				return false
			}
			open = open[:len(open)-1]
			i++
		}
	}
}

// validKey returns the offset behind a key and its colon, or -1.
func validKey(t []byte, i int) int {
	if i >= len(t) || t[i] != '"' {
		return -1
	}
	if i = validString(t, i); i < 0 {
		return -1
	}
	if i = space(t, i); i >= len(t) || t[i] != ':' {
		return -1
	}
	return i + 1
}

// validString returns the offset behind the string that begins at i, or -1.
func validString(t []byte, i int) int {
	for i++; i < len(t); i++ {
		c := t[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		switch {
		case c == '"':
			return i + 1
		case c != '\\' || i+1 >= len(t):
			return -1
		}
		i++
		if t[i] != 'u' {
			if bytes.IndexByte([]byte(`"\/bfnrt`), t[i]) < 0 {
				return -1
			}
			continue
		}
		if i+4 >= len(t) {
			return -1
		}
		for range 4 {
			i++
			if !hex(t[i]) {
				return -1
			}
		}
	}
	return -1
}

func literal(t []byte, i int, word string) int {
	if !bytes.HasPrefix(t[i:], []byte(word)) {
		return -1
	}
	return i + len(word)
}

// validNumber returns the offset behind the number that begins at i, or -1.
func validNumber(t []byte, i int) int {
	if t[i] == '-' {
		i++
	}
	switch n := digits(t, i); {
	case n == i, t[i] == '0' && n > i+1:
		return -1
	default:
		i = n
	}
	if i < len(t) && t[i] == '.' {
		n := digits(t, i+1)
		if n == i+1 {
			return -1
		}
		i = n
	}
	if i < len(t) && (t[i] == 'e' || t[i] == 'E') {
		i++
		if i < len(t) && (t[i] == '+' || t[i] == '-') {
			i++
		}
		n := digits(t, i)
		if n == i {
			return -1
		}
		i = n
	}
	return i
}

func digits(t []byte, i int) int {
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	return i
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
