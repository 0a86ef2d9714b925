package version

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Tags orders two tags of one scheme, as git repositories and container images
// have them: v4, release/v1.13.0, 3.12-slim, 1.22-alpine3.19, 1.27rc1. Two tags
// are of one scheme when they differ in numbers alone, and in a mark of a
// release to come, which stands before its release. A missing number counts as
// zero. The second result is false for tags of two schemes, and for those of
// which each is the higher in one place.
func Tags(a, b string) (int, bool) {
	x, y := readTag(a), readTag(b)
	if x.words != y.words || len(x.numbers) == 0 {
		return 0, a == b
	}
	order := 0
	for i := range x.numbers {
		c := x.numbers[i].compare(y.numbers[i])
		if c*order < 0 {
			return 0, false
		}
		if c != 0 {
			order = c
		}
	}
	return order, true
}

// Covers reports whether one of two tags names a whole line of releases that
// the other is in: v4 and v4.1.2.
func Covers(a, b string) bool {
	x, y := readTag(a), readTag(b)
	if x.words != y.words {
		return false
	}
	covers := false
	for i := range x.numbers {
		p, q := x.numbers[i], y.numbers[i]
		n := min(len(p.parts), len(q.parts))
		if !slices.Equal(p.parts[:n], q.parts[:n]) {
			return false
		}
		covers = covers || len(p.parts) != len(q.parts)
	}
	return covers
}

// tag is a tag taken apart: its words, with a placeholder for each number.
type tag struct {
	words   string
	numbers []number
}

// number is a dotted version inside a tag.
type number struct {
	parts []string // without leading zeros
	early string   // alpha, beta, rc; empty for a release
	count []string // the 2 of rc2
}

var (
	dotted = regexp.MustCompile(`^\d+(?:\.\d+)*`)
	// early releases; what follows is no letter, so that alpine is no alpha.
	early = regexp.MustCompile(`^[-._]?(alpha|beta|dev|ea|nightly|pre|preview|rc|snapshot|a|b|m)(?:[-._]?(\d+(?:\.\d+)*))?(?:$|[^A-Za-z0-9])`)
)

func readTag(s string) tag {
	var t tag
	var words strings.Builder
	s = strings.ToLower(s)
	for i := 0; i < len(s); {
		digits := dotted.FindString(s[i:])
		if digits == "" {
			// v4 and 4 are one: people write both.
			if s[i] != 'v' || i > 0 && isLetter(s[i-1]) || i+1 == len(s) || !isDigit(s[i+1]) {
				words.WriteByte(s[i])
			}
			i++
			continue
		}
		i += len(digits)
		n := number{parts: trim(digits)}
		if m := early.FindStringSubmatchIndex(s[i:]); m != nil {
			n.early = s[i+m[2] : i+m[3]]
			end := m[3]
			if m[4] >= 0 {
				n.count = trim(s[i+m[4] : i+m[5]])
				end = m[5]
			}
			i += end
		}
		words.WriteByte('#')
		t.numbers = append(t.numbers, n)
	}
	t.words = words.String()
	return t
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func trim(digits string) []string {
	parts := strings.Split(digits, ".")
	for i, p := range parts {
		parts[i] = strings.TrimLeft(p, "0")
	}
	return parts
}

func (n number) compare(o number) int {
	if c := compareParts(n.parts, o.parts); c != 0 || n.early == o.early {
		if c == 0 {
			c = compareParts(n.count, o.count)
		}
		return c
	}
	switch "" {
	case n.early:
		return 1
	case o.early:
		return -1
	}
	return cmp.Compare(n.early, o.early)
}

func compareParts(a, b []string) int {
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
	}
	return 0
}
