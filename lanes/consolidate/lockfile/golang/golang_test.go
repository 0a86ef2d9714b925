package golang_test

import (
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

func TestCompareGo(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
		ok   bool
	}{
		{"1.21", "1.22", -1, true},
		{"1.9", "1.10", -1, true},
		{"1.22", "1.22rc1", -1, true}, // the language, before any release of it
		{"1.22rc1", "1.22.0", -1, true},
		{"1.22.1", "go1.22.1", 0, true},
		{"go1.22.1-custom", "go1.22.0", 1, true},
		{"1.27rc1", "1.26.4", 1, true},
		{"default", "1.22", 0, false},
		{"", "1.22", 0, false},
	} {
		if got, ok := golang.CompareGo(c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("CompareGo(%q, %q) = %d, %v", c.a, c.b, got, ok)
		}
		if got, ok := golang.CompareGo(c.b, c.a); got != -c.want || ok != c.ok {
			t.Errorf("CompareGo(%q, %q) = %d, %v", c.b, c.a, got, ok)
		}
	}
}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		fromPath, from, toPath, to string
		want                       version.Step
	}{
		{"a.b/x", "v1.2.3", "a.b/x", "v1.2.3", version.Same},
		{"a.b/x", "v1.2.3", "a.b/x", "v1.2.4", version.Patch},
		{"a.b/x", "v1.2.3", "a.b/x", "v1.3.0", version.Minor},
		{"a.b/x", "v0.1.0", "a.b/x", "v0.2.0", version.Minor},
		{"a.b/x", "v0.9.0", "a.b/x", "v1.0.0", version.Major},
		{"a.b/x", "v1.2.3", "a.b/x/v2", "v2.0.0", version.Major},
		{"gopkg.in/x.v1", "v1.2.3", "gopkg.in/x.v2", "v2.0.0", version.Major},
		{"a.b/x", "v24.0.9+incompatible", "a.b/x", "v26.0.0+incompatible", version.Major},
		{"a.b/x", "v0.0.0-20240101000000-0123456789ab", "a.b/x", "v0.0.0-20250101000000-0123456789ab", version.Patch},
		{"a.b/x", "v1.2.3", "a.b/y", "v1.2.3", version.Major},
		{"a.b/x", "", "a.b/x", "v1.2.3", version.Major},
	} {
		if got := golang.Step(c.fromPath, c.from, c.toPath, c.to); got != c.want {
			t.Errorf("Step(%s %s, %s %s) = %d, want %d", c.fromPath, c.from, c.toPath, c.to, got, c.want)
		}
	}
}

func TestSameModule(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.b/x", "a.b/x/v2", true},
		{"a.b/x/v3", "a.b/x/v2", true},
		{"gopkg.in/x.v1", "gopkg.in/x.v2", true},
		{"a.b/x", "a.b/y", false},
		{"a.b/x", "a.b/x/sub", false},
	} {
		if got := golang.SameModule(c.a, c.b); got != c.want {
			t.Errorf("SameModule(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for path, want := range map[string]string{
		"go.mod":                       "go.mod",
		"x/go.mod":                     "go.mod",
		"go.sum":                       "go.sum",
		"go.work":                      "go.work",
		"go.work.sum":                  "go.sum",
		"vendor/modules.txt":           "vendor/modules.txt",
		"x/vendor/modules.txt":         "vendor/modules.txt",
		"vendor/a.b/c/go.mod":          "",
		"vendor/a.b/c/go.sum":          "",
		"vendor/x/vendor/modules.txt":  "",
		"modules.txt":                  "",
		"x.vendor/modules.txt":         "",
		"my-vendor/vendor/modules.txt": "vendor/modules.txt",
		"go.mod.orig":                  "",
	} {
		got := ""
		if f := formatOf(path); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", path, got, want)
		}
	}
}
