package yarn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	soundManifest = `{"name":"app","dependencies":{"a":"^1.0.0"},"peerDependencies":{"p":"*"}}`
	soundClassic  = head + `a@^1.0.0:
  version "1.2.0"
  dependencies:
    b "~2.0.0"
  optionalDependencies:
    c "1.x"

b@~2.0.0:
  version "2.0.7"

c@1.x:
  version "1.0.0"
`
	soundBerry = berryHead + `"a@npm:^1.0.0":
  version: 1.2.0
  resolution: "a@npm:1.2.0"
  dependencies:
    b: "npm:~2.0.0"
    resolve: "npm:^1.0.0"
  peerDependencies:
    p: ">=1"
  dependenciesMeta:
    b:
      optional: true

"app@workspace:.":
  version: 0.0.0-use.local
  resolution: "app@workspace:."
  dependencies:
    a: "npm:^1.0.0"
  peerDependencies:
    p: "*"

"b@npm:~2.0.0":
  version: 2.0.7
  resolution: "b@npm:2.0.7"

"resolve@npm:^1.0.0":
  version: 1.22.0
  resolution: "resolve@npm:1.22.0"

"resolve@patch:resolve@npm%3A^1.0.0#optional!builtin<compat/resolve>":
  version: 1.22.0
  resolution: "resolve@patch:resolve@npm%3A1.22.0#optional!builtin<compat/resolve>::version=1.22.0&hash=c3c19d"
`
)

