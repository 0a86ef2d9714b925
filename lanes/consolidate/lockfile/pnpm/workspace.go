package pnpm

import (
	"fmt"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yamltext"
)

func isWorkspace(p string) bool { return path.Base(p) == "pnpm-workspace.yaml" }

func workspaceFormat(r rules) *lockfile.Format {
	return &lockfile.Format{
		Name:      "pnpm-workspace.yaml",
		Ecosystem: npm.Ecosystem,
		Match:     func(p string, _ []byte) bool { return isWorkspace(p) },
		Parse:     parseWorkspace,
		Encode:    encode,
		Compare:   func(a, b *lockfile.Node) (int, bool) { return r.CompareReqs(a.Version, b.Version) },
		Combine:   r.combine,
	}
}

// parseWorkspace takes the file apart. The entries of catalogs are what users
// ask for; everything else is structure.
func parseWorkspace(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	text := string(content)
	doc := lockfile.NewDoc(64)
	syn := &syntax{dialect: dialects['9']}
	doc.Syntax = syn
	entries, err := open(text, syn)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Item {
			return nil, fmt.Errorf("line %d: a list, expected keys", e.Line)
		}
		depth, leaf := 1, (func(*lockfile.Node, yamltext.Entry))(nil)
		switch e.Key {
		case "catalog":
			leaf = requirement
		case "catalogs":
			depth, leaf = 2, requirement
		}
		if err := tree(doc, like, e, "", "", depth, leaf); err != nil {
			return nil, err
		}
	}
	syn.unsorted = unsorted(doc)
	return doc, nil
}

// requirement makes a node of a catalog what a manifest's entry is.
func requirement(n *lockfile.Node, e yamltext.Entry) {
	if n.Version != "" && !e.Item {
		n.Name, n.Direct = e.Key, true
	}
}

// catalogs are the requirements of a workspace's catalogs, by catalog and name.
func catalogs(d *lockfile.Doc) map[[2]string]string {
	out := map[[2]string]string{}
	d.Nodes(func(n *lockfile.Node) {
		if !n.Direct {
			return
		}
		catalog := "default"
		if rest, ok := strings.CutPrefix(n.Parent, "catalogs"+arrow); ok {
			catalog = rest
		}
		out[[2]string{catalog, n.Name}] = n.Version
	})
	return out
}

// section are the values under a key of a file.
func section(d *lockfile.Doc, name string) map[string]string {
	out := map[string]string{}
	if d == nil {
		return out
	}
	d.Nodes(func(n *lockfile.Node) {
		if n.Parent == "#"+name {
			out[blockOf(n).Key] = n.Version
		}
	})
	return out
}
