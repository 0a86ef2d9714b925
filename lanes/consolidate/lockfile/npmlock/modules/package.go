// Package modules is the tree of node_modules folders that a lockfile of npm
// describes. Where a package stands decides what its dependents find, so a merge
// has to be mended by place: how an edge finds its package, when it is met, what
// takes another's place. The truth is arborist, npm's own library.
//
// A node's key is the path at which it stands: "" is the project, a workspace
// has its folder, a package "node_modules/a/node_modules/b". Its Data is a
// format's own type with a [Package] in it.
package modules

import "github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"

// Package is what is known of a package beside its node's name, version and edges.
type Package struct {
	Flags Flags
	// Alias is the package's own name where its folder has another.
	Alias string
	// Resolved is where it comes from; of a link the path that it leads to.
	Resolved string
	Link     bool
	Bundled  bool // came inside an archive of a package above it
	// Shrinkwrap says that it brings a lockfile of its own, which npm follows below it.
	Shrinkwrap bool
	Workspaces bool // the project has some
	// Bundles are the dependencies that its own archive holds; "" is in it for all.
	Bundles map[string]bool
	// Accept are requirements that do as well, by name.
	Accept map[string]string
	// Vague says that its needs do not tell which of them are optional: only the
	// flags of their targets do.
	Vague bool
}

// Module gives the package in a format's Data.
func (p *Package) Module() *Package { return p }

// Of is the package that a node is, or nil.
func Of(n *lockfile.Node) *Package {
	if p, ok := n.Data.(interface{ Module() *Package }); ok {
		return p.Module()
	}
	return nil
}
