package docker

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// image is a reference as the registries' specification writes it: a name, a
// tag behind a colon, a digest behind an at sign.
var image = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?::[0-9]+/)?[A-Za-z0-9._/-]*)` +
	`((?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?)$`)

// SplitImage splits a reference to an image into its name, and its tag and
// digest as they stand there (":3.12-slim@sha256:..."). Both are empty when it is
// none, as one with a variable in it.
func SplitImage(ref string) (name, tag string) {
	m := image.FindStringSubmatch(ref)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// Tag and digest of what SplitImage calls a tag.
func split(raw string) (tag, digest string) {
	tag, digest, _ = strings.Cut(raw, "@")
	return strings.TrimPrefix(tag, ":"), digest
}

// shortDigest is the length of a digest as people are shown it: as docker does.
const shortDigest = len("sha256:") + 12

// TagVersion is a tag, and a part of the digest if there is one, as users are
// shown it.
func TagVersion(raw string) string {
	tag, digest := split(raw)
	if len(digest) > shortDigest {
		digest = digest[:shortDigest]
	}
	switch {
	case digest == "":
		return tag
	case tag == "":
		return digest
	}
	return fmt.Sprintf("%s (%s)", tag, digest)
}

// CompareTags orders what SplitImage gives for one image at two versions. One
// tag at two digests has no order. Of a tag with a digest and one without, the
// former may be the higher, but never the latter: it would give up the pin.
func CompareTags(a, b string) (int, bool) {
	tagA, digestA := split(a)
	tagB, digestB := split(b)
	c, ok := version.Tags(tagA, tagB)
	switch {
	case !ok || digestA == digestB:
		return c, ok
	case digestB == "":
		return 1, c >= 0
	case digestA == "":
		return -1, c <= 0
	}
	return c, c != 0 && !version.Covers(tagA, tagB)
}
