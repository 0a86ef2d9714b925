package tree

import (
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// Clash finds a file of t that stands where another path has its folder, and
// that path. Git cannot store both, and would drop one without a word. Only
// what t has and was has not is looked at: was has no clash.
func (t *Tree) Clash(was *Tree) (file, inside string, found bool) {
	added := map[string]bool{}
	for p, f := range t.files {
		if f != nil && was.File(p) == nil {
			added[p] = true
		}
	}
	if len(added) == 0 {
		return "", "", false
	}
	for _, p := range slices.Sorted(maps.Keys(added)) {
		for i, c := range p {
			if c == '/' && t.File(p[:i]) != nil {
				return p[:i], p, true
			}
		}
		if in := t.under(p); in != "" {
			return p, in, true
		}
	}
	for _, p := range slices.Sorted(maps.Keys(t.files)) {
		for i, c := range p {
			if c == '/' && t.files[p] != nil && added[p[:i]] {
				return p[:i], p, true
			}
		}
	}
	return "", "", false
}

// under is the first path of the commit that is below a folder and still there.
func (t *Tree) under(folder string) string {
	at, _ := slices.BinarySearchFunc(t.order, folder+"/", func(e git.Entry, p string) int { return strings.Compare(e.Path, p) })
	for ; at < len(t.order) && strings.HasPrefix(t.order[at].Path, folder+"/"); at++ {
		if p := t.order[at].Path; t.File(p) != nil {
			return p
		}
	}
	return ""
}
