// Package consolidate turns many dependency pull requests into one branch that
// works, in a clone and without GitHub.
//
// It reads the candidates' branches, merges their dependency files by meaning
// (package lockfile), keeps the result sound at every step, and writes one
// commit a pull request. It guarantees:
//
//   - Every candidate ends as merged, superseded or left out, with a reason of
//     a closed set and its evidence.
//   - Each commit of the result is sound by itself: no requirement unmet and no
//     entry missing that the base and the pull request alone had right.
//   - The same input gives the same commits.
//   - Working tree, index, current branch and configuration of the clone stay
//     untouched, and nothing that the clone configures is executed (package git).
package consolidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/format"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// DefaultInto is the branch that holds the result unless Options say otherwise.
const DefaultInto = "bailiff/dependencies"

// Options say what to consolidate. The zero value means: all branches of known
// bots, onto the default branch.
type Options struct {
	// Base is the branch to build on; empty: the clone's default branch.
	Base string
	// Branches are patterns, in which * stands for anything; empty:
	// the branches of known bots.
	Branches []string
	// Bots are further authors, by name or address, whose commits are a bot's.
	Bots []string
	// Into is the branch that will hold the result; empty: DefaultInto.
	Into string
	// Ecosystems to keep; empty: all.
	Ecosystems []string
	// MaxBump leaves out what goes further; empty: nothing does.
	MaxBump Bump
	// DryRun computes the result and writes nothing into the clone.
	DryRun bool
	// Progress is told what is being done; nil: nobody is.
	Progress func(done, total int, what string)
	// Now is the clock for ElapsedMS; nil: time.Now.
	Now func() time.Time
}

// validate refuses options that could never do what they say.
func (o Options) validate() error {
	if err := git.CheckRef("refs/heads/" + o.Into); err != nil || strings.HasPrefix(o.Into, "-") {
		return &refuseRun{fmt.Sprintf("%s is no name for a branch; choose another one with --into", quoted(o.Into))}
	}
	for _, p := range o.Branches {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return &refuseRun{fmt.Sprintf("%s is no pattern for --branches; * stands for anything, ? for one character, [ab] for a choice", quoted(p))}
		}
	}
	var known []string
	for _, f := range format.All() {
		known = append(known, f.Ecosystem)
	}
	for _, name := range o.Ecosystems {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return &refuseRun{fmt.Sprintf("%s is no ecosystem that is merged by meaning; --ecosystem takes: %s", quoted(name), strings.Join(slices.Compact(known), ", "))}
		}
	}
	if o.MaxBump != "" && o.MaxBump.size() == 0 {
		return &refuseRun{fmt.Sprintf("%s is no size; --max-bump takes major, minor or patch", quoted(string(o.MaxBump)))}
	}
	return nil
}

// refuseRun ends a run before anything was changed, with what to do about it.
type refuseRun struct{ text string }

func (r *refuseRun) Error() string { return r.text }

// ErrRefused says that a run could not begin; nothing was changed.
var ErrRefused = errors.New("refused")

// Is makes every refusal of a run an ErrRefused.
func (r *refuseRun) Is(target error) bool { return target == ErrRefused }

// Formats are the formats that are merged by meaning.
func Formats() []*lockfile.Format { return format.All() }

// engine is one run.
type engine struct {
	*tree.Reader
	ctx     context.Context //nolint:containedctx // one run
	formats []*lockfile.Format
	opts    Options
	scratch *git.Scratch
	shallow bool
	base    *tree.Tree
	trees   map[git.ID][]git.Entry
	ahead   map[git.ID]git.Commit // what the candidates have and the base has not
	heads   []*head
	shared  map[string]int // how many heads change a path

	baseProblems map[string]map[string]bool
	warnings     []string
}

func (e *engine) warn(form string, args ...any) {
	w := fmt.Sprintf(form, args...)
	if !slices.Contains(e.warnings, w) {
		e.warnings = append(e.warnings, w)
	}
}

