// Package yarn knows yarn's lockfile: that of yarn 1, and that of yarn 2 and
// later, which is called berry.
//
// Both lock a descriptor (name@range) to a resolution, and write the
// descriptors that share one as one block. A merge by block would lose a
// descriptor that one side adds to a block while the other side moves the
// block to another version, so blocks are taken apart here: there is one node
// for each descriptor, and encoding groups them again as the yarn in question
// does. The text of a block that keeps its descriptors and its body stays as
// it is.
//
// A yarn 1 file holds no roots: they are read from the package.json beside it
// and those of its workspaces. Berry writes an entry for every workspace.
package yarn

import (
	"bytes"
	"path"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// FileName is the name of both lockfiles.
const FileName = "yarn.lock"

// Formats returns yarn's formats.
func Formats() []*lockfile.Format {
	r := npm.NewRanges()
	return []*lockfile.Format{newFormat(r, classic()), newFormat(r, berry(r))}
}

// yarn is one of the two lockfiles, with the memory of its version ranges.
type yarn struct {
	npm.Ranges
	*dialect
}

func newFormat(r npm.Ranges, d *dialect) *lockfile.Format {
	y := &yarn{r, d}
	return &lockfile.Format{
		Name:      d.name,
		Ecosystem: npm.Ecosystem,
		Lock:      true,
		Match: func(p string, content []byte) bool {
			return path.Base(p) == FileName && (content == nil || isBerry(content) == d.berry)
		},
		Parse:   y.parse,
		Encode:  y.encode,
		Compare: func(a, b *lockfile.Node) (int, bool) { return r.Compare(a.Version, b.Version) },
		Combine: y.combine,
		Tool:    y.tool,
		Less:    func(a, b string) bool { return a < b },
		Target:  d.target,
		Roots:   y.roots,
		Repair:  y.repair,
		Check:   y.check,
	}
}

// isBerry tells the two files apart: berry's always says its version.
func isBerry(content []byte) bool {
	return bytes.HasPrefix(content, []byte(metadata+":")) || bytes.Contains(content, []byte("\n"+metadata+":"))
}

// A dialect is what the two lockfiles do not share.
type dialect struct {
	name  string
	berry bool
	// at is the field that says what an entry is resolved to.
	at string
	// keys takes a block's key line apart, without its colon.
	keys func(line string) ([]string, error)
	// line writes the key line of a block for sorted descriptors.
	line func(keys []string) string
	// cut takes a field's line apart; nested: it ends in a colon.
	cut func(line string) (f field, nested bool, err error)
	// separator stands between a field's key and its value.
	separator string
	// before orders a block's fields.
	before func(a, b string) int
	// group names the block that a descriptor belongs to.
	group func(key string, e *entry) string
	// compare orders blocks by their sorted descriptors.
	compare func(a, b []string) int
	// edges are what an entry needs, and origin what one of its descriptors is
	// made from.
	edges  func(e *entry) []lockfile.Edge
	origin func(key string) []lockfile.Edge
	// target finds what an edge leads to.
	target func(d *lockfile.Doc, from *lockfile.Node, e lockfile.Edge) *lockfile.Node
}
