// Package golang knows Go's files: go.mod, go.work, go.sum and
// vendor/modules.txt, and what becomes of the folder that the last one lists.
//
// A go.mod that asks for too much works, and one that asks for too little does
// not. So a requirement or a hash that one update removes stays as long as
// others change the file, too: nothing in it tells whether they need it. What
// stays is said in the format's notes.
package golang

import (
	"bytes"
	"fmt"
	"go/version"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	rules "github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "go"

// Formats returns Go's formats.
func Formats() []*lockfile.Format {
	return []*lockfile.Format{modFormat(), workFormat(), sumFormat(), vendorFormat()}
}

// named matches files of one name, outside of vendored modules: what those
// hold belongs to their folder, and moves with it.
func named(name string) func(string, []byte) bool {
	return func(p string, _ []byte) bool {
		return path.Base(p) == name && !slices.Contains(strings.Split(p, "/"), "vendor")
	}
}

// Compare orders two versions of a module. False: one of them is none.
func Compare(a, b string) (int, bool) {
	if !semver.IsValid(a) || !semver.IsValid(b) {
		return 0, false
	}
	return semver.Compare(a, b), true
}

// CompareGo orders two versions of Go, as a go line ("1.22"), a toolchain line
// ("go1.22.1") or an image's tag has them. False: one of them is none.
func CompareGo(a, b string) (int, bool) {
	a, b = "go"+strings.TrimPrefix(a, "go"), "go"+strings.TrimPrefix(b, "go")
	if !version.IsValid(a) || !version.IsValid(b) {
		return 0, false
	}
	return version.Compare(a, b), true
}

// Step says how large the step is from one version of a module to another. The
// paths of a module's major versions differ in their end ("/v2", ".v2"). What
// cannot be told is Major: unrelated modules, or versions that are none.
func Step(fromPath, from, toPath, to string) rules.Step {
	if fromPath != toPath {
		return rules.Major
	}
	switch _, ok := Compare(from, to); {
	case !ok || semver.Major(from) != semver.Major(to):
		return rules.Major
	case semver.MajorMinor(from) != semver.MajorMinor(to):
		return rules.Minor
	case from != to:
		return rules.Patch
	}
	return rules.Same
}

// SameModule reports whether two paths are major versions of one module.
func SameModule(a, b string) bool {
	pa, _, okA := module.SplitPathVersion(a)
	pb, _, okB := module.SplitPathVersion(b)
	return okA && okB && pa == pb
}

// reuse returns the node of like that says the same, or n.
func reuse(like *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if like != nil {
		if old := like.Node(n.Key); lockfile.Same(old, n) {
			return old
		}
	}
	return n
}

// marks are how the lines of an unfinished merge begin.
var marks = []string{"<<<<<<< ", "||||||| ", ">>>>>>> "}

// unmarked refuses text that holds the marks of an unfinished merge.
func unmarked(content []byte) error {
	line := 0
	for l := range bytes.Lines(content) {
		line++
		for _, m := range marks {
			if bytes.HasPrefix(l, []byte(m)) {
				return fmt.Errorf("line %d: %w", line, lockfile.ErrConflictMarkers)
			}
		}
	}
	return nil
}

// some lists a few of many names.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// pick is the value that only one side changed. False: both did, differently.
func pick[T comparable](before, ours, theirs T) (T, bool) {
	switch {
	case ours == theirs, theirs == before:
		return ours, true
	case ours == before:
		return theirs, true
	}
	return ours, false
}
