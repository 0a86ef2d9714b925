package format

import (
	"path"
	"strings"
)

// derivedIn are folders whose files are built or copied from others, wherever
// they are in a repository.
var derivedIn = []string{
	"dist",           // an action's, or a package's, bundle
	"node_modules",   // where it is committed
	"vendor",         // Go, Bundler, Composer
	".yarn/cache",    // one archive a package
	".yarn/releases", // yarn itself
	".yarn/unplugged",
	".bundle/cache",
}

// derivedNames are names of such files.
var derivedNames = []string{
	".pnp.cjs", ".pnp.js", ".pnp.data.json", ".pnp.loader.mjs",
	"*.min.js", "*.min.mjs", "*.min.css",
	"*.bundle.js",
	"*.js.map", "*.cjs.map", "*.mjs.map", "*.css.map",
}

// Derived reports whether a file is built from others, so that half of one
// version and half of another would be wrong although it merges as text: the
// whole of it comes from one side.
func Derived(p string) bool {
	dir, base := path.Split(p)
	for _, d := range derivedIn {
		if strings.Contains("/"+dir, "/"+d+"/") {
			return true
		}
	}
	for _, pattern := range derivedNames {
		if ok, err := path.Match(pattern, base); ok && err == nil {
			return true
		}
	}
	return false
}
