package consolidate

import (
	"errors"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// A head is a candidate, read: who wrote it, and what it does.
type head struct {
	candidate
	fork    git.ID
	tip     git.Commit // its last commit of its own
	deltas  []*delta
	updates []*update
	names   map[string]bool // of every dependency that it touches
	refused *refusal
	own     map[string]lockfile.Problem // see ownProblems; nil: nobody has asked
}

func (h *head) title() string {
	t, _, _ := strings.Cut(h.tip.Message, "\n")
	return strings.ToValidUTF8(strings.TrimSpace(t), "\uFFFD")
}

// load reads a candidate. What keeps it out for itself stands in refused; an
// error ends the run.
func (e *engine) load(c candidate, base git.ID) (*head, error) {
	h := &head{candidate: c, names: map[string]bool{}}
	err := e.read(h, base)
	if errors.As(err, &h.refused) {
		return h, nil
	}
	return h, err
}

func (e *engine) read(h *head, base git.ID) error {
	var err error
	if h.tip, err = e.scratch.Commit(e.ctx, h.id); err != nil {
		return err
	}
	fork, ahead, err := e.lineage(h.candidate, base)
	if err != nil {
		return err
	}
	h.fork = fork
	if fork == h.id {
		return &refusal{AlreadyMerged, "the base contains it", Evidence{Key: string(h.id)}}
	}
	commits, err := e.commitsOf(h.candidate, ahead)
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		h.tip = commits[len(commits)-1]
	}
	changes, err := e.scratch.Diff(e.ctx, h.fork, h.id)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return &refusal{Empty, "it changes no file", Evidence{}}
	}
	for _, c := range changes {
		d, err := e.delta(c)
		if err != nil {
			return err
		}
		h.deltas = append(h.deltas, d)
	}
	sortDeltas(h.deltas)
	h.findUpdates()
	return e.selected(h)
}

// delta reads what a head did to one file.
func (e *engine) delta(c git.Change) (*delta, error) {
	d := &delta{Change: c}
	known := e.Known(c.Path)
	if known && c.New != "" && !c.NewMode.IsRegular() {
		return nil, &refusal{NotAFile, c.Path + " is a symbolic link or a submodule", Evidence{File: c.Path}}
	}
	if c.New == "" || c.New == c.Old || !c.NewMode.IsRegular() {
		return d, nil
	}
	if !known {
		return d, e.unmarked(c)
	}
	var fork *lockfile.Doc
	if c.Old != "" && c.OldMode.IsRegular() {
		var like *lockfile.Doc
		if b, ok := e.base.Entry(c.Path); ok {
			like, _, _ = e.Blob(c.Path, b.ID, nil)
		}
		var err error
		if fork, _, err = e.Blob(c.Path, c.Old, like); err != nil {
			return d, e.Err() // broken before: merged as text
		}
	}
	doc, style, err := e.Parse(c.Path, c.New, fork)
	var bad *tree.ParseError
	switch {
	case errors.Is(err, lockfile.ErrConflictMarkers):
		return nil, &refusal{ConflictMarkers, c.Path + " holds conflict markers", Evidence{File: c.Path, Line: e.markLine(c.New)}}
	case errors.As(err, &bad):
		return nil, &refusal{Unreadable, bad.Error(), Evidence{File: c.Path}}
	case err != nil:
		return nil, err
	case doc == nil && fork != nil:
		if err := e.unmarked(c); err != nil {
			return nil, err
		}
		return nil, &refusal{Unreadable, c.Path + " was a " + fork.Format.Name + ", and is of no version that Bailiff reads", Evidence{File: c.Path}}
	case doc == nil:
		return d, e.unmarked(c)
	}
	d.eol = style
	switch {
	case fork == nil:
		d.head = doc
	case fork.Format != doc.Format:
		if b, _ := e.base.Entry(c.Path); b.ID != c.Old {
			return nil, &refusal{NeedsTool, c.Path + " becomes a " + doc.Format.Name + " here, and is a " + fork.Format.Name + " in the base", Evidence{File: c.Path}}
		}
		d.head = doc
	default:
		d.patch = lockfile.Diff(fork, doc)
	}
	return d, nil
}

// unmarked refuses a file of no known format that a head left with the marks
// of an unfinished merge.
func (e *engine) unmarked(c git.Change) error {
	if format.Derived(c.Path) {
		return nil
	}
	text, err := e.scratch.Blob(e.ctx, c.New)
	if err != nil || !tree.Marked(text) {
		return err
	}
	if c.Old != "" {
		if old, err := e.scratch.Blob(e.ctx, c.Old); err != nil || tree.Marked(old) {
			return err
		}
	}
	return &refusal{ConflictMarkers, c.Path + " holds conflict markers", Evidence{File: c.Path, Line: lockfile.Line(text, "<<<<<<< ")}}
}

func (e *engine) markLine(id git.ID) int {
	text, err := e.scratch.Blob(e.ctx, id)
	if err != nil {
		return 0
	}
	return lockfile.Line(text, "<<<<<<< ")
}

// changes are a delta's changed nodes.
func (d *delta) changes() []lockfile.Change {
	switch {
	case d.patch != nil:
		return d.patch.Changes
	case d.head != nil:
		var out []lockfile.Change
		d.head.Nodes(func(n *lockfile.Node) { out = append(out, lockfile.Change{Key: n.Key, After: n}) })
		return out
	}
	return nil
}
