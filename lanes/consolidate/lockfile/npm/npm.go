// Package npm knows npm's files: package.json and package-lock.json in its
// three versions. What yarn and pnpm share with npm, ranges and manifests, is
// exported for them.
package npm

import (
	"path"
	"strings"

	"deps.dev/util/semver"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "npm"

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
// repository) is met by whatever is locked.
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
// that each admits.
func (r Ranges) CompareReqs(a, b string) (int, bool) {
	_, a = Alias(a)
	_, b = Alias(b)
	return r.Lowest(strings.TrimSpace(a), strings.TrimSpace(b))
}

// Less orders keys as npm writes them: by the English collation.
func newLess() func(a, b string) bool {
	c := collate.New(language.English)
	return func(a, b string) bool {
		if a == "" || b == "" || a[0] == '#' || b[0] == '#' {
			return false
		}
		return c.CompareString(a, b) < 0
	}
}

// Formats returns npm's formats.
func Formats() []*lockfile.Format {
	r := NewRanges()
	return []*lockfile.Format{
		manifestFormat(r),
		packagesFormat(r),
	}
}

// isLock reports whether a path names npm's lockfile.
func isLock(p string) bool {
	b := path.Base(p)
	return b == "package-lock.json" || b == "npm-shrinkwrap.json"
}
