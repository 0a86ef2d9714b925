package consolidate

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
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
	own     map[string]lockfile.Problem // what is wrong with the head alone; by ID
	ownDone bool
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
	known := format.Of(e.formats, c.Path, nil) != nil
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
		if b, ok := e.base.base[c.Path]; ok {
			like, _, _ = e.doc(c.Path, b.ID, nil)
		}
		var err error
		if fork, _, err = e.doc(c.Path, c.Old, like); err != nil {
			return d, ctxErr(err) // broken before: merged as text
		}
	}
	p := e.parse(c.Path, c.New, fork)
	var bad *parseError
	switch {
	case errors.Is(p.err, lockfile.ErrConflictMarkers):
		return nil, &refusal{ConflictMarkers, c.Path + " holds conflict markers", Evidence{File: c.Path, Line: e.markLine(c.New)}}
	case errors.As(p.err, &bad):
		return nil, &refusal{Unreadable, bad.Error(), Evidence{File: c.Path}}
	case p.err != nil:
		return nil, p.err
	case p.doc == nil && fork != nil:
		if err := e.unmarked(c); err != nil {
			return nil, err
		}
		return nil, &refusal{Unreadable, c.Path + " was a " + fork.Format.Name + ", and is of no version that Bailiff reads", Evidence{File: c.Path}}
	case p.doc == nil:
		return d, e.unmarked(c)
	}
	d.eol = p.eol
	switch {
	case fork == nil:
		d.head = p.doc
	case fork.Format != p.doc.Format:
		if e.base.base[c.Path].ID != c.Old {
			return nil, &refusal{NeedsTool, c.Path + " becomes a " + p.doc.Format.Name + " here, and is a " + fork.Format.Name + " in the base", Evidence{File: c.Path}}
		}
		d.head = p.doc
	default:
		d.patch = lockfile.Diff(fork, p.doc)
	}
	return d, nil
}

// unmarked refuses a file of no known format that a head left with the marks
// of an unfinished merge.
func (e *engine) unmarked(c git.Change) error {
	if format.Derived(c.Path) {
		return nil
	}
	text, err := e.objects.Blob(e.ctx, c.New)
	if err != nil || !marked(text) {
		return err
	}
	if c.Old != "" {
		if old, err := e.objects.Blob(e.ctx, c.Old); err != nil || marked(old) {
			return err
		}
	}
	return &refusal{ConflictMarkers, c.Path + " holds conflict markers", Evidence{File: c.Path, Line: lockfile.Line(text, "<<<<<<< ")}}
}

func (e *engine) markLine(id git.ID) int {
	text, err := e.objects.Blob(e.ctx, id)
	if err != nil {
		return 0
	}
	return lockfile.Line(text, "<<<<<<< ")
}

// An update is a dependency that a head moves, with the nodes that show it.
type update struct {
	Update
	format *lockfile.Format // of the manifest, or of the lockfile if there is none
	node   *lockfile.Node   // after; nil when removed
	lock   *lockfile.Format
	locked *lockfile.Node // highest locked version after
	files  []string
	brings []bringing
}

// bringing is what an update wants in a file, and what was there.
type bringing struct {
	path        string
	before, now *lockfile.Node // before is nil when the head adds it
}

// findUpdates tells what a head is about: the requirements that it changes; if
// it changes only lockfiles, the packages that its message names; else all.
func (h *head) findUpdates() {
	byName := map[[3]string]*update{}
	var order []*update
	get := func(f *lockfile.Format, dir, name string) *update {
		k := [3]string{f.Ecosystem, dir, name}
		if byName[k] == nil {
			byName[k] = &update{Update: Update{Ecosystem: f.Ecosystem, Directory: dir, Name: name}, format: f}
			order = append(order, byName[k])
		}
		return byName[k]
	}
	locks := map[[3]string]*update{}
	var lockOrder []*update
	for _, d := range h.deltas {
		f := d.format()
		if f == nil {
			continue
		}
		dir := directory(d.Path)
		for _, c := range d.changes() {
			n := cmpNode(c.After, c.Before)
			if n.Name == "" {
				continue
			}
			h.names[n.Name] = true
			if versionOf(c.Before) == versionOf(c.After) {
				continue
			}
			if n.Direct && !f.Lock {
				u := get(f, dir, n.Name)
				if c.Before != nil {
					u.From = c.Before.Version
				}
				if c.After != nil {
					u.To, u.node = c.After.Version, c.After
					u.brings = append(u.brings, bringing{d.Path, c.Before, c.After})
				}
				if !slices.Contains(u.files, d.Path) {
					u.files = append(u.files, d.Path)
				}
				continue
			}
			k := [3]string{f.Ecosystem, dir, n.Name}
			u := locks[k]
			if u == nil {
				u = &update{Update: Update{Ecosystem: f.Ecosystem, Directory: dir, Name: n.Name}, format: f, lock: f, files: []string{d.Path}}
				locks[k] = u
				lockOrder = append(lockOrder, u)
			}
			u.raise(f, c)
		}
	}
	h.updates = order
	for _, u := range order {
		for dir := u.Directory; ; dir = path.Dir(dir) {
			if l := locks[[3]string{u.Ecosystem, dir, u.Name}]; l != nil && l.locked != nil {
				u.From, u.To, u.lock, u.locked = cmpString(l.From, u.From), l.To, l.lock, l.locked
				break
			}
			if dir == "/" {
				break
			}
		}
	}
	if len(h.updates) > 0 {
		return
	}
	for _, u := range lockOrder {
		if u.locked != nil && h.mentions(u.Name) {
			h.updates = append(h.updates, u)
		}
	}
	if len(h.updates) == 0 {
		h.updates = lockOrder
	}
}

