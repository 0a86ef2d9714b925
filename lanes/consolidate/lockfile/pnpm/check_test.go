package pnpm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// shop is a workspace with a catalog, an override, a tarball and a link.
var shop = map[string]string{
	"package.json": `{
  "dependencies": {"ms": "^2.1.0", "react": "catalog:", "ui": "workspace:*", "tar": "https://example.com/tar.tgz", "pre": "npm:preact@^10.0.0"},
  "devDependencies": {"debug": "^4.3.0"},
  "peerDependencies": {"zod": "^3.0.0"},
  "pnpm": {"overrides": {"debug": "4.4.0"}}
}
`,
	"ui/package.json":     `{"name": "ui", "dependencies": {"react": "catalog:"}}` + "\n",
	"pnpm-workspace.yaml": "packages:\n  - ui\n\ncatalog:\n  react: ^18.3.1\n",
	"pnpm-lock.yaml": `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

catalogs:
  default:
    react:
      specifier: ^18.3.1
      version: 18.3.1

overrides:
  debug: 4.4.0

importers:

  .:
    dependencies:
      ms:
        specifier: ^2.1.0
        version: 2.1.3
      pre:
        specifier: npm:preact@^10.0.0
        version: preact@10.24.0
      react:
        specifier: 'catalog:'
        version: 18.3.1
      tar:
        specifier: https://example.com/tar.tgz
        version: https://example.com/tar.tgz
      ui:
        specifier: workspace:*
        version: link:ui
      zod:
        specifier: ^3.0.0
        version: 3.23.8
    devDependencies:
      debug:
        specifier: 4.4.0
        version: 4.4.0(patch_hash=abc)

  ui:
    dependencies:
      react:
        specifier: 'catalog:'
        version: 18.3.1

packages:

  debug@4.4.0:
    resolution: {integrity: sha512-a}

  ms@2.1.3:
    resolution: {integrity: sha512-b}

  preact@10.24.0:
    resolution: {integrity: sha512-c}

  react@18.3.1:
    resolution: {integrity: sha512-d}

  tar@https://example.com/tar.tgz:
    resolution: {tarball: https://example.com/tar.tgz}
    version: 1.0.0

  zod@3.23.8:
    resolution: {integrity: sha512-e}

snapshots:

  debug@4.4.0(patch_hash=abc):
    dependencies:
      ms: 2.1.3

  ms@2.1.3: {}

  preact@10.24.0: {}

  react@18.3.1: {}

  tar@https://example.com/tar.tgz: {}

  zod@3.23.8: {}
`,
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, file, old, now string
		code                 lockfile.Code // of the one problem; empty: none
		name2                string        // its Name
	}{
		{name: "nothing wrong"},
		{name: "a snapshot is missing", old: "\n  ms@2.1.3: {}\n", code: lockfile.Missing, name2: "ms"},
		{name: "a package is missing", old: "\n  zod@3.23.8:\n    resolution: {integrity: sha512-e}\n", code: lockfile.Missing, name2: "zod"},
		{name: "nobody needs a package", old: "\n  zod@3.23.8: {}\n", now: "\n  zod@3.23.8: {}\n\n  zod@3.0.0:\n    dependencies:\n      ms: 2.1.3\n", code: lockfile.Missing, name2: "zod"},
		{name: "locked below what is asked for", old: "specifier: ^2.1.0", now: "specifier: ^2.2.0", code: lockfile.Unmet, name2: "ms"},
		{name: "the manifest asks for another version", file: "package.json", old: `"ms": "^2.1.0"`, now: `"ms": "^2.1.1"`, code: lockfile.OutOfSync, name2: "ms"},
		{name: "the manifest asks for more", file: "package.json", old: `"ms": `, now: `"more": "1", "ms": `, code: lockfile.OutOfSync, name2: "more"},
		{name: "the manifest asks for less", file: "ui/package.json", old: `"react": "catalog:"`, code: lockfile.OutOfSync, name2: "react"},
		{name: "the manifest asks in another group", file: "package.json", old: `"peerDependencies"`, now: `"optionalDependencies"`, code: lockfile.OutOfSync, name2: "zod"},
		{name: "the catalog asks for another version", file: "pnpm-workspace.yaml", old: "^18.3.1", now: "^18.3.2", code: lockfile.OutOfSync, name2: "react"},
		{name: "the override is another", file: "package.json", old: `"debug": "4.4.0"`, now: `"debug": "4.4.1"`, code: lockfile.OutOfSync, name2: "debug"},
		{name: "an override more", file: "package.json", old: `{"debug": "4.4.0"}`, now: `{"debug": "4.4.0", "ms": "2.1.3"}`, code: lockfile.OutOfSync, name2: "ms"},
		{name: "an override that refers elsewhere", file: "package.json", old: `"debug": "4.4.0"`, now: `"debug": "$debug"`},
		{name: "the override stands in the workspace", file: "pnpm-workspace.yaml", old: "catalog:", now: "overrides:\n  debug: 4.4.0\n\ncatalog:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := maps.Clone(shop)
			file := tt.file
			if file == "" {
				file = "pnpm-lock.yaml"
			}
			if tt.old != "" {
				s := strings.Replace(texts[file], tt.old, tt.now, 1)
				if s == texts[file] {
					t.Fatalf("%s does not hold %q", file, tt.old)
				}
				texts[file] = s
			}
			var hard []lockfile.Problem
			for _, p := range treeOf(t, formats(), texts, nil).problems("pnpm-lock.yaml") {
				if !p.Soft {
					hard = append(hard, p)
				}
			}
			switch {
			case tt.code == "" && len(hard) > 0:
				t.Errorf("found %v", hard)
			case tt.code != "" && !slices.ContainsFunc(hard, func(p lockfile.Problem) bool { return p.Code == tt.code && p.Name == tt.name2 }):
				t.Errorf("found %v, want %s of %s", hard, tt.code, tt.name2)
			}
		})
	}
}

// Two updates of one catalog, one of which bumps an override too.
func TestCatalogsAndOverridesMerge(t *testing.T) {
	all := formats()
	change := func(pairs ...string) map[string]string {
		out := maps.Clone(shop)
		for i := 0; i < len(pairs); i += 3 {
			s := strings.ReplaceAll(out[pairs[i]], pairs[i+1], pairs[i+2])
			if s == out[pairs[i]] {
				t.Fatalf("%s does not hold %q", pairs[i], pairs[i+1])
			}
			out[pairs[i]] = s
		}
		return out
	}
	const lock, space, manifest = "pnpm-lock.yaml", "pnpm-workspace.yaml", "package.json"
	react := []string{space, "^18.3.1", "^19.0.0", lock, "18.3.1", "19.0.0"}
	debug := []string{manifest, `"4.4.0"`, `"4.4.1"`, lock, "4.4.0", "4.4.1"}
	base := treeOf(t, all, shop, nil)
	ours, head := treeOf(t, all, change(react...), base), treeOf(t, all, change(debug...), base)
	want := change(append(react, debug...)...)
	for _, in := range [][2]*files{{ours, head}, {head, ours}} {
		got, conflicts := merge(in[0], base, in[1], true)
		if len(conflicts) > 0 {
			t.Fatalf("%+v", conflicts)
		}
		for path := range want {
			if text(t, got, path) != want[path] {
				t.Errorf("%s:\n%s\nwant\n%s", path, text(t, got, path), want[path])
			}
		}
		if p := got.problems(lock); len(p) > 0 {
			t.Errorf("found %v", p)
		}
	}
}
