package yarn

import (
	"path"
	"strings"
)

// matchAny reports whether a folder is one of a project's workspaces. Patterns
// are as package managers read them: * within a name, ** over names, {a,b}, and
// a leading ! takes away.
func matchAny(patterns []string, dir string) bool {
	found := false
	for _, p := range patterns {
		negative := strings.HasPrefix(p, "!")
		p = strings.TrimPrefix(p, "!")
		for _, alternative := range braces(p, 64) {
			alternative = strings.Trim(strings.TrimPrefix(alternative, "./"), "/")
			if !match(strings.Split(alternative, "/"), strings.Split(dir, "/")) {
				continue
			}
			if negative {
				return false
			}
			found = true
		}
	}
	return found
}

// match compares name by name. It is quadratic at most.
func match(pattern, dir []string) bool {
	reach := make([]bool, len(dir)+1) // reach[i]: the pattern so far fits dir[:i]
	reach[0] = true
	for _, p := range pattern {
		next := make([]bool, len(dir)+1)
		if p == "**" {
			on := false
			for i := range reach {
				on = on || reach[i]
				next[i] = on
				if i < len(dir) && strings.HasPrefix(dir[i], ".") {
					on = false
				}
			}
		} else {
			for i, name := range dir {
				if ok, err := path.Match(p, name); reach[i] && ok && err == nil && (name[:min(1, len(name))] != "." || p[:1] == ".") {
					next[i+1] = true
				}
			}
		}
		reach = next
	}
	return reach[len(dir)]
}

// braces writes {a,b} out, up to a number of alternatives.
func braces(p string, most int) []string {
	open := strings.IndexByte(p, '{')
	if open < 0 {
		return []string{p}
	}
	end := strings.IndexByte(p[open:], '}')
	if end < 0 {
		return []string{p}
	}
	end += open
	var out []string
	tails := braces(p[end+1:], most)
	for alternative := range strings.SplitSeq(p[open+1:end], ",") {
		for _, rest := range tails {
			if len(out) == most {
				return out
			}
			out = append(out, p[:open]+alternative+rest)
		}
	}
	return out
}
