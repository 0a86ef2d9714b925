package npmlock

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// odd are files that no package manager would write so, but that are right.
var odd = map[string]map[string]string{
	"package.json": {
		"no final newline":     `{"name":"x","dependencies":{"a":"1"}}`,
		"minified, empty":      `{}`,
		"empty npm.Sections":   "{\n\t\"dependencies\": {},\n\t\"devDependencies\": { }\n}\n",
		"tabs":                 "{\n\t\"dependencies\": {\n\t\t\"a\": \"1\"\n\t}\n}\n",
		"space before commas":  `{ "dependencies" : { "a" : "1" , "b" : "2" } , "x" : 1 } `,
		"a section that is no": `{"dependencies":[],"devDependencies":null}`,
		"no string":            `{"dependencies":{"a":1,"b":{"version":"1"}}}`,
		"a stray CR":           "{\n  \"scripts\": {\r\n    \"a\": \"\\r\"\r\n  }\n}",
		"escapes":              `{"dep\u0065ndencies":{"\u0061":"\u0031"}}`,
		"the empty name":       `{"dependencies":{"":""}}`,
	},
	"package-lock.json": {
		"v3, minified":          `{"lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1"}},"node_modules/a":{"version":"1.0.0"}}}`,
		"v3, no root":           `{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"1.0.0"}}}`,
		"v3, nothing":           "{\n \"lockfileVersion\": 3,\n \"packages\": {}\n}",
		"v3, spaced":            "{ \"packages\" : { \"\" : { } , \"node_modules/a\" : { } } , \"lockfileVersion\" : 3 }\n\n",
		"v3, packages in front": "{\n\t\"packages\": {\n\t\t\"\": {}\n\t},\n\t\"lockfileVersion\": 3\n}\n",
		"v3, dependencies too":  `{"lockfileVersion":3,"packages":{},"dependencies":{"a":{"version":"1"}}}`,
		"v3, an odd folder":     `{"lockfileVersion":3,"packages":{"":{},"#x":{},"my_node_modules/a":{}}}`,
		"v2":                    `{"lockfileVersion":2,"packages":{"":{}},"dependencies":{}}`,
		"v2, only packages":     `{"lockfileVersion":2,"packages":{"":{}}}`,
		"v2, a tree":            `{"lockfileVersion":2,"packages":{"":{},"node_modules/a":{"version":"1"}},"dependencies":{"a":{"version":"1","dependencies":{"b":{"dependencies":{"c":{}}},"d":{}}}}}`,
		"v1":                    "{\n  \"requires\": true,\n  \"lockfileVersion\": 1\n}\n",
		"v1, no version":        `{"dependencies":{"a":{"version":"1.0.0"}}}`,
		"v1, nested in front":   `{"lockfileVersion":1,"dependencies":{"a":{"dependencies":{"b":{"version":"1"}},"version":"1"}}}`,
		"v1, nested in between": `{"lockfileVersion":1,"dependencies":{"a":{"version":"1","dependencies":{"b":{"version":"1"}},"requires":{"b":"1"}}}}`,
		"v1, nested alone":      `{"lockfileVersion":1,"dependencies":{"a":{"dependencies":{"b":{}}}}}`,
		"v1, nested and empty":  "{\"lockfileVersion\":1,\"dependencies\":{\"a\":{\"dependencies\":{ }\n},\"b\":{\"x\":1 , \"dependencies\":{} , \"y\":2}}}",
		"v1, deep":              `{"lockfileVersion":1,"dependencies":` + strings.Repeat(`{"a":{"dependencies":`, 200) + `{}` + strings.Repeat(`}}`, 200) + `}`,
		"v1, no object nested":  `{"lockfileVersion":1,"dependencies":{"a":{"dependencies":true}}}`,
	},
}

func TestEveryByteComesBack(t *testing.T) {
	formats := formats()
	for p, files := range odd {
		for name, text := range files {
			t.Run(p+", "+name, func(t *testing.T) { roundTrip(t, formats, p, []byte(text), nil) })
		}
	}
}

func roundTrip(t *testing.T, formats []*lockfile.Format, p string, content []byte, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d := parse(t, formats, p, content, like)
	got, err := d.Format.Encode(d)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s comes back otherwise (%v):\n%s", p, err, firstDifference(content, got))
	}
	return d
}

func firstDifference(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("at %d: want %q\ngot  %q", i, want[from:min(len(want), i+80)], got[from:min(len(got), i+80)])
}

// everyByte reads all states of all files of a case, each beside the one before it, too.
func everyByte(t *testing.T, formats []*lockfile.Format, c corpus.Case, r repo) {
	refs := []string{c.MainCommit}
	for _, pr := range c.PullRequests {
		refs = append(refs, pr.MergeBase, pr.Commit)
	}
	seen := map[string]bool{}
	like := map[string]*lockfile.Doc{}
	for _, ref := range refs {
		for p, id := range r.list(ref) {
			if seen[id] || !isNpm(p) {
				continue
			}
			seen[id] = true
			alone := roundTrip(t, formats, p, r.blob(id), nil)
			if old := like[p]; old != nil {
				d := roundTrip(t, formats, p, r.blob(id), old)
				if !slices.Equal(d.Keys(), alone.Keys()) || !lockfile.Equal(d, alone) {
					t.Errorf("%s is read otherwise beside a relative", p)
				}
			}
			like[p] = alone
		}
	}
	t.Logf("%d files", len(seen))
}
