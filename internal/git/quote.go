package git

import (
	"fmt"
	"strings"
)

// quote writes any bytes as one of git's C-style quoted strings, which
// fast-import takes for a path and objects/info/alternates for a folder.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// CheckPath says whether path can stand in a tree: relative, no empty, "." or
// ".." component, none that git keeps for itself (.git in any case, and the
// short name that Windows gives it), no NUL. It fails with [ErrBadPath].
func CheckPath(path string) error {
	if strings.ContainsRune(path, 0) {
		return fmt.Errorf("%w: %q holds a NUL", ErrBadPath, path)
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("%w: %q has a component %q", ErrBadPath, path, part)
		case strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1"):
			return fmt.Errorf("%w: %q is inside of %q, which is git's own", ErrBadPath, path, part)
		}
	}
	return nil
}
