package consolidate

import (
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// vendorList is the vendor/modules.txt of the folder that a path is in, if the
// tree has one.
func vendorList(t *tree.Tree, path string) (string, bool) {
	for rest, dir := path, ""; ; {
		before, after, ok := strings.Cut(rest, "/")
		if !ok {
			return "", false
		}
		dir += before + "/"
		if before == "vendor" {
			list := dir + "modules.txt"
			if t.File(list) != nil {
				return list, true
			}
		}
		rest = after
	}
}

// vendored merges what a head did to vendored files, when their list is merged
// already: each module's folder comes whole from one side.
func (e *engine) vendored(was, now *tree.Tree, h *head, deltas map[string][]*delta) error {
	for _, list := range slices.Sorted(maps.Keys(deltas)) {
		ds := deltas[list]
		fork, theirs := now.Doc(list), now.Doc(list)
		for _, d := range h.deltas {
			if d.Path == list && d.patch != nil {
				fork, theirs = d.patch.Fork, d.patch.Head()
			}
			if d.Path == list && d.head != nil {
				fork, theirs = nil, d.head
			}
		}
		result := now.Doc(list)
		if result == nil && len(ds) == 0 {
			continue
		}
		if result == nil {
			return &refusal{NeedsTool, list + " cannot be read, so nobody knows what its folder must hold", Evidence{File: list}}
		}
		byPath := map[string]*delta{}
		paths := make([]string, len(ds))
		for i, d := range ds {
			paths[i], byPath[d.Path] = d.Path, d
		}
		v := golang.NewVendor(fork, theirs, was.Doc(list), result)
		for _, f := range v.Folders(paths) {
			switch {
			case f.Tool != "":
				return &refusal{NeedsTool, list + ": " + f.Tool, Evidence{File: list, Key: f.Module}}
			case f.Take == golang.Theirs:
				if err := e.takeFolder(now, h, v, f, byPath); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// takeFolder makes a module's folder what it is in the head.
func (e *engine) takeFolder(now *tree.Tree, h *head, v *golang.Vendor, f golang.Folder, deltas map[string]*delta) error {
	entries, err := e.entries(h.fork)
	if err != nil {
		return err
	}
	inFolder := func(p string) bool { return strings.HasPrefix(p, f.Dir+"/") && v.Module(p) == f.Module }
	want := map[string]*tree.File{}
	var gone []string
	for _, x := range entries {
		if inFolder(x.Path) && deltas[x.Path] == nil {
			want[x.Path] = &tree.File{Mode: x.Mode, ID: x.ID}
		}
	}
	for _, p := range f.Paths {
		if c := taken(deltas[p]); c.file != nil {
			want[p] = c.file
		}
	}
	now.Files(func(p string) {
		if inFolder(p) && want[p] == nil {
			gone = append(gone, p)
		}
	})
	for _, p := range gone {
		now.Set(p, nil)
	}
	for p, x := range want {
		if !same(now.File(p), x.Mode, x.ID) {
			now.Set(p, x)
		}
	}
	return nil
}

// entries lists a commit's tree, once.
func (e *engine) entries(commit git.ID) ([]git.Entry, error) {
	if list, ok := e.trees[commit]; ok {
		return list, nil
	}
	list, err := e.scratch.Tree(e.ctx, commit)
	if err == nil {
		e.trees[commit] = list
	}
	return list, err
}

// vendorProblems are imports of vendored packages that are not there, and that
// the base has.
func (e *engine) vendorProblems(t *tree.Tree, changed []string) []lockfile.Problem {
	byList := map[string][]string{}
	for _, p := range changed {
		if list, ok := vendorList(t, p); ok {
			byList[list] = append(byList[list], p)
		}
	}
	var out []lockfile.Problem
	for _, list := range slices.Sorted(maps.Keys(byList)) {
		paths := byList[list]
		d, b := t.Doc(list), e.base.Doc(list)
		if d == nil {
			continue
		}
		if b != nil && golang.Drops(b, d) {
			// What goes may be what a head before has begun to import.
			for p, f := range t.Changed() {
				if l, ok := vendorList(t, p); ok && l == list && f != nil {
					paths = append(paths, p)
				}
			}
			slices.Sort(paths)
			paths = slices.Compact(paths)
		}
		before := map[string]bool{}
		if b != nil {
			for _, p := range golang.CheckImports(b, e.base, paths) {
				before[p.ID()] = true
			}
		}
		for _, p := range golang.CheckImports(d, t, paths) {
			if !before[p.ID()] {
				out = append(out, p)
			}
		}
	}
	return out
}
