package consolidate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// A commit-to-be: one head, or several that only work together.
type group struct {
	heads         []*head
	before, after *tree
}

// fold adds heads to a tree one after the other, and keeps it sound at every
// step: whoever would break it waits for those it is coupled with, or is left
// out. So every commit of the result works, and a problem names who made it.
func (e *engine) fold(t *tree, order []*head) (*tree, error) {
	done := map[*head]bool{}
	for i, h := range order {
		if done[h] {
			continue
		}
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		e.progress(i, len(order), h.branch)
		g, err := e.join(t, h, order[i+1:], done)
		var r *refusal
		if errors.As(err, &r) {
			h.refused = r
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, x := range g.heads {
			done[x] = true
		}
		if g.after != nil {
			e.joined = append(e.joined, *g)
			t = g.after
		}
	}
	return t, nil
}

// join adds one head, with others if it must.
func (e *engine) join(t *tree, h *head, later []*head, done map[*head]bool) (*group, error) {
	after, err := e.step(t, h)
	if err != nil {
		return nil, err
	}
	g := &group{heads: []*head{h}, before: t, after: after}
	if unchanged(t, after) {
		h.noChange, h.by = true, e.alreadyBy(h)
		h.why = SameUpdate
		g.after = nil
		return g, nil
	}
	bad := append(e.fresh(after, h.paths()), e.regressions(after, h)...)
	if len(bad) == 0 {
		return g, nil
	}
	if coupled, ok := e.couple(g, bad, later, done); ok {
		return coupled, nil
	}
	own, err := e.ownProblems(h)
	if err != nil {
		return nil, err
	}
	for _, p := range bad {
		mine, ok := own[p.ID()]
		switch {
		case ok && mine.Soft:
		case ok:
			p = after.locate(p)
			return nil, &refusal{Unsound, "its own file is broken: " + p.String(), evidenceOf(p)}
		default:
			return nil, e.incompatible(after, p, h)
		}
	}
	for _, p := range bad {
		e.accepted[p.ID()] = true
		e.warnProblem(quoted(h.branch)+" brings this problem", after, p)
	}
	return g, nil
}

// couple looks for the heads that mend what one head breaks.
func (e *engine) couple(g *group, bad []lockfile.Problem, later []*head, done map[*head]bool) (*group, bool) {
	const most = 12 // members of a coupled set; k8s.io's is the largest known, with 9
	c := &group{heads: g.heads, before: g.before, after: g.after}
	for len(bad) > 0 && len(c.heads) < most {
		next, after, left := e.partner(c, bad, later, done)
		if next == nil {
			return nil, false
		}
		c.heads = append(c.heads[:len(c.heads):len(c.heads)], next)
		c.after, bad = after, left
	}
	return c, len(bad) == 0
}

// partner is the later head that leaves the fewest problems, fewer than there are.
func (e *engine) partner(g *group, bad []lockfile.Problem, later []*head, done map[*head]bool) (best *head, after *tree, left []lockfile.Problem) {
	left = bad
	for _, o := range later {
		if done[o] || contains(g.heads, o) || !o.touches(bad) {
			continue
		}
		t, err := e.step(g.after, o)
		if err != nil {
			continue
		}
		var changed []string
		for _, x := range append(g.heads[:len(g.heads):len(g.heads)], o) {
			changed = append(changed, x.paths()...)
		}
		if b := append(e.fresh(t, changed), e.regressions(t, o)...); len(b) < len(left) {
			best, after, left = o, t, b
		}
	}
	return best, after, left
}

// touches reports whether a head moves something that problems speak of.
func (h *head) touches(problems []lockfile.Problem) bool {
	for _, p := range problems {
		if h.names[p.Name] || h.names[byName(p)] {
			return true
		}
	}
	return false
}

// byName is the dependent of a problem without its version.
func byName(p lockfile.Problem) string {
	if i := strings.LastIndexByte(p.By, '@'); i > 0 {
		return p.By[:i]
	}
	return p.By
}

func (e *engine) incompatible(t *tree, p lockfile.Problem, h *head) *refusal {
	p = t.locate(p)
	ev := evidenceOf(p)
	for _, g := range e.joined {
		for _, o := range g.heads {
			if o != h && o.touches([]lockfile.Problem{p}) {
				ev.With = append(ev.With, o.branch)
			}
		}
	}
	text := p.String()
	if len(ev.With) > 0 {
		text = fmt.Sprintf("does not go together with %s: %s", quoted(ev.With[0]), text)
	}
	code := Incompatible
	if p.Code == lockfile.AskTool {
		code = NeedsTool
	}
	return &refusal{code, text, ev}
}

// alreadyBy is the head that brought what another one would have; nil: the base has it.
func (e *engine) alreadyBy(h *head) *head {
	for _, g := range e.joined {
		for _, o := range g.heads {
			for _, u := range h.updates {
				if o.names[u.Name] {
					return o
				}
			}
		}
	}
	return nil
}

func unchanged(a, b *tree) bool {
	if len(a.files) != len(b.files) {
		return false
	}
	for p, f := range b.files {
		if a.files[p] != f {
			return false
		}
	}
	return true
}

func contains(list []*head, h *head) bool {
	for _, x := range list {
		if x == h {
			return true
		}
	}
	return false
}
