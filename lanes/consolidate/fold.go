package consolidate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/tree"
)

// A group is a commit to be: one head, or several that only work together.
type group struct {
	heads         []*head
	before, after *tree.Tree
	soft          []own // what its heads bring, and their ecosystem tolerates
}

// own is a problem that a head has by itself.
type own struct {
	head    *head
	problem lockfile.Problem
}

// place is why a head has no commit of its own although nothing is wrong with it.
type place struct {
	by  *head // nil: the base has it
	why Reason
}

// A plan is one way to consolidate the heads: which join, in which commits, and
// what became of the others.
type plan struct {
	*engine
	tree     *tree.Tree
	joined   []group
	refused  map[*head]*refusal
	covered  map[*head]place
	accepted map[string]*head // problems that a head brought, and who, by ID
}

func (e *engine) newPlan(out map[*head]*refusal) *plan {
	return &plan{engine: e, tree: e.base, refused: maps.Clone(out), covered: map[*head]place{}, accepted: map[string]*head{}}
}

// best plans, and plans again without a head that keeps two or more others
// out, for as long as more come in that way.
func (e *engine) best() (*plan, error) {
	out := map[*head]*refusal{}
	for _, h := range e.heads {
		if h.refused != nil {
			out[h] = h.refused
		}
	}
	p := e.newPlan(out)
	if err := p.make(); err != nil {
		return nil, err
	}
	for range 3 {
		blocker, blocked := p.blocker()
		if blocker == nil {
			break
		}
		r := p.refused[blocked[0]]
		ev := r.evidence
		ev.With = nil
		for _, h := range blocked {
			ev.With = append(ev.With, h.branch)
		}
		out[blocker] = &refusal{Incompatible, fmt.Sprintf("would keep out %d others: %s", len(blocked), r.text), ev}
		q := e.newPlan(out)
		if err := q.make(); err != nil {
			return nil, err
		}
		if len(q.refused) >= len(p.refused) {
			break
		}
		p = q
	}
	return p, nil
}

