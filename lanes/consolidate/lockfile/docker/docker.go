// Package docker knows Dockerfiles: the images that FROM and COPY --from name.
// How an image's tag and digest are read and ordered is exported for other
// files that name images.
package docker

import (
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
)

// Ecosystem is the name users filter by.
const Ecosystem = "docker"

// Formats returns the formats of this package.
func Formats() []*lockfile.Format {
	return []*lockfile.Format{{
		Name:      "Dockerfile",
		Ecosystem: Ecosystem,
		Match:     func(p string, _ []byte) bool { return isDockerfile(path.Base(p)) },
		Parse: func(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
			return cells.Parse(content, spans(string(content)), like)
		},
		Encode:  cells.Encode,
		Compare: func(a, b *lockfile.Node) (int, bool) { return CompareTags(string(a.Raw), string(b.Raw)) },
		Finish:  cells.Finish,
	}}
}

func isDockerfile(base string) bool {
	base = strings.ToLower(base)
	for _, name := range []string{"dockerfile", "containerfile"} {
		if base == name || strings.HasPrefix(base, name+".") || strings.HasSuffix(base, "."+name) {
			return true
		}
	}
	return false
}

// spans finds the tags and digests of images. The name of a stage has neither,
// and a reference with a variable in it is none.
func spans(text string) []cells.Span {
	var out []cells.Span
	l := newLexer(text)
	for l.next() {
		var image word
		switch words := l.words(); strings.ToUpper(words[0].text) {
		case "FROM":
			image = from(words)
		case "COPY":
			image = copied(words)
		}
		name, tag := SplitImage(image.text)
		if tag == "" {
			continue
		}
		start := image.at + len(name)
		out = append(out, cells.Span{
			Start: start, End: start + len(tag), ID: name, Name: name, Version: TagVersion(tag),
		})
	}
	return out
}

// from gives the image of a FROM.
func from(words []word) word {
	for _, w := range words[1:] {
		if !strings.HasPrefix(w.text, "--") {
			return w
		}
	}
	return word{}
}

// copied gives the image of a COPY --from=image.
func copied(words []word) word {
	const flag = "--from="
	for _, w := range words[1:] {
		if image, ok := strings.CutPrefix(w.text, flag); ok {
			return word{image, w.at + len(flag)}
		}
	}
	return word{}
}
