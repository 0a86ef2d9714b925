package pnpm

import (
	"errors"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

const small = `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true

importers:

  .:
    dependencies:
      ms:
        specifier: ^2.1.3
        version: 2.1.3

packages:

  ms@2.1.3:
    resolution: {integrity: sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==}

snapshots:

  ms@2.1.3: {}
`

var odd = map[string]string{
	"as it is":               small,
	"no final newline":       strings.TrimSuffix(small, "\n"),
	"blank lines at the end": small + "\n\n",
	"comments":               strings.ReplaceAll(small, "packages:", "# by hand\npackages: # all\n  # inside"),
	"a stray CR":             strings.ReplaceAll(small, "2.1.3\n\npack", "2.1.3\r\n\npack"),
	"four spaces":            strings.ReplaceAll(small, "  ", "    "),
	"nothing locked":         "lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n",
	"no packages":            "lockfileVersion: '6.0'\n\npackages: {}\n",
	"a long key":             strings.ReplaceAll(small, "  ms@2.1.3: {}", "  ? ms@2.1.3\n  : dependencies:\n      a: link:../a"),
	"a text over lines":      strings.ReplaceAll(small, "snapshots:\n", "    deprecated: |-\n      old\n\n      # no comment\n\nsnapshots:\n"),
	"5.3":                    "lockfileVersion: 5.3\n\nspecifiers:\n  ms: ^2.1.3\n\ndependencies:\n  ms: 2.1.3\n\npackages:\n\n  /ms/2.1.3:\n    resolution: {integrity: sha512-x}\n    dev: false\n",
	"6.1 with a tarball":     "lockfileVersion: '6.1'\n\ndependencies:\n  x:\n    specifier: github:a/x\n    version: github.com/a/x/abc\n\npackages:\n\n  github.com/a/x/abc:\n    resolution: {tarball: https://example.com/x}\n    name: x\n    version: 1.0.0\n    dev: false\n",
}

func TestRoundTrip(t *testing.T) {
	for name, text := range odd {
		t.Run(name, func(t *testing.T) {
			d, err := parseLock([]byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(d)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("got\n%q\nwant\n%q", got, text)
			}
			again, err := parseLock([]byte(text), d)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range d.Keys() {
				if again.Node(k) != d.Node(k) {
					t.Errorf("%s is not taken from its like", k)
				}
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"another version":      strings.Replace(small, "9.0", "4.0", 1),
		"a list":               "lockfileVersion: '9.0'\npackages:\n- a\n",
		"flow":                 "lockfileVersion: '9.0'\npackages: {a: 1}\n",
		"no key":               "lockfileVersion: '9.0'\npackages:\n  nonsense\n",
		"an odd indentation":   strings.Replace(small, "\nsnapshots:", "   x: 1\n\nsnapshots:", 1),
		"a dependency of none": strings.Replace(small, "version: 2.1.3", "version:", 1),
		"two documents":        "---\nlockfileVersion: '9.0'\n---\nlockfileVersion: '9.0'\n",
		"a list among keys":    strings.Replace(small, "settings:\n", "settings:\n  - a\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := parseLock([]byte(text), nil); err == nil {
				t.Errorf("parsed as %v", d.Keys())
			}
		})
	}
}

func TestConflictMarkers(t *testing.T) {
	for name, text := range map[string]string{
		"in the packages":  strings.Replace(small, "  ms@2.1.3:\n", "<<<<<<< HEAD\n  ms@2.1.3:\n=======\n  ms@2.1.2:\n>>>>>>> x\n", 1),
		"in the importers": strings.Replace(small, "        version: 2.1.3\n", "<<<<<<< HEAD\n        version: 2.1.3\n=======\n        version: 2.1.2\n>>>>>>> x\n", 1),
		"in the version":   "<<<<<<< HEAD\nlockfileVersion: '9.0'\n=======\nlockfileVersion: '6.0'\n>>>>>>> x\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseLock([]byte(text), nil); !errors.Is(err, lockfile.ErrConflictMarkers) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A merge by lines has left an entry twice; pnpm refuses to read it.
func TestDuplicates(t *testing.T) {
	for thread, text := range map[string]string{
		"lion-reader#1501": strings.Replace(small, "  ms@2.1.3: {}\n", "  ms@2.1.3: {}\n\n  ms@2.1.3: {}\n", 1),
		"breeze#3407":      strings.Replace(small, "\nsnapshots:", "\n  ms@2.1.3:\n    resolution: {integrity: sha512-x}\n\nsnapshots:", 1),
		"an importer":      strings.Replace(small, "\npackages:", "      ms:\n        specifier: ^2.1.3\n        version: 2.1.3\n\npackages:", 1),
		"a section":        small + "\nsnapshots:\n\n  ms@2.1.3: {}\n",
	} {
		t.Run(thread, func(t *testing.T) {
			_, err := parseLock([]byte(text), nil)
			var dup *lockfile.DuplicateError
			if !errors.As(err, &dup) {
				t.Fatalf("got %v", err)
			}
			l := strings.Split(text, "\n")[dup.Line-1]
			if !strings.Contains(l, dup.Key) {
				t.Errorf("line %d is %q, not %s", dup.Line, l, dup.Key)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range odd {
		f.Add(text)
	}
	f.Add(folded("30", "react-dom@18.2.0(react@18.2.0))(react@18.2.0", recipes[0].make))
	u := universe{needs: map[string][]string{"p@1.0.0": {"q"}}, peers: map[string][]string{"q": {"react", "react-dom"}, "react-dom": {"react"}}, dev: map[string]bool{}}
	for _, u.major = range []byte("569") {
		f.Add(u.texts(project{"p": "1.0.0", "react": "1.0.0", "react-dom": "1.0.0"})["pnpm-lock.yaml"])
	}
	f.Add("catalog:\n  react: ^18\n\npackages:\n- a\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func([]byte, *lockfile.Doc) (*lockfile.Doc, error){parseLock, parseWorkspace} {
			d, err := parse([]byte(text), nil)
			if err != nil {
				continue
			}
			got, err := encode(d)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Fatalf("wrote %q for %q", got, text)
			}
		}
	})
}
