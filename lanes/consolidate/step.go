package consolidate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// A delta is what a head did to one file.
type delta struct {
	git.Change
	patch *lockfile.Patch // nil: the file has no format, was added or was deleted
	head  *lockfile.Doc   // of an added file
	eol   tree.EOL
}

func (d *delta) format() *lockfile.Format {
	switch {
	case d.patch != nil:
		return d.patch.Fork.Format
	case d.head != nil:
		return d.head.Format
	}
	return nil
}

// stage orders a head's files: manifests before the lockfiles that follow from them.
func (d *delta) stage() int {
	f := d.format()
	switch {
	case f == nil:
		return 2
	case f.Lock:
		return 1
	}
	return 0
}

// step merges what one head did into a tree. The error is a *refusal when the
// head cannot join; any other error ends the run.
func (e *engine) step(was *tree.Tree, h *head) (*tree.Tree, error) {
	now := was.Child()
	folders := map[string][]*delta{}
	for _, d := range h.deltas {
		if list, ok := vendorList(was, d.Path); ok && d.format() == nil {
			folders[list] = append(folders[list], d)
			continue
		} else if _, known := folders[list]; ok && d.Path == list && !known {
			folders[list] = nil
		}
		f, err := e.merge(was, now, d)
		if err != nil {
			return nil, err
		}
		if f != nil {
			now.Set(d.Path, f.file)
		}
	}
	follow(was, now, h)
	for _, d := range h.deltas {
		settle(was, now, d)
	}
	if err := e.vendored(was, now, h, folders); err != nil {
		return nil, err
	}
	if file, inside, found := now.Clash(was); found {
		return nil, &refusal{TextConflict, fmt.Sprintf("%s would be a file, and also the folder of %s", file, inside), Evidence{File: file, Key: inside}}
	}
	return now, h.revives(was, now)
}

// follow mends the lockfiles that have their roots in the manifests, for a head
// that changes manifests alone: what only its old requirement needed goes. With
// its own fork, the lockfile of such a head is right as it is; with what others
// have merged, it need not be.
func follow(was, now *tree.Tree, h *head) {
	var changed []string
	for _, d := range h.deltas {
		f := d.format()
		switch {
		case f == nil:
		case f.Lock:
			return
		case now.Changed()[d.Path] != nil:
			changed = append(changed, d.Path)
		}
	}
	for _, p := range now.Concerned(changed) {
		doc, style, err := now.Parsed(p)
		if err != nil || doc == nil || !doc.Format.Lock || doc.Format.Roots == nil {
			continue
		}
		mended, conflicts := lockfile.Apply(doc, lockfile.Diff(doc, doc), was, now, false)
		if len(conflicts) == 0 && !lockfile.Equal(mended, doc) {
			now.Set(p, &tree.File{Mode: now.File(p).Mode, Doc: mended, EOL: style})
		}
	}
}

// settle mends a merged file by those beside it, now that all are merged.
func settle(was, now *tree.Tree, d *delta) {
	f := now.Changed()[d.Path]
	if f == nil || d.patch == nil || d.format().Settle == nil {
		return
	}
	doc, style, err := now.Parsed(d.Path)
	if err != nil || doc == nil || doc.Format != d.format() {
		return
	}
	if settled := doc.Format.Settle(doc, d.patch, was, now); !lockfile.Equal(settled, doc) {
		now.Set(d.Path, &tree.File{Mode: f.Mode, Doc: settled, EOL: style})
	}
}

// change is the new state of one file; a nil file is a deleted one.
type change struct{ file *tree.File }

func (e *engine) merge(was, now *tree.Tree, d *delta) (*change, error) {
	cur := now.File(d.Path)
	switch {
	case same(cur, d.NewMode, d.New):
		return nil, nil
	case same(cur, d.OldMode, d.Old) && !e.keeps(was, d):
		return taken(d), nil
	case cur == nil && d.Kind == git.Deleted:
		return nil, nil
	case cur == nil && e.base.File(d.Path) != nil:
		return nil, &refusal{TextConflict, d.Path + " is changed here and deleted by another pull request", Evidence{File: d.Path}}
	case cur == nil:
		return nil, &refusal{Gone, d.Path + " is not in the base any more", Evidence{File: d.Path}}
	case cur.Mode == git.ModeModule && d.NewMode == git.ModeModule:
		return nil, &refusal{ValueConflict, fmt.Sprintf("the submodule %s is at %s in the result and at %s here, and neither is the higher", d.Path, cur.ID[:10], d.New[:10]), Evidence{File: d.Path, Ours: string(cur.ID), Theirs: string(d.New)}}
	case !cur.Mode.IsRegular() || d.New != "" && !d.NewMode.IsRegular():
		return nil, &refusal{NotAFile, d.Path + " is a symbolic link or a submodule on one side", Evidence{File: d.Path}}
	case d.New == "":
		return nil, &refusal{TextConflict, d.Path + " is deleted here and changed elsewhere", Evidence{File: d.Path}}
	}
	mode := cur.Mode
	if d.OldMode != git.ModeNone && mode == d.OldMode {
		mode = d.NewMode
	}
	f, err := e.mergeDoc(was, now, d, cur)
	var r *refusal
	if errors.As(err, &r) && !d.format().Lock || f == nil && err == nil {
		if t, terr := e.mergeText(now, d, cur); terr == nil {
			f, err = t, nil
		} else if err == nil {
			err = terr
		}
	}
	if err != nil {
		return nil, err
	}
	if f == cur && mode == cur.Mode {
		return nil, nil
	}
	c := *f
	c.Mode = mode
	return &change{&c}, nil
}