func (e *engine) progress(done, total int, what string) {
	if e.opts.Progress != nil {
		e.opts.Progress(done, total, what)
	}
}

// Run consolidates the clone that holds dir.
func Run(ctx context.Context, dir string, o Options) (*Result, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Into == "" {
		o.Into = DefaultInto
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	began := o.Now()
	clone, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	refs, err := clone.Refs(ctx)
	if err != nil {
		return nil, err
	}
	base, err := findBase(ctx, clone, refs, o.Base)
	if err != nil {
		return nil, err
	}
	o.Base = base.name
	if o.Into == o.Base {
		return nil, &refuseRun{fmt.Sprintf("the result cannot go into its own base %s; choose another name with --into", quoted(o.Base))}
	}
	scratch, err := clone.Scratch(ctx)
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	old, err := checkInto(ctx, clone, scratch, refs, base.id, o.Into)
	if err != nil {
		return nil, err
	}
	formats := format.All()
	e := &engine{
		Reader: tree.NewReader(ctx, scratch, formats), ctx: ctx, formats: formats,
		opts: o, scratch: scratch, shallow: clone.Shallow(),
		trees: map[git.ID][]git.Entry{}, baseProblems: map[string]map[string]bool{},
	}
	entries, err := scratch.Tree(ctx, base.id)
	if err != nil {
		return nil, err
	}
	e.base = tree.New(e.Reader, entries)
	candidates, err := selectCandidates(ctx, scratch, refs, o, e.warn)
	if err != nil {
		return nil, err
	}
	p, err := e.consolidate(candidates, base.id)
	if err != nil {
		return nil, err
	}
	res := &Result{Base: base.name, BaseSHA: string(base.id)}
	if err := p.write(res, base.id); err != nil {
		return nil, err
	}
	if res.ResultSHA != "" {
		res.ResultBranch = o.Into
		if tip := git.ID(res.ResultSHA); !o.DryRun && tip != old {
			if err := scratch.Install(ctx, tip); err != nil {
				return nil, err
			}
			err := clone.UpdateRef(ctx, "refs/heads/"+o.Into, tip, old)
			var moved *git.RefMovedError
			if errors.As(err, &moved) && moved.Have == tip { // by another run, to the same
				err = nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	res.Warnings = append(append([]string{}, e.warnings...), p.notes()...)
	res.ElapsedMS = o.Now().Sub(began).Milliseconds()
	return res, nil
}

type baseRef struct {
	name string
	id   git.ID
}

// findBase resolves the branch to build on. The default is the remote's own
// default branch as it was last fetched; without one, the branch that the
// clone stands on.
func findBase(ctx context.Context, clone *git.Clone, refs []git.Ref, want string) (baseRef, error) {
	byName := map[string]git.Ref{}
	for _, r := range refs {
		byName[r.Name] = r
	}
	if want != "" {
		for _, full := range []string{"refs/heads/" + want, "refs/remotes/origin/" + want} {
			if r, ok := byName[full]; ok {
				return baseRef{want, r.Commit}, nil
			}
		}
		if r, ok := byName["refs/remotes/"+want]; ok {
			_, branch, _ := strings.Cut(want, "/") // behind the remote's name
			return baseRef{branch, r.Commit}, nil
		}
		return baseRef{}, &refuseRun{fmt.Sprintf("there is no branch %s; name an existing one with --base", quoted(want))}
	}
	remotes := []string{"refs/remotes/origin/HEAD"}
	for _, r := range refs {
		if strings.HasPrefix(r.Name, "refs/remotes/") && strings.HasSuffix(r.Name, "/HEAD") {
			remotes = append(remotes, r.Name)
		}
	}
	for _, name := range remotes {
		if r, ok := byName[name]; ok && r.Symref != "" {
			if to, ok := byName[r.Symref]; ok {
				_, branch, _ := strings.Cut(strings.TrimPrefix(r.Symref, "refs/remotes/"), "/")
				return baseRef{branch, to.Commit}, nil
			}
		}
	}
	h, err := clone.Head(ctx)
	if err != nil {
		return baseRef{}, err
	}
	if h.Commit == "" || h.Symref == "" {
		return baseRef{}, &refuseRun{"the clone has no default branch that could be found; name one with --base"}
	}
	return baseRef{strings.TrimPrefix(h.Symref, "refs/heads/"), h.Commit}, nil
}

// checkInto refuses to move a branch that a working tree stands on or that
// holds somebody's commits. It returns where the branch is, if it is.
func checkInto(ctx context.Context, clone *git.Clone, s *git.Scratch, refs []git.Ref, base git.ID, into string) (git.ID, error) {
	full := "refs/heads/" + into
	out, err := clone.CheckedOut(ctx)
	if err != nil {
		return "", err
	}
	if where, ok := out[full]; ok {
		return "", &refuseRun{fmt.Sprintf("the branch %s is checked out in %s; switch to another one there, or choose another name with --into", quoted(into), quoted(where))}
	}
	for _, r := range refs {
		if r.Name != full {
			if strings.HasPrefix(r.Name, full+"/") || strings.HasPrefix(full, r.Name+"/") && strings.HasPrefix(r.Name, "refs/heads/") {
				return "", &refuseRun{fmt.Sprintf("the branch %s cannot exist beside %s; choose another name with --into", quoted(into), quoted(strings.TrimPrefix(r.Name, "refs/heads/")))}
			}
			continue
		}
		commits, err := s.Commits(ctx, base, r.Commit)
		if err != nil {
			return "", err
		}
		for _, c := range commits {
			if c.Committer.Email != committer.Email {
				return "", &refuseRun{fmt.Sprintf("the branch %s holds commit %s by %s, which would be lost; choose another name with --into, or delete the branch", quoted(into), c.ID[:10], quoted(c.Author.Name))}
			}
		}
		return r.Commit, nil
	}
	return "", nil
}

// consolidate reads all candidates and decides over them.
func (e *engine) consolidate(candidates []candidate, base git.ID) (*plan, error) {
	ids := make([]git.ID, len(candidates))
	for i, c := range candidates {
		ids[i] = c.id
	}
	ahead, err := e.scratch.Commits(e.ctx, base, ids...)
	if err != nil {
		return nil, err
	}
	e.ahead = make(map[git.ID]git.Commit, len(ahead))
	for _, k := range ahead {
		e.ahead[k.ID] = k
	}
	for i, c := range candidates {
		e.progress(i, 2*len(candidates), c.branch)
		h, err := e.load(c, base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted(c.branch), err)
		}
		e.heads = append(e.heads, h)
	}
	slices.SortStableFunc(e.heads, byAge)
	e.agree()
	return e.best()
}

// agree counts who changes which file, and what all of them remove of it.
func (e *engine) agree() {
	e.shared = map[string]int{}
	patches := map[string][]*lockfile.Patch{}
	for _, h := range e.heads {
		if h.refused != nil {
			continue
		}
		for _, d := range h.deltas {
			e.shared[d.Path]++
			if d.patch != nil {
				patches[d.Path] = append(patches[d.Path], d.patch)
			}
		}
	}
	for _, ps := range patches {
		lockfile.Agree(ps)
	}
}

// byAge orders heads: by number, those without one last; then by date, then by
// name.
func byAge(a, b *head) int {
	switch {
	case a.number != nil && b.number != nil && *a.number != *b.number:
		return cmp.Compare(*a.number, *b.number)
	case a.number != nil && b.number == nil:
		return -1
	case a.number == nil && b.number != nil:
		return 1
	}
	if c := cmp.Compare(a.tip.Author.When.Unix, b.tip.Author.When.Unix); c != 0 {
		return c
	}
	return cmp.Compare(a.branch, b.branch)
}
