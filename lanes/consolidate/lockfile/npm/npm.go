// Package npm knows npm's files: package.json and package-lock.json in its
// three versions. What yarn and pnpm share with npm, ranges and manifests, is
// exported for them.
//
// A lockfile is a picture of the folders that an installation makes, so where a
// package stands decides what its dependents find. All three versions are read
// as one model: a node a package, its key the path at which it stands. The
// truth is npm's own library arborist: how an edge finds its package, when it is
// satisfied, and what `npm ci` refuses.
package npm

import (
	"path"
	"strings"

	"deps.dev/util/semver"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "npm"

// Formats returns npm's formats.
func Formats() []*lockfile.Format {
	r := NewRanges()
	return []*lockfile.Format{
		manifestFormat(r),
		lockFormat(r, 3),
		lockFormat(r, 2),
		lockFormat(r, 1),
	}
}

// Ranges are npm's requirements: ranges, aliases, and what is neither.
type Ranges struct{ *version.Rules }

// NewRanges returns npm's rules.
func NewRanges() Ranges { return Ranges{version.New(semver.NPM)} }

// Alias splits "npm:name@range". For anything else name is empty.
func Alias(req string) (name, rng string) {
	rest, ok := strings.CutPrefix(req, "npm:")
	if !ok {
		return "", req
	}
	if at := strings.LastIndexByte(rest, '@'); at > 0 {
		return rest[:at], rest[at+1:]
	}
	if strings.HasPrefix(rest, "@") || !strings.ContainsAny(rest[:min(1, len(rest))], "0123456789^~<>=*x") {
		return rest, "*"
	}
	return "", rest // yarn berry writes npm:^1.0.0
}

// Meets reports whether a package of this name and version meets a
// requirement of the name dep. What is no range (a tag, an address, a
// repository) is met by whatever is locked. An empty name is not compared.
func (r Ranges) Meets(dep, req, name, ver string) bool {
	alias, rng := Alias(req)
	want := dep
	if alias != "" {
		want = alias
	}
	rng = strings.TrimSpace(rng)
	if strings.ContainsAny(rng, ":/#") {
		return true
	}
	if name != "" && want != name {
		return false
	}
	if rng == "" || rng == "*" {
		return true
	}
	ok, known := r.Satisfies(rng, ver)
	return ok || !known
}

// CompareReqs orders two requirements of one dependency: by the lowest version
// that each admits. Aliases of two packages have no order.
func (r Ranges) CompareReqs(a, b string) (int, bool) {
	nameA, a := Alias(a)
	nameB, b := Alias(b)
	if nameA != nameB {
		return 0, false
	}
	return r.Lowest(strings.TrimSpace(a), strings.TrimSpace(b))
}

// isLock reports whether a path names npm's lockfile.
func isLock(p string) bool {
	b := path.Base(p)
	return b == "package-lock.json" || b == "npm-shrinkwrap.json"
}