// keeps reports whether a head's removals must be looked at although nobody
// has changed the file yet: others will, and may need what it removes; or others
// have changed the manifests that the file has its roots in.
func (e *engine) keeps(was *tree.Tree, d *delta) bool {
	if d.patch == nil {
		return false
	}
	f := d.patch.Fork.Format
	return f.Keep != nil && e.shared[d.Path] > 1 || f.Roots != nil && len(was.Changed()) > 0
}

func same(f *tree.File, mode git.Mode, id git.ID) bool {
	if f == nil {
		return id == ""
	}
	return f.ID != "" && f.ID == id && f.Mode == mode
}

// taken is a file whole as the head has it: nobody else changed it.
func taken(d *delta) *change {
	if d.New == "" {
		return &change{}
	}
	f := &tree.File{Mode: d.NewMode, ID: d.New, EOL: d.eol}
	switch {
	case d.patch != nil:
		f.Doc = d.patch.Head()
	case d.head != nil:
		f.Doc = d.head
	}
	return &change{f}
}

// mergeDoc merges by meaning. Nil without error: no format knows the file.
func (e *engine) mergeDoc(was, now *tree.Tree, d *delta, cur *tree.File) (*tree.File, error) {
	fm := d.format()
	if fm == nil {
		return nil, nil
	}
	ours, style, err := now.Parsed(d.Path)
	if err != nil || ours == nil {
		return nil, nil //nolint:nilerr // the base's own file is broken: merged as text, and reported with the base
	}
	if ours.Format != fm {
		return nil, &refusal{NeedsTool, fmt.Sprintf("%s is a %s here and a %s in the base", d.Path, fm.Name, ours.Format.Name), Evidence{File: d.Path}}
	}
	patch := d.patch
	if patch == nil {
		empty := lockfile.NewDoc(0)
		empty.Format, empty.Path, empty.Syntax = fm, d.Path, d.head.Syntax
		patch = lockfile.Diff(empty, d.head)
	}
	doc, conflicts := lockfile.Apply(ours, patch, was, now, e.shared[d.Path] > 1)
	if len(conflicts) > 0 {
		return nil, conflictRefusal(d.Path, conflicts)
	}
	if alike(ours, doc) {
		return cur, nil
	}
	return &tree.File{Doc: doc, EOL: style}, nil
}

// alike reports whether two states of a file are the same text. Where a file is
// sorted when it is written, a node that went and came back may be in another
// place until then.
func alike(a, b *lockfile.Doc) bool {
	if lockfile.Equal(a, b) {
		return true
	}
	if a.Len() != b.Len() || slices.ContainsFunc(a.Keys(), func(k string) bool { return !lockfile.Same(a.Node(k), b.Node(k)) }) {
		return false
	}
	x, errX := a.Format.Encode(a)
	y, errY := b.Format.Encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func conflictRefusal(path string, conflicts []lockfile.Conflict) *refusal {
	c := conflicts[0]
	name := c.Name
	if name == "" {
		name = strings.TrimPrefix(c.Key, "#")
	}
	code, text := ValueConflict, fmt.Sprintf("%s: %s is %s in the result and %s here, and neither is the higher", path, name, short(c.Ours), short(c.Theirs))
	switch {
	case c.Tool != "":
		code, text = NeedsTool, fmt.Sprintf("%s: %s: %s", path, name, c.Tool)
	case c.Key == cells.TextKey:
		return &refusal{TextConflict, path + " is changed here and by others in the same place", Evidence{File: path}}
	case c.Why != "":
		text = fmt.Sprintf("%s: %s: %s", path, name, c.Why)
	}
	return &refusal{code, text, Evidence{File: path, Key: name, Ours: short(c.Ours), Theirs: short(c.Theirs)}}
}

// short cuts a value for a sentence, on a rune boundary.
func short(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if s == "" {
		return "nothing"
	}
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}

// mergeText merges a whole file as git would.
func (e *engine) mergeText(now *tree.Tree, d *delta, cur *tree.File) (*tree.File, error) {
	if format.Derived(d.Path) {
		return nil, &refusal{DerivedConflict, d.Path + " is built from something else, and two pull requests change it: half of each would be wrong", Evidence{File: d.Path}}
	}
	ours, err := now.Content(d.Path)
	if err != nil {
		return nil, err
	}
	var base []byte
	if d.Old != "" {
		if base, err = e.scratch.Blob(e.ctx, d.Old); err != nil {
			return nil, err
		}
	}
	theirs, err := e.scratch.Blob(e.ctx, d.New)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(ours, theirs) {
		return cur, nil
	}
	merged, conflicts, err := e.scratch.MergeFile(e.ctx, ours, base, theirs)
	if err != nil {
		return nil, err
	}
	if conflicts == 0 && bytes.Equal(ours, merged) {
		return cur, nil
	}
	if conflicts > 0 {
		return nil, &refusal{TextConflict, d.Path + " is changed here and by others in the same place, and it is of no format that Bailiff merges by meaning", Evidence{File: d.Path}}
	}
	f := &tree.File{Raw: merged}
	if _, _, err := now.Parsed(d.Path); err != nil {
		return f, nil //nolint:nilerr // it was broken before; nothing is lost
	}
	probe := now.Child()
	probe.Set(d.Path, &tree.File{Mode: cur.Mode, Raw: merged})
	if _, _, err := probe.Parsed(d.Path); err != nil {
		return nil, &refusal{TextConflict, err.Error() + " after a merge as text", Evidence{File: d.Path}}
	}
	return f, nil
}

// sortDeltas brings a head's files into the order in which they merge.
func sortDeltas(ds []*delta) {
	slices.SortStableFunc(ds, func(a, b *delta) int {
		if c := a.stage() - b.stage(); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
}
