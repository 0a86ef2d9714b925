package pnpm

import (
	"strings"
	"testing"
)

// Digests that pnpm has written.
func TestRecipes(t *testing.T) {
	if got := recipes[0].make("react-dom@18.2.0+react@18.2.0"); got != "biqbaboplfbrettd7655fr4n2y" {
		t.Errorf("got %s", got)
	}
}

// folded is a lockfile 9.0 in which a name was too long for its limit.
func folded(limit, peers string, make func(string) string) string {
	var b strings.Builder
	b.WriteString("lockfileVersion: '9.0'\n\nsettings:\n  peersSuffixMaxLength: " + limit + "\n\nimporters:\n\n  .:\n    dependencies:\n")
	b.WriteString("      ui:\n        specifier: ^1.0.0\n        version: 1.0.0(" + make(peers) + ")\n")
	b.WriteString("\npackages:\n\n  react-dom@18.2.0:\n    peerDependencies:\n      react: '*'\n\n  react@18.2.0:\n    resolution: {}\n\n")
	b.WriteString("  ui@1.0.0:\n    peerDependencies:\n      react: '*'\n      react-dom: '*'\n")
	b.WriteString("\nsnapshots:\n\n  react-dom@18.2.0(react@18.2.0):\n    dependencies:\n      react: 18.2.0\n\n  react@18.2.0: {}\n\n")
	b.WriteString("  ui@1.0.0(" + make(peers) + "):\n    dependencies:\n      react: 18.2.0\n      react-dom: 18.2.0(react@18.2.0)\n")
	return b.String()
}

func TestDigestsAreRead(t *testing.T) {
	const peers = "react-dom@18.2.0(react@18.2.0))(react@18.2.0"
	for i, r := range recipes {
		text := folded("30", peers, r.make)
		d, err := parseLock([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Node("snapshots > ui@1.0.0("+peers+")") == nil {
			t.Errorf("recipe %d is not read: %v", i, d.Keys())
		}
		if got, err := encode(d); err != nil || string(got) != text {
			t.Errorf("recipe %d: got\n%s\nwant\n%s", i, got, text)
		}
	}
	text := folded("30", peers, func(string) string { return strings.Repeat("0", 32) })
	d, err := parseLock([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := encode(d); err != nil || string(got) != text {
		t.Errorf("a digest of something else: got\n%s\nwant\n%s", got, text)
	}
}
