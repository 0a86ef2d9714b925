package format_test

import (
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
)

func TestDerived(t *testing.T) {
	for path, want := range map[string]bool{
		"dist/index.js":                          true,
		"dist/licenses.txt":                      true,
		"packages/a/dist/restore/index.js":       true,
		".pnp.cjs":                               true,
		"web/.pnp.cjs":                           true,
		".yarn/cache/a-npm-1.0.0-0123456789.zip": true,
		"web/.yarn/releases/yarn-4.1.0.cjs":      true,
		"vendor/golang.org/x/mod/modfile/lax.go": true,
		"node_modules/a/index.js":                true,
		"public/app.min.js":                      true,
		"public/app.js.map":                      true,
		"static/app.bundle.js":                   true,
		"src/index.js":                           false,
		"dist":                                   false,
		"distribution/index.js":                  false,
		"src/mydist/index.js":                    false,
		".yarn/plugins/x.cjs":                    false,
		"vendored/x.go":                          false,
		"package-lock.json":                      false,
		"min.js":                                 false,
	} {
		if got := format.Derived(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
