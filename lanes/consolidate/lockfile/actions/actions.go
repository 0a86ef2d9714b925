// Package actions knows the files of GitHub Actions: workflows, and an action's
// own action.yml. Their cells are what `uses:` and `image:` refer to.
package actions

import (
	"path"
	"regexp"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/docker"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "actions"

// Formats returns the formats of this package.
func Formats() []*lockfile.Format {
	return []*lockfile.Format{
		format("workflow", func(p string) bool {
			dir, ext := path.Dir(p), path.Ext(p)
			return (ext == ".yml" || ext == ".yaml") && (dir == workflows || strings.HasSuffix(dir, "/"+workflows))
		}),
		format("action", func(p string) bool {
			base := path.Base(p)
			return base == "action.yml" || base == "action.yaml"
		}),
	}
}

const workflows = ".github/workflows"

func format(name string, match func(p string) bool) *lockfile.Format {
	return &lockfile.Format{
		Name:      name,
		Ecosystem: Ecosystem,
		Match:     func(p string, _ []byte) bool { return match(p) },
		Parse: func(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
			found, err := spans(content)
			if err != nil {
				return nil, err
			}
			return cells.Parse(content, found, like)
		},
		Encode:  cells.Encode,
		Compare: func(a, b *lockfile.Node) (int, bool) { return compare(string(a.Raw), string(b.Raw)) },
		Finish:  cells.Finish,
	}
}

// reference is what a cell of an action holds: "@ref", and for a commit the
// comment behind it up to the version in it.
type reference struct {
	ref     string
	comment string // the version in the comment
}

// pinned reports whether the reference is a commit, which does not move.
func (r reference) pinned() bool { return commit.MatchString(r.ref) }

var (
	commit = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	// action is owner/repo, perhaps a path in it, and a reference.
	action = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)((?:/[^@\s]+)?)(@[^@#\s'"]+)$`)
	// numbered is a tag with a version in it, as far as it stands in a comment:
	// v4.1.2, release/v1.13.0, codeql-bundle-v2.1.
	numbered = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_.]*[-/])*[vV]?\d+(?:\.\d+)*(?:[-+.][A-Za-z0-9][A-Za-z0-9.+-]*)?$`)
)

func readReference(raw string) reference {
	ref, comment, _ := strings.Cut(strings.TrimPrefix(raw, "@"), "#")
	ref = strings.TrimRight(ref, "'\" \t")
	start, end := versionIn(comment)
	return reference{ref, comment[start:end]}
}

// versionIn finds the version that a comment names: in its first word, else in
// its last, behind whatever the tool that wrote it puts before (pin@v4, tag=v3,
// ratchet:actions/checkout@v4).
func versionIn(comment string) (start, end int) {
	words := strings.Fields(comment)
	if len(words) == 0 {
		return 0, 0
	}
	last := words[len(words)-1]
	for _, w := range []struct {
		text string
		at   int
	}{
		{words[0], strings.Index(comment, words[0])},
		{last, strings.LastIndex(comment, last)},
	} {
		from := strings.LastIndexAny(w.text, "@=:") + 1
		v := strings.TrimRight(w.text[from:], ",;.)")
		if numbered.MatchString(v) && !commit.MatchString(v) {
			return w.at + from, w.at + from + len(v)
		}
	}
	return 0, 0
}

// shortCommit is how many digits of a commit people are shown: as git does.
const shortCommit = 7

// show is the reference as users are shown it: v4.1.2 (8f4b7f8).
func (r reference) show() string {
	if !r.pinned() {
		return r.ref
	}
	if r.comment == "" {
		return r.ref[:shortCommit]
	}
	return r.comment + " (" + r.ref[:shortCommit] + ")"
}

// compare orders two cells for one thing. A commit without a version has no
// order. Of a commit and a tag the commit may be the higher, as v4.1.2 is beside
// v4, but never the tag: it would give up the pin.
func compare(a, b string) (int, bool) {
	if image(a) || image(b) {
		if image(a) && image(b) {
			return docker.CompareTags(a, b)
		}
		return 0, false
	}
	x, y := readReference(a), readReference(b)
	vx, vy := x.version(), y.version()
	c, ok := version.Tags(vx, vy)
	switch {
	case x == y:
		return 0, true
	case vx == "" || vy == "" || !ok:
		return 0, false
	case x.pinned() && y.pinned():
		// v4 was somewhere in the line that v4.1.2 is in.
		return c, c != 0 && !version.Covers(vx, vy)
	case x.pinned():
		return 1, c >= 0
	case y.pinned():
		return -1, c <= 0
	}
	return c, true
}

// version is what the reference says of a version; empty for a mere commit.
func (r reference) version() string {
	if r.pinned() {
		return r.comment
	}
	return r.ref
}

// image reports whether a cell is the tag of an image.
func image(raw string) bool {
	return strings.HasPrefix(raw, ":") || strings.HasPrefix(raw, "@sha256:")
}