// raise notes one changed entry of a lockfile: of several copies the highest counts.
func (u *update) raise(f *lockfile.Format, c lockfile.Change) {
	higher := func(a, b *lockfile.Node) bool {
		if b == nil || f.Compare == nil {
			return true
		}
		x, ok := f.Compare(a, b)
		return !ok || x > 0
	}
	if c.After != nil && c.After.Version != "" && higher(c.After, u.locked) {
		u.locked, u.node, u.To = c.After, c.After, c.After.Version
		u.brings = []bringing{{u.files[0], nil, c.After}}
	}
	if c.Before != nil && c.Before.Version != "" && (u.From == "" || higher(c.Before, &lockfile.Node{Version: u.From})) {
		u.From = c.Before.Version
	}
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

// mentions reports whether a head's message or branch names a package.
func (h *head) mentions(name string) bool {
	isWord := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '/' || b == '@'
	}
	text := h.tip.Message
	if len(text) > 100_000 {
		text = text[:100_000]
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
			if !strings.Contains(text[:i], "\n") || strings.Contains(line, "dependency-name:") {
				return true
			}
		}
		from = end
	}
	return strings.Contains(h.branch+"-", "/"+strings.TrimPrefix(name, "@")+"-")
}

// directory is where users would say that a file is: workflows belong to the root.
func directory(p string) string {
	dir := path.Dir(p)
	if dir == "." || dir == ".github/workflows" || dir == "vendor" {
		return "/"
	}
	return "/" + strings.TrimSuffix(dir, "/vendor")
}

func cmpNode(a, b *lockfile.Node) *lockfile.Node {
	if a != nil {
		return a
	}
	return b
}

func cmpString(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func versionOf(n *lockfile.Node) string {
	if n == nil {
		return ""
	}
	return n.Version
}

// selected applies the user's filters.
func (e *engine) selected(h *head) error {
	for _, u := range h.updates {
		if len(e.opts.Ecosystems) > 0 && !slices.Contains(e.opts.Ecosystems, u.Ecosystem) {
			return &refusal{NotSelected, u.Name + " is of " + u.Ecosystem + ", which --ecosystem does not name", Evidence{Key: u.Name}}
		}
		if s := stepOf(u.From, u.To); e.opts.MaxBump != "" && u.From != "" && s > e.opts.MaxBump.size() {
			return &refusal{NotSelected, u.Name + " goes from " + u.From + " to " + u.To + ", further than --max-bump " + string(e.opts.MaxBump), Evidence{Key: u.Name, Ours: u.From, Theirs: u.To}}
		}
	}
	if len(e.opts.Ecosystems) > 0 && len(h.updates) == 0 {
		return &refusal{NotSelected, "it changes no file of the ecosystems that --ecosystem names", Evidence{}}
	}
	return nil
}

// Bump is how far a version may move.
type Bump string

// The sizes of a bump.
const (
	BumpMajor Bump = "major"
	BumpMinor Bump = "minor"
	BumpPatch Bump = "patch"
)

func (b Bump) size() int { return map[Bump]int{BumpPatch: 1, BumpMinor: 2, BumpMajor: 3}[b] }

// stepOf says in which part two versions or requirements differ first: 3 the
// first number, 2 the second, 1 anything further; what has no numbers is 3.
func stepOf(from, to string) int {
	a, b := numbers(from), numbers(to)
	if len(a) == 0 || len(b) == 0 {
		return BumpMajor.size()
	}
	for i := range 2 {
		if at(a, i) != at(b, i) {
			return 3 - i
		}
	}
	return BumpPatch.size()
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "0"
}

// numbers are the dotted numbers that a version begins with, behind any sign.
func numbers(v string) []string {
	start := strings.IndexAny(v, "0123456789")
	if start < 0 {
		return nil
	}
	v = v[start:]
	if end := strings.IndexFunc(v, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		v = v[:end]
	}
	return strings.Split(strings.Trim(v, "."), ".")
}
