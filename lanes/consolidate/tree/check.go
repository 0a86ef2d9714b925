package tree

import (
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Concerned are the files to check after some changed: themselves, and the
// lockfiles that speak of them, which stand beside or above.
func (t *Tree) Concerned(changed []string) []string {
	seen := map[string]bool{}
	var out []string
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	type file struct {
		path, dir string
		ecosystem string
		reads     bool // whether it may have to be checked for a file elsewhere
	}
	var known []file // made when the first changed file needs it
	for _, p := range changed {
		f := format.Of(t.formats, p, nil)
		if f == nil {
			continue
		}
		if known == nil {
			for _, q := range t.Paths() {
				g := format.Of(t.formats, q, nil)
				known = append(known, file{q, path.Dir(q), g.Ecosystem, g.Reads != nil})
			}
		}
		add(p)
		dir := path.Dir(p)
		vendored := path.Join(dir, "vendor")
		for _, q := range known {
			if q.ecosystem == f.Ecosystem && !seen[q.path] && (within(dir, q.dir) || q.dir == vendored || q.reads && t.reads(q.path, p)) {
				add(q.path)
			}
		}
	}
	return out
}

// reads reports whether a file has to be checked when another one changes.
func (t *Tree) reads(q, changed string) bool {
	d := t.Doc(q)
	return d != nil && d.Format.Reads != nil && d.Format.Reads(d, changed)
}

func within(dir, above string) bool {
	return above == "." || dir == above || strings.HasPrefix(dir, above+"/")
}

// Problems checks files of a Tree.
func (t *Tree) Problems(paths []string) []lockfile.Problem {
	var out []lockfile.Problem
	for _, p := range paths {
		d, _, err := t.Parsed(p)
		if err != nil {
			out = append(out, lockfile.Problem{Code: lockfile.Unparsable, Path: p, Detail: err.Error()})
			continue
		}
		if f := t.File(p); d == nil && f != nil && f.Mode.IsRegular() {
			out = append(out, lockfile.Problem{Code: lockfile.Unparsable, Path: p, Detail: "it is of no version that Bailiff reads"})
		}
		if d != nil && d.Format.Check != nil {
			out = append(out, d.Format.Check(d, t)...)
		}
	}
	return out
}

// Locate adds the line that a problem is at.
func (t *Tree) Locate(p lockfile.Problem) lockfile.Problem {
	text, ok := t.Read(p.Path)
	if !ok || p.Line > 0 {
		return p
	}
	for _, needle := range []string{`"` + p.Key + `"`, p.Key, p.Name} {
		if p.Line = lockfile.Line(text, needle); needle != `""` && p.Line > 0 {
			break
		}
	}
	return p
}
