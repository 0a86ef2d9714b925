package consolidate

import (
	"slices"
	"strings"
)

// selected applies the user's filters.
func (e *engine) selected(h *head) error {
	for _, u := range h.updates {
		if len(e.opts.Ecosystems) > 0 && !slices.Contains(e.opts.Ecosystems, u.Ecosystem) {
			return &refusal{NotSelected, u.Name + " is of " + u.Ecosystem + ", which --ecosystem does not name", Evidence{Key: u.Name}}
		}
		if s := stepOf(u.From, u.To); e.opts.MaxBump != "" && u.From != "" && s > e.opts.MaxBump.size() {
			return &refusal{NotSelected, u.Name + " goes from " + u.From + " to " + u.To + ", further than --max-bump " + string(e.opts.MaxBump), Evidence{Key: u.Name, Ours: u.From, Theirs: u.To}}
		}
	}
	if len(e.opts.Ecosystems) > 0 && len(h.updates) == 0 {
		return &refusal{NotSelected, "it changes no file of the ecosystems that --ecosystem names", Evidence{}}
	}
	return nil
}

// Bump is how far a version may move.
type Bump string

// The sizes of a bump.
const (
	BumpMajor Bump = "major"
	BumpMinor Bump = "minor"
	BumpPatch Bump = "patch"
)

func (b Bump) size() int { return map[Bump]int{BumpPatch: 1, BumpMinor: 2, BumpMajor: 3}[b] }

// stepOf says in which part two versions or requirements differ first: 3 the
// first number, 2 the second, 1 anything further; what has no numbers is 3.
func stepOf(from, to string) int {
	a, b := numbers(from), numbers(to)
	if len(a) == 0 || len(b) == 0 {
		return BumpMajor.size()
	}
	for i := range 2 {
		if at(a, i) != at(b, i) {
			return 3 - i
		}
	}
	return BumpPatch.size()
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "0"
}

// numbers are the dotted numbers that a version begins with, behind any sign.
func numbers(v string) []string {
	start := strings.IndexAny(v, "0123456789")
	if start < 0 {
		return nil
	}
	v = v[start:]
	if end := strings.IndexFunc(v, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		v = v[:end]
	}
	return strings.Split(strings.Trim(v, "."), ".")
}
