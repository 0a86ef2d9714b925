package modules

import (
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		key, name, parent string
		depth             int
	}{
		{"", ".", "", 0},
		{"node_modules/a", "a", "", 1},
		{"node_modules/@s/a", "@s/a", "", 1},
		{"node_modules/a/node_modules/b", "b", "node_modules/a", 2},
		{"node_modules/@s/a/node_modules/@t/b", "@t/b", "node_modules/@s/a", 2},
		{"packages/a", "packages/a", "packages", 0},
		{"packages", "packages", "", 0},
		{"packages/a/node_modules/b", "b", "packages/a", 1},
		{"node_modules/a/lib/b", "a/lib/b", "node_modules/a/lib", 1},
		{"my_node_modules/a", "my_node_modules/a", "my_node_modules", 1},
		{"../x", "../x", "..", 0},
		{"../x/node_modules/b", "b", "../x", 1},
	} {
		if got := NameOf(c.key); got != c.name {
			t.Errorf("NameOf(%q) = %q, want %q", c.key, got, c.name)
		}
		if got := Parent(c.key); got != c.parent {
			t.Errorf("Parent(%q) = %q, want %q", c.key, got, c.parent)
		}
		if c.name != c.key && c.key != "" && NameOf(c.key) != "a/lib/b" {
			if got := Join(c.parent, c.name); got != c.key {
				t.Errorf("Join(%q, %q) = %q, want %q", c.parent, c.name, got, c.key)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		p, dir string
		want   bool
	}{
		{"node_modules/a", "", true},
		{"node_modules/a", "node_modules/a", true},
		{"node_modules/a/node_modules/b", "node_modules/a", true},
		{"node_modules/ab", "node_modules/a", false},
		{"node_modules/a", "node_modules/a/node_modules/b", false},
	} {
		if got := Within(c.p, c.dir); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.p, c.dir, got)
		}
	}
}

// A package is looked for as node does it, from the dependent's folder upwards.
func TestTarget(t *testing.T) {
	d := lockfile.NewDoc(0)
	for _, k := range []string{
		"", "node_modules/a", "node_modules/a/node_modules/x", "node_modules/b", "node_modules/x",
		"packages/w", "packages/w/node_modules/x", "../out", "../out/node_modules/y",
	} {
		d.Add(&lockfile.Node{Key: k, Data: &Package{}})
	}
	for _, c := range []struct{ from, name, want string }{
		{"", "x", "node_modules/x"},
		{"node_modules/a", "x", "node_modules/a/node_modules/x"},
		{"node_modules/a/node_modules/x", "x", "node_modules/a/node_modules/x"},
		{"node_modules/b", "x", "node_modules/x"},
		{"node_modules/a", "b", "node_modules/b"},
		{"packages/w", "x", "packages/w/node_modules/x"},
		{"packages/w", "a", "node_modules/a"},
		{"../out", "y", "../out/node_modules/y"},
		{"../out/node_modules/y", "y", "../out/node_modules/y"},
		{"../out", "x", ""}, // what is outside finds nothing in the project
		{"node_modules/b", "none", ""},
	} {
		got := Target(d, d.Node(c.from), lockfile.Edge{Name: c.name})
		if key := keyOf(got); key != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%q finds %s in %q, want %q", c.from, c.name, key, c.want)
		}
	}
}

func keyOf(n *lockfile.Node) string {
	if n == nil {
		return ""
	}
	return n.Key
}
