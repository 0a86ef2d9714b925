// Package pnpm knows pnpm's files: pnpm-lock.yaml of the versions 5, 6 and 9,
// and pnpm-workspace.yaml.
//
// The files are read line by line, never through a YAML library: pnpm writes
// them always alike, and what a merge does not touch has to stay as it is.
//
// A package that has peers is locked once for every set of them, and its key
// says which: swr@2.2.4(react@18.3.1). So a bump of react renames swr. Before
// two sides are merged by key, each is rewritten by the other's renames (see
// align); then the entry swr@2.2.5(react@19.0.0) comes out right even if one
// side has only bumped swr and the other only react.
package pnpm

import (
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// rules are npm's, which pnpm shares.
type rules struct{ npm.Ranges }

// Formats returns pnpm's formats.
func Formats() []*lockfile.Format {
	r := rules{npm.NewRanges()}
	return []*lockfile.Format{lockFormat(r), workspaceFormat(r)}
}

func lockFormat(r rules) *lockfile.Format {
	return &lockfile.Format{
		Name:      "pnpm-lock.yaml",
		Ecosystem: npm.Ecosystem,
		Lock:      true,
		Match: func(p string, content []byte) bool {
			return isLock(p) && (content == nil || dialects[lockVersion(string(content))] != nil)
		},
		Parse:   parseLock,
		Encode:  encode,
		Compare: r.compare,
		Combine: r.combine,
		Tool:    tool,
		Align:   r.align,
		Less:    less,
		Repair:  r.repair,
		Finish:  r.finish,
		Check:   r.check,
	}
}

// ordered are the sections whose entries pnpm sorts.
var ordered = map[string]bool{importers: true, packages: true, snapshots: true, "time": true, "catalogs": true, "patchedDependencies": true}

// less orders two entries that stand under one key.
func less(a, b string) bool {
	i, j := strings.LastIndex(a, arrow), strings.LastIndex(b, arrow)
	if i < 0 || i != j || a[:i] != b[:i] {
		return false
	}
	section, _, _ := strings.Cut(a, arrow)
	a, b = a[i+len(arrow):], b[i+len(arrow):]
	return ordered[section] && a[0] != '#' && b[0] != '#' && a < b
}

// compare orders the versions of two nodes, or their requirements.
func (r rules) compare(a, b *lockfile.Node) (int, bool) {
	if c, ok := r.Compare(a.Version, b.Version); ok {
		return c, true
	}
	return r.CompareReqs(a.Version, b.Version)
}