// Each change to a sound project is found, as what it is.
func TestCheck(t *testing.T) {
	type edit []string // old, new, ...
	for name, c := range map[string]struct {
		berry bool
		lock  edit
		files map[string]string // package.json is soundManifest unless it is here
		want  []string
	}{
		"sound": {},
		"a requirement of the project is not locked": {
			lock: edit{"a@^1.0.0:", "a@^1.1.0:"},
			want: []string{"missing: the project needs a@^1.0.0, which is not locked", "orphan: nothing needs a@1.2.0", "orphan: nothing needs b@2.0.7", "orphan: nothing needs c@1.0.0"},
		},
		"a requirement of a package is not locked": {
			lock: edit{"\nb@~2.0.0:\n  version \"2.0.7\"\n", ""},
			want: []string{"missing: a@1.2.0 needs b@~2.0.0, which is not locked"},
		},
		"an optional one has to be locked, too": {
			lock: edit{"\nc@1.x:\n  version \"1.0.0\"\n", ""},
			want: []string{"missing: a@1.2.0 needs c@1.x, which is not locked"},
		},
		"a version that its requirement refuses": {
			lock: edit{`"2.0.7"`, `"2.1.0"`},
			want: []string{"unmet: a@1.2.0 needs b@~2.0.0, but 2.1.0 is locked"},
		},
		"the manifest moved on": {
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.3.0"}}`},
			want:  []string{"missing: the project needs a@^1.3.0, which is not locked", "orphan: nothing needs a@1.2.0", "orphan: nothing needs b@2.0.7", "orphan: nothing needs c@1.0.0"},
		},
		"a resolution may break a requirement": {
			lock:  edit{"b@~2.0.0:\n  version \"2.0.7\"", "b@3.0.0, b@~2.0.0:\n  version \"3.0.0\""},
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"resolutions":{"a/b":"3.0.0"}}`},
		},
		"a resolution is not locked": {
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"resolutions":{"a/b":"3.0.0","unused":"1.0.0"}}`},
			want:  []string{"missing: the project needs b@3.0.0, which is not locked"},
		},
		"a workspace stands in for a package": {
			lock:  edit{"\nb@~2.0.0:\n  version \"2.0.7\"\n", ""},
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"workspaces":["w/*"]}`, "w/b/package.json": `{"name":"b","version":"2.0.1"}`},
		},
		"a workspace of another version does not": {
			lock:  edit{"\nb@~2.0.0:\n  version \"2.0.7\"\n", ""},
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"workspaces":["w/*"]}`, "w/b/package.json": `{"name":"b","version":"3.0.0"}`},
			want:  []string{"missing: a@1.2.0 needs b@~2.0.0, which is not locked"},
		},
		"a workspace's own requirement": {
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"workspaces":{"packages":["w/**"]}}`, "w/x/y/package.json": `{"name":"y","version":"3.0.0","devDependencies":{"z":"1"}}`},
			want:  []string{"missing: y@3.0.0 needs z@1, which is not locked"},
		},
		"of one name in two sections the first that says something": {
			files: map[string]string{"package.json": `{"dependencies":{"a":"*"},"devDependencies":{"a":"^1.0.0"}}`},
		},
		"no manifest to compare with": {files: map[string]string{"package.json": "["}},
		"the project is for a later yarn": {
			files: map[string]string{"package.json": `{"dependencies":{"a":"^1.0.0"},"packageManager":"yarn@4.0.0"}`},
			want:  []string{"out_of_sync: the lockfile is of yarn 1, and the project is for yarn 2 or later"},
		},
		"the project brings a later yarn": {
			files: map[string]string{".yarnrc.yml": "yarnPath: .yarn/releases/yarn-3.2.1.cjs\n"},
			want:  []string{"out_of_sync: the lockfile is of yarn 1, and the project is for yarn 2 or later"},
		},

		"berry: sound": {berry: true},
		"berry: a requirement of a package is not locked": {
			berry: true, lock: edit{"\"b@npm:~2.0.0\":\n  version: 2.0.7\n  resolution: \"b@npm:2.0.7\"\n\n", ""},
			want: []string{"missing: a@1.2.0 needs b@npm:~2.0.0, which is not locked"},
		},
		"berry: a version that its requirement refuses": {
			berry: true, lock: edit{"version: 2.0.7", "version: 2.1.0"},
			want: []string{"unmet: a@1.2.0 needs b@npm:~2.0.0, but 2.1.0 is locked"},
		},
		"berry: nobody needs it": {
			berry: true, lock: edit{`"b@npm:~2.0.0":`, `"b@npm:^2.0.0, b@npm:~2.0.0":`},
			want: []string{"orphan: nothing needs b@2.0.7"},
		},
		"berry: a patch without what it patches": {
			berry: true, lock: edit{`"resolve@npm:^1.0.0":`, `"resolve@npm:^1.1.0":`},
			want: []string{
				"missing: a@1.2.0 needs resolve@npm:^1.0.0, which is not locked", "missing: resolve@1.22.0 needs resolve@npm:^1.0.0, which is not locked",
				"orphan: nothing needs resolve@1.22.0",
			},
		},
		"berry: yarn's own patch may be missing": {
			berry: true, lock: edit{soundBerry[strings.Index(soundBerry, "\"resolve@patch")-1:], ""},
		},
		"berry: one resolution in two entries": {
			berry: true, lock: edit{`  resolution: "b@npm:2.0.7"`, `  resolution: "a@npm:1.2.0"`},
			want: []string{"duplicate: a@npm:1.2.0 has two entries, of which yarn writes one"},
		},
		"berry: the manifest moved on": {
			berry: true, files: map[string]string{"package.json": `{"name":"app","dependencies":{"a":"^1.3.0","d":"1"}}`},
			want: []string{
				"out_of_sync: package.json asks for a@^1.3.0, the lockfile was made for npm:^1.0.0",
				"out_of_sync: package.json asks for d@1, which the lockfile does not know of",
				"out_of_sync: package.json does not ask for p@* any more",
			},
		},
		"berry: the last section counts": {
			berry: true, files: map[string]string{"package.json": `{"name":"app","dependencies":{"a":"^9.0.0"},"devDependencies":{"a":"^1.0.0"},"peerDependencies":{"p":"*"}}`},
		},
		"berry: a workspace more": {
			berry: true, files: map[string]string{"package.json": strings.Replace(soundManifest, "{", `{"workspaces":["w/*"],`, 1), "w/x/package.json": `{"name":"x"}`},
			want: []string{"out_of_sync: the lockfile has no entry for the workspace x of w/x/package.json"},
		},
		"berry: a workspace within a workspace": {
			berry: true, files: map[string]string{
				"package.json":       strings.Replace(soundManifest, "{", `{"workspaces":["w/*"],`, 1),
				"w/x/package.json":   `{"name":"x","workspaces":["v/*"]}`,
				"w/x/v/package.json": `{"name":"no-workspace"}`, "w/x/v/y/package.json": `{"name":"y"}`,
			},
			want: []string{
				"out_of_sync: the lockfile has no entry for the workspace x of w/x/package.json",
				"out_of_sync: the lockfile has no entry for the workspace y of w/x/v/y/package.json",
			},
		},
		"berry: a workspace less": {
			berry: true, lock: edit{"\"b@npm:~2.0.0\"", "\"x@workspace:w/x\":\n  version: 0.0.0-use.local\n  resolution: \"x@workspace:w/x\"\n\n\"b@npm:~2.0.0\""},
			want: []string{"out_of_sync: the lockfile has an entry for x@workspace:w/x, which is no workspace"},
		},
		"berry: what a resolution names is not locked": {
			berry: true, files: map[string]string{"package.json": strings.Replace(soundManifest, "{", `{"resolutions":{"a/b@npm:~2.0.0":"2.0.9"},`, 1)},
			want: []string{"missing: a@1.2.0 needs b@2.0.9, which is not locked"},
		},
		"berry: a resolution of others": {
			berry: true, files: map[string]string{"package.json": strings.Replace(soundManifest, "{", `{"resolutions":{"x/b":"2.0.9","a@npm:2.0.0/b":"3","b@npm:^9":"9"},`, 1)},
		},
		"berry: a peer that is refused": {
			berry: true,
			lock: edit{
				"    p: \"*\"\n", "    q: \"*\"\n", "\n  dependencies:\n    a: \"npm:^1.0.0\"\n", "\n  dependencies:\n    a: \"npm:^1.0.0\"\n    p: \"npm:0.1.0\"\n",
				"\"b@npm:~2.0.0\"", "\"p@npm:0.1.0\":\n  version: 0.1.0\n  resolution: \"p@npm:0.1.0\"\n\n\"b@npm:~2.0.0\"",
			},
			files: map[string]string{"package.json": `{"name":"app","dependencies":{"a":"^1.0.0","p":"0.1.0"},"peerDependencies":{"q":"*"}}`},
			want:  []string{"peer_unmet: a@1.2.0 needs p@>=1, but 0.1.0 is locked"},
		},
		"berry: the project is for yarn 1": {
			berry: true, files: map[string]string{"package.json": strings.Replace(soundManifest, "{", `{"packageManager":"yarn@1.22.22",`, 1)},
			want: []string{"out_of_sync: the lockfile is of yarn 2 or later, and the project is for yarn 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := soundClassic
			if c.berry {
				text = soundBerry
			}
			for i := 0; i < len(c.lock); i += 2 {
				if !strings.Contains(text, c.lock[i]) {
					t.Fatalf("%q is not there", c.lock[i])
				}
				text = strings.Replace(text, c.lock[i], c.lock[i+1], 1)
			}
			files := map[string]string{"sub/package.json": soundManifest, "sub/yarn.lock": text}
			for p, s := range c.files {
				files["sub/"+p] = s
			}
			tr := newTree(formats(), files)
			d, err := tr.parse("sub/yarn.lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range d.Format.Check(d, tr) {
				got = append(got, string(p.Code)+": "+strings.TrimPrefix(p.String(), "sub/yarn.lock: "))
			}
			slices.Sort(got)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "sub/", "")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWorkspacePatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string // a JSON list
		dir     string
		want    bool
	}{
		{`["packages/*"]`, "packages/x", true},
		{`["packages/*"]`, "packages/x/y", false},
		{`["./packages/*/"]`, "packages/x", true},
		{`["packages/**"]`, "packages/x/y", true},
		{`["**"]`, "x", true},
		{`["packages/x"]`, "packages/x", true},
		{`["packages/{x,y}"]`, "packages/y", true},
		{`["{a,b}/{x,y}"]`, "b/x", true},
		{`["packages/*","!packages/x"]`, "packages/x", false},
		{`["packages/*"]`, "packages/.hidden", false},
		{`["packages/["]`, "packages/x", false},
		{`["packages/{x"]`, "packages/x", false},
		{`["` + strings.Repeat("{a,b}", 200) + `"]`, "packages/x", false},
		{`["packages/*"]`, "packages/node_modules", false},
		{`[1]`, "packages/x", false},
		{`{"packages":["packages/*"]}`, "packages/x", true},
	} {
		files := map[string]string{
			"package.json":            `{"workspaces":` + c.pattern + `}`,
			c.dir + "/package.json":   `{"name":"w","version":"1.0.0","dependencies":{"needed":"1"}}`,
			"yarn.lock":               head,
			"unrelated/x/yarn.lock":   head,
			"unrelated/package.json":  "{}",
			"packages/z/package.json": `{}`,
		}
		tr := newTree(formats(), files)
		d := tr.Doc("yarn.lock")
		got := len(d.Format.Check(d, tr)) > 0
		if got != c.want {
			t.Errorf("%s of %s: %v", c.dir, c.pattern, got)
		}
	}
}
