// Package npm knows what npm's files share with those of yarn and pnpm:
// package.json, requirements, and the order of keys. Its lockfile is in npmlock.
package npm

import (
	"strings"

	"deps.dev/util/semver"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "npm"

// Formats returns the format of manifests.
func Formats() []*lockfile.Format { return []*lockfile.Format{manifestFormat(NewRanges())} }

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
