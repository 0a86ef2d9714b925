package pnpm

import (
	"strings"
	"testing"
)

const space = `# projects
packages:
  - packages/*
  - '!**/test/**'

catalog:
  react: ^18.3.1 # with react-dom
  react-dom: ^18.3.1

catalogs:
  old:
    react: ^17.0.2

onlyBuiltDependencies: [esbuild]
`

func TestWorkspaceRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"as it is": space, "nothing": "", "comments only": "# nothing\n", "items at the margin": "packages:\n- a\n- b\n\ncatalog:\n  x: '1'\n",
		"no final newline": "packages:\n  - a", "not in order": "catalog:\n  b: 1.0.0\n  a: 1.0.0\n", "catalog of nothing": "catalog: {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			d, err := parseWorkspace([]byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(d)
			if err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestWorkspaceRequirements(t *testing.T) {
	d := parse(t, formats(), "pnpm-workspace.yaml", []byte(space), nil)
	want := map[string]string{"catalog > react": "^18.3.1", "catalog > react-dom": "^18.3.1", "catalogs > old > react": "^17.0.2"}
	for _, k := range d.Keys() {
		if n := d.Node(k); n.Direct && want[k] != n.Version {
			t.Errorf("%s: %q, want %q", k, n.Version, want[k])
		} else if n.Direct {
			delete(want, k)
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

func TestWorkspaceMerge(t *testing.T) {
	rep := func(old, now string) string { return strings.Replace(space, old, now, 1) }
	for _, tt := range []struct {
		name, ours, head, want string
		conflict               bool
	}{
		{name: "two neighbours", ours: rep("react: ^18.3.1", "react: ^19.0.0"), head: rep("react-dom: ^18.3.1", "react-dom: ^19.0.0"),
			want: strings.Replace(rep("react: ^18.3.1", "react: ^19.0.0"), "react-dom: ^18.3.1", "react-dom: ^19.0.0", 1)},
		{name: "the higher of two", ours: rep("react: ^18.3.1", "react: ^19.0.0"), head: rep("react: ^18.3.1", "react: ^18.3.2"), want: rep("react: ^18.3.1", "react: ^19.0.0")},
		{name: "two catalogs", ours: rep("react: ^17.0.2", "react: ^17.0.3"), head: rep("react: ^18.3.1", "react: ^18.3.2"),
			want: strings.Replace(rep("react: ^17.0.2", "react: ^17.0.3"), "react: ^18.3.1", "react: ^18.3.2", 1)},
		{name: "two folders", ours: rep("  - packages/*\n", "  - packages/*\n  - apps/*\n"), head: rep("'!**/test/**'\n", "'!**/test/**'\n  - docs\n"),
			want: strings.Replace(rep("  - packages/*\n", "  - packages/*\n  - apps/*\n"), "'!**/test/**'\n", "'!**/test/**'\n  - docs\n", 1)},
		{name: "two values that nobody can order", ours: rep("[esbuild]", "[esbuild, sharp]"), head: rep("[esbuild]", "[]"), conflict: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := formats()
			load := func(s string, like *files) *files {
				return treeOf(t, all, map[string]string{"pnpm-workspace.yaml": s}, like)
			}
			base := load(space, nil)
			got, conflicts := merge(load(tt.ours, base), base, load(tt.head, base), true)
			if tt.conflict != (len(conflicts) > 0) {
				t.Fatalf("conflicts %+v", conflicts)
			}
			if !tt.conflict && text(t, got, "pnpm-workspace.yaml") != tt.want {
				t.Errorf("got\n%s\nwant\n%s", text(t, got, "pnpm-workspace.yaml"), tt.want)
			}
		})
	}
}
