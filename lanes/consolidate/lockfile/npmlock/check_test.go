package npmlock

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What npm ci says of small projects. Each row was put to arborist, too.
func TestCheck(t *testing.T) {
	formats := formats()
	for name, c := range map[string]struct {
		manifest, packages string
		files              map[string]string
		want               []string
	}{
		"all is well": {
			`"dependencies":{"a":"^1.0.0"}`, `"node_modules/a":{"version":"1.2.0"}`, nil, nil,
		},
		"a tag, a repository, a star": {
			`"dependencies":{"a":"latest","b":"github:x/b#main","c":"*","d":""}`,
			`"node_modules/a":{"version":"1.0.0","resolved":"https://registry.npmjs.org/a/-/a-1.0.0.tgz"},"node_modules/b":{"version":"0.0.1","resolved":"git+ssh://git@github.com/x/b.git#0123456789012345678901234567890123456789"},"node_modules/c":{"version":"1.0.0-rc.1"},"node_modules/d":{"version":"1.0.0"}`,
			nil, nil,
		},
		"an alias": {
			`"dependencies":{"a":"npm:b@^1.0.0"}`, `"node_modules/a":{"name":"b","version":"1.0.0"}`, nil, nil,
		},
		"an alias of another package": { // npm does not look; but it would not be what was asked for
			`"dependencies":{"a":"npm:b@^1.0.0"}`, `"node_modules/a":{"name":"c","version":"1.0.0"}`, nil,
			[]string{"unmet a@npm:b@^1.0.0 has 1.0.0"},
		},
		"a tarball": {
			`"dependencies":{"a":"https://example.com/a.tgz"}`, `"node_modules/a":{"version":"1.0.0","resolved":"https://example.com/a.tgz"}`, nil, nil,
		},
		"another tarball": {
			`"dependencies":{"a":"https://example.com/a2.tgz"}`, `"node_modules/a":{"version":"1.0.0","resolved":"https://example.com/a.tgz"}`, nil,
			[]string{"unmet a@https://example.com/a2.tgz has 1.0.0"},
		},
		"nothing locked": {
			`"dependencies":{"a":"^1.0.0"}`, `"node_modules/b":{"version":"1.0.0"}`, nil,
			[]string{"missing a@^1.0.0", "orphan (soft) node_modules/b@ has 1.0.0"},
		},
		"a prerelease": {
			`"dependencies":{"a":"^1.0.0"}`, `"node_modules/a":{"version":"1.1.0-rc.1"}`, nil,
			[]string{"unmet a@^1.0.0 has 1.1.0-rc.1"},
		},
		"an optional dependency is missing": { // npm/cli#4828
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","optionalDependencies":{"b":"1"}}`, nil,
			[]string{"missing a@1.0.0: b@1"},
		},
		"an optional dependency is another": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","optionalDependencies":{"b":"1"}},"node_modules/b":{"version":"2.0.0"}`, nil,
			[]string{"unmet a@1.0.0: b@1 has 2.0.0"},
		},
		"of two npm.Sections the later one": {
			`"dependencies":{"a":"1","b":"1"},"devDependencies":{"b":"2"},"optionalDependencies":{"a":"2"}`, `"node_modules/a":{"version":"2.0.0"},"node_modules/b":{"version":"2.0.0"}`, nil, nil,
		},
		"a peer is missing": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"}}`, nil,
			[]string{"missing a@1.0.0: b@1"},
		},
		"a peer is missing, and npm does not look": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"}}`,
			map[string]string{".npmrc": "registry=https://example.com\nlegacy-peer-deps = true\n"}, nil,
		},
		"an optional peer is missing": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"},"peerDependenciesMeta":{"b":{"optional":true}}}`, nil, nil,
		},
		"an optional peer is another": {
			`"dependencies":{"a":"1","b":"2"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"},"peerDependenciesMeta":{"b":{"optional":true}}},"node_modules/b":{"version":"2.0.0"}`, nil,
			[]string{"peer_unmet (soft) a@1.0.0: b@1 has 2.0.0"},
		},
		"a peer of what the project asks for": {
			`"dependencies":{"a":"1","b":"2"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"}},"node_modules/b":{"version":"2.0.0"}`, nil,
			[]string{"peer_unmet a@1.0.0: b@1 has 2.0.0"},
		},
		"a peer further down": {
			`"dependencies":{"c":"1","b":"2"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"}},"node_modules/b":{"version":"2.0.0"},"node_modules/c":{"version":"1.0.0","dependencies":{"a":"1"}}`, nil,
			[]string{"peer_unmet (soft) a@1.0.0: b@1 has 2.0.0"},
		},
		"a peer inside its dependent": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","peerDependencies":{"b":"1"}},"node_modules/a/node_modules/b":{"version":"1.0.0"}`, nil,
			[]string{"peer_unmet a@1.0.0: b@1 has 1.0.0"},
		},
		"what is bundled is the bundler's": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","bundleDependencies":["b"],"dependencies":{"b":"1","c":"1"}},"node_modules/c":{"version":"1.0.0"}`, nil, nil,
		},
		"what has a lockfile of its own": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","hasShrinkwrap":true,"dependencies":{"b":"1"}}`, nil, nil,
		},
		"accepted in place of it": {
			`"dependencies":{"a":"1"}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"},"acceptDependencies":{"b":"2"}},"node_modules/b":{"version":"2.0.0"}`, nil, nil,
		},
		"an override": {
			`"dependencies":{"a":"1"},"overrides":{"b":"2.0.0"}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/b":{"version":"2.0.0"}`, nil, nil,
		},
		"not what overrides": {
			`"dependencies":{"a":"1"},"overrides":{"b":"2.0.0"}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/b":{"version":"1.0.0"}`, nil,
			[]string{"unmet a@1.0.0: b@2.0.0 has 1.0.0"},
		},
		"an override by reference": {
			`"dependencies":{"a":"1","b":"2"},"overrides":{"b":"$b"}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/b":{"version":"2.1.0"}`, nil, nil,
		},
		"an override of some requirements": {
			`"dependencies":{"a":"1","c":"1"},"overrides":{"b@1":"2.0.0"}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/b":{"version":"2.0.0"},"node_modules/c":{"version":"1.0.0","dependencies":{"b":"3"}},"node_modules/c/node_modules/b":{"version":"3.0.0"}`, nil, nil,
		},
		"an override below a package": {
			`"dependencies":{"a":"1","c":"1"},"overrides":{"a":{"b":"2.0.0"}}`, `"node_modules/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/a/node_modules/b":{"version":"2.0.0"},"node_modules/b":{"version":"1.0.0"},"node_modules/c":{"version":"1.0.0","dependencies":{"b":"1"}}`, nil, nil,
		},
		"an override of what the project asks for": {
			`"dependencies":{"a":"^2.0.0"},"overrides":{"a":"1.0.0"}`, `"node_modules/a":{"version":"1.0.0"}`, nil,
			[]string{"out_of_sync a@^2.0.0 has 1.0.0"},
		},
		"a link": {
			`"dependencies":{"a":"file:lib/a"}`, `"lib/a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/a":{"resolved":"lib/a","link":true},"node_modules/b":{"version":"1.0.0"}`, nil, nil,
		},
		"a link to nowhere": {
			`"dependencies":{"a":"file:lib/a"}`, `"node_modules/a":{"resolved":"lib/a","link":true}`, nil,
			[]string{"missing a@: lib/a@"},
		},
		"a folder outside": {
			`"dependencies":{"a":"file:../a"}`, `"../a":{"version":"1.0.0","dependencies":{"b":"1"}},"node_modules/a":{"resolved":"../a","link":true}`, nil, nil,
		},
		"a workspace out of sync": {
			`"workspaces":["w"]`, `"node_modules/b":{"version":"1.0.0"},"node_modules/w":{"resolved":"w","link":true},"w":{"version":"1.0.0","dependencies":{"b":"1"}}`,
			map[string]string{"w/package.json": `{"name":"w","version":"1.0.0","dependencies":{"b":"2"}}`},
			[]string{"out_of_sync w@1.0.0: b@2 has 1.0.0"},
		},
		"a workspace that reads otherwise, and is met": {
			`"workspaces":["w"]`, `"node_modules/b":{"version":"1.5.0"},"node_modules/w":{"resolved":"w","link":true},"w":{"version":"1.0.0","dependencies":{"b":"1"}}`,
			map[string]string{"w/package.json": `{"name":"w","version":"1.0.0","dependencies":{"b":"^1.4.0"}}`},
			[]string{"out_of_sync (soft) b@^1.4.0 has 1"},
		},
		"development dependencies of a workspace": {
			`"workspaces":["w"]`, `"node_modules/w":{"resolved":"w","link":true},"w":{"version":"1.0.0","devDependencies":{"b":"1"}}`, nil,
			[]string{"missing w@1.0.0: b@1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := strings.Split(c.manifest, `,"overrides"`)[0]
			files := map[string][]byte{
				"package.json":      []byte(`{"name":"p",` + c.manifest + `}`),
				"package-lock.json": []byte(`{"name":"p","lockfileVersion":3,"requires":true,"packages":{"":{"name":"p",` + root + `},` + c.packages + `}}`),
			}
			for p, text := range c.files {
				files[p] = []byte(text)
			}
			x := newTree(t, formats, files)
			var got []string
			for _, p := range x.problems() {
				word := string(p.Code)
				if p.Soft {
					word += " (soft)"
				}
				by := ""
				if p.By != "" {
					by = p.By + ": "
				}
				have := ""
				if p.Have != "" {
					have = " has " + p.Have
				}
				got = append(got, fmt.Sprintf("%s %s%s@%s%s", word, by, p.Name, p.Req, have))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if out := os.Getenv(envOut); out != "" {
				write(t, filepath.Join(out, strings.ReplaceAll(name, " ", "_")), files, nil)
			}
		})
	}
}