// blocker is the joined head that alone keeps the most others out, two at least.
func (p *plan) blocker() (*head, []*head) {
	blocked := map[string][]*head{}
	for _, h := range p.heads {
		if r := p.refused[h]; r != nil && r.code == Incompatible && len(r.evidence.With) == 1 {
			blocked[r.evidence.With[0]] = append(blocked[r.evidence.With[0]], h)
		}
	}
	var best *head
	for _, h := range p.heads {
		if n := len(blocked[h.branch]); p.refused[h] == nil && n > 1 && (best == nil || n > len(blocked[best.branch])) {
			best = h
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, blocked[best.branch]
}

// make folds all heads that nothing supersedes; whoever was superseded by one
// that is left out gets its turn.
func (p *plan) make() error {
	waiting := p.living(p.heads)
	for len(waiting) > 0 {
		var now, hold []*head
		all := offersOf(p.living(p.heads))
		for _, h := range waiting {
			if by, why := all.supersede(h); by != nil {
				p.covered[h] = place{by, why}
				hold = append(hold, h)
				continue
			}
			delete(p.covered, h)
			now = append(now, h)
		}
		if err := p.fold(now); err != nil {
			return err
		}
		if len(now) == 0 || len(p.living(now)) == len(now) {
			return nil
		}
		waiting = hold
	}
	return nil
}

// living are the heads that are, or may yet be, in the result.
func (p *plan) living(list []*head) []*head {
	return slices.DeleteFunc(slices.Clone(list), func(h *head) bool { return p.refused[h] != nil })
}

// fold adds heads one after the other, and keeps the tree sound at every step:
// whoever would break it waits for those it is coupled with, or is left out. So
// every commit of the result works, and a problem names who made it.
func (p *plan) fold(order []*head) error {
	done := map[*head]bool{}
	for i, h := range order {
		if done[h] {
			continue
		}
		p.progress(len(p.heads)+i, 2*len(p.heads), h.branch)
		g, err := p.join(h, order[i+1:], done)
		if p.Err() != nil {
			return p.Err() // whatever join has found rests on a file that was not read
		}
		var r *refusal
		if errors.As(err, &r) {
			p.refused[h] = r
			continue
		}
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		for _, x := range g.heads {
			done[x] = true
		}
		for _, o := range g.soft {
			p.accepted[o.problem.ID()] = o.head
		}
		p.joined = append(p.joined, *g)
		p.tree = g.after
	}
	return nil
}

// join adds one head, with others if it must. Nil: everything was there already.
func (p *plan) join(h *head, later []*head, done map[*head]bool) (*group, error) {
	after, err := p.step(p.tree, h)
	if err != nil {
		return nil, err
	}
	if maps.Equal(p.tree.Changed(), after.Changed()) {
		if r := h.nothingLeft(p.base); r != nil {
			return nil, r
		}
		if h.pointless(p.tree) {
			p.covered[h] = place{p.dropper(h), NotNeeded}
			return nil, nil
		}
		for _, u := range h.updates {
			if x, ok := u.arrived(p.tree, after); !ok {
				return nil, p.incompatible(after.Locate(x), h)
			}
		}
		p.covered[h], err = p.already(h)
		return nil, err
	}
	g := &group{heads: []*head{h}, before: p.tree, after: after}
	bad := p.problemsOf(g)
	if len(bad) == 0 {
		return g, nil
	}
	if coupled, err := p.couple(g, bad, later, done); coupled != nil || err != nil {
		return coupled, err
	}
	mine, err := p.ownProblems(h)
	if err != nil {
		return nil, err
	}
	left := g.tolerate(h, mine, bad)
	if len(left) == 0 {
		return g, nil
	}
	if x, ok := cause(mine, left); ok {
		_, alone, err := p.alone(h)
		if err != nil {
			return nil, err
		}
		x = alone.Locate(x)
		return nil, &refusal{Unsound, "its own file is broken: " + x.String(), evidenceOf(x)}
	}
	return nil, p.incompatible(after.Locate(left[0]), h)
}

// cause is what is wrong with the head alone, if that is why problems are left:
// the same one, or another about the same dependency.
func cause(mine map[string]lockfile.Problem, left []lockfile.Problem) (lockfile.Problem, bool) {
	for _, same := range []func(a, b lockfile.Problem) bool{
		func(a, b lockfile.Problem) bool { return a.ID() == b.ID() },
		func(a, b lockfile.Problem) bool { return a.Path == b.Path && a.Name == b.Name },
	} {
		for _, id := range slices.Sorted(maps.Keys(mine)) {
			x := mine[id]
			if !x.Soft && slices.ContainsFunc(left, func(y lockfile.Problem) bool { return same(x, y) }) {
				return x, true
			}
		}
	}
	return lockfile.Problem{}, false
}

// tolerate takes over those problems that a head has by itself and that its
// ecosystem lets pass, and returns the others.
func (g *group) tolerate(h *head, mine map[string]lockfile.Problem, bad []lockfile.Problem) (left []lockfile.Problem) {
	for _, x := range bad {
		if y, ok := mine[x.ID()]; ok && y.Soft {
			g.soft = append(g.soft, own{h, x})
		} else {
			left = append(left, x)
		}
	}
	return left
}

// couple looks for the heads that mend what one head breaks; nil: there are none.
func (p *plan) couple(g *group, bad []lockfile.Problem, later []*head, done map[*head]bool) (*group, error) {
	const most = 12 // members of a coupled set; k8s.io's is the largest known, with 9
	for len(g.heads) < most {
		var next *group
		left := bad
		for _, o := range later {
			if done[o] || slices.Contains(g.heads, o) || !o.touches(bad) {
				continue
			}
			t, err := p.step(g.after, o)
			var r *refusal
			if errors.As(err, &r) {
				continue
			}
			if err != nil {
				return nil, err
			}
			c := &group{heads: append(slices.Clone(g.heads), o), before: g.before, after: t, soft: slices.Clone(g.soft)}
			mine, err := p.ownProblems(o)
			if err != nil {
				return nil, err
			}
			if b := c.tolerate(o, mine, p.problemsOf(c)); len(b) < len(left) {
				next, left = c, b
			}
		}
		switch {
		case next == nil:
			return p.settled(g, bad)
		case len(left) == 0:
			return next, nil
		}
		g, bad = next, left
	}
	return nil, nil
}

// settled is a coupled group that nobody can mend further, if what is left is
// what its members have by themselves and their ecosystem lets pass.
func (p *plan) settled(g *group, bad []lockfile.Problem) (*group, error) {
	if len(g.heads) == 1 {
		return nil, nil
	}
	for _, h := range g.heads {
		mine, err := p.ownProblems(h)
		if err != nil {
			return nil, err
		}
		bad = g.tolerate(h, mine, bad)
	}
	if len(bad) > 0 {
		return nil, nil
	}
	return g, nil
}

// problemsOf are what a group of heads brings into the tree, but for what has
// been tolerated.
func (p *plan) problemsOf(g *group) []lockfile.Problem {
	var changed []string
	var out []lockfile.Problem
	for _, h := range g.heads {
		changed = append(changed, h.paths()...)
		out = append(out, regressions(g.before, g.after, h)...)
	}
	return slices.DeleteFunc(append(p.fresh(g.after, changed), out...), func(x lockfile.Problem) bool {
		return p.accepted[x.ID()] != nil || slices.ContainsFunc(g.soft, func(o own) bool { return o.problem.ID() == x.ID() })
	})
}

// notes are the tolerated problems that the final tree still has, and what the
// formats have to say of their files.
func (p *plan) notes() []string {
	var out []string
	changed := slices.Sorted(maps.Keys(p.tree.Changed()))
	merged := map[string][]*lockfile.Patch{}
	for _, g := range p.joined {
		for _, h := range g.heads {
			for _, d := range h.deltas {
				if d.patch != nil {
					merged[d.Path] = append(merged[d.Path], d.patch)
				}
			}
		}
	}
	for _, path := range changed {
		if d := p.tree.Doc(path); d != nil && d.Format.Notes != nil {
			for _, n := range d.Format.Notes(d, merged[path]) {
				out = append(out, path+": "+n)
			}
		}
	}
	for _, x := range p.fresh(p.tree, changed) {
		if h := p.accepted[x.ID()]; h != nil {
			out = append(out, fmt.Sprintf("%s brings this problem: %s", quoted(h.branch), p.tree.Locate(x)))
		}
	}
	return out
}

// touches reports whether a head moves something that problems speak of.
func (h *head) touches(problems []lockfile.Problem) bool {
	return slices.ContainsFunc(problems, func(p lockfile.Problem) bool { return h.names[p.Name] || h.names[dependent(p)] })
}

// dependent is who needs what a problem speaks of, without its version.
func dependent(p lockfile.Problem) string {
	if i := strings.LastIndexByte(p.By, '@'); i > 0 {
		return p.By[:i]
	}
	return p.By
}

// incompatible says what a head collides with: the joined heads that moved
// what is needed in that file; without any, those that moved who needs it.
func (p *plan) incompatible(x lockfile.Problem, h *head) *refusal {
	ev := evidenceOf(x)
	for _, name := range []string{x.Name, dependent(x)} {
		for _, g := range p.joined {
			for _, o := range g.heads {
				if o != h && len(ev.With) < 5 && o.names[name] && slices.Contains(o.paths(), x.Path) && !slices.Contains(ev.With, o.branch) {
					ev.With = append(ev.With, o.branch)
				}
			}
		}
		if len(ev.With) > 0 {
			break
		}
	}
	text := x.String()
	if len(ev.With) > 0 {
		text = fmt.Sprintf("does not go together with %s: %s", quoted(ev.With[0]), text)
	}
	code := Incompatible
	if x.Code == lockfile.AskTool {
		code = NeedsTool
	}
	return &refusal{code, text, ev}
}

// dropper is the joined head that dropped what another one would bump.
func (p *plan) dropper(h *head) *head {
	for _, g := range p.joined {
		for _, u := range h.updates {
			for _, b := range u.brings {
				if u.dropped(g.after, b.path) && !u.dropped(g.before, b.path) {
					return g.heads[0]
				}
			}
		}
	}
	return nil
}

// already says who brought what a head would have: the base, if the head
// changes nothing in it; else a head before it.
func (p *plan) already(h *head) (place, error) {
	alone, err := p.step(p.base, h)
	var r *refusal
	switch {
	case errors.As(err, &r): // not the base, then
	case err != nil:
		return place{}, err
	case len(alone.Changed()) == 0:
		return place{nil, InBase}, nil
	}
	var by *head
	for _, g := range p.joined {
		for _, o := range g.heads {
			for _, u := range h.updates {
				if slices.ContainsFunc(o.updates, func(v *update) bool { return v.subject() == u.subject() }) {
					return place{o, SameUpdate}, nil
				}
			}
			if slices.ContainsFunc(o.paths(), func(path string) bool { return slices.Contains(h.paths(), path) }) {
				by = o
			}
		}
	}
	return place{by, SameUpdate}, nil
}
