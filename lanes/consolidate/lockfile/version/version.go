// Package version compares versions and requirements by the rules of an
// ecosystem, and remembers the answers: a lockfile asks the same few thousand
// questions at every merge.
package version

import (
	"strings"
	"sync"

	"deps.dev/util/semver"
)

// Rules are the rules of one ecosystem. They are safe for concurrent use.
type Rules struct {
	sys semver.System

	mu          sync.Mutex
	versions    map[string]*semver.Version
	constraints map[string]*semver.Constraint
	matches     map[[2]string]bool
}

// New returns the rules of an ecosystem.
func New(sys semver.System) *Rules {
	return &Rules{
		sys:         sys,
		versions:    map[string]*semver.Version{},
		constraints: map[string]*semver.Constraint{},
		matches:     map[[2]string]bool{},
	}
}

func (r *Rules) version(s string) *semver.Version {
	v, ok := r.versions[s]
	if !ok {
		v, _ = r.sys.Parse(s)
		r.versions[strings.Clone(s)] = v
	}
	return v
}

func (r *Rules) constraint(s string) *semver.Constraint {
	c, ok := r.constraints[s]
	if !ok {
		c, _ = r.sys.ParseConstraint(s)
		r.constraints[strings.Clone(s)] = c
	}
	return c
}

// Compare orders two versions; false when one of them is none.
func (r *Rules) Compare(a, b string) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	va, vb := r.version(a), r.version(b)
	if va == nil || vb == nil {
		return 0, false
	}
	return va.Compare(vb), true
}

// Lowest orders two requirements by the lowest version that each admits;
// false when one of them has none.
func (r *Rules) Lowest(a, b string) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	va, vb := r.lowest(a), r.lowest(b)
	if va == nil || vb == nil {
		return 0, false
	}
	return va.Compare(vb), true
}

func (r *Rules) lowest(req string) *semver.Version {
	c := r.constraint(req)
	if c == nil {
		return nil
	}
	v, err := c.CalculateMinVersion()
	if err != nil {
		return nil
	}
	return v
}

// Satisfies reports whether a version meets a requirement. Known is false when
// the requirement is no range (a tag, an address) or the version is none.
func (r *Rules) Satisfies(req, v string) (ok, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{req, v}
	if ok, hit := r.matches[key]; hit {
		return ok, true
	}
	c, pv := r.constraint(req), r.version(v)
	if c == nil || pv == nil {
		return false, false
	}
	ok = c.MatchVersion(pv)
	r.matches[[2]string{strings.Clone(req), strings.Clone(v)}] = ok
	return ok, true
}

// Step is the most significant part in which two versions differ.
type Step int

// The steps, smallest first.
const (
	Same Step = iota
	Patch
	Minor
	Major
)

// StepOf says how large the step from a to b is: versions or the lowest of
// requirements. Unknown ones count as Major.
func (r *Rules) StepOf(a, b string) Step {
	if a == b {
		return Same
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	va, vb := r.version(a), r.version(b)
	if va == nil {
		va = r.lowest(a)
	}
	if vb == nil {
		vb = r.lowest(b)
	}
	if va == nil || vb == nil {
		return Major
	}
	_, d, err := r.sys.Difference(va.Canon(true), vb.Canon(true))
	if err != nil {
		return Major
	}
	switch d {
	case semver.Same:
		return Same
	case semver.DiffMajor:
		return Major
	case semver.DiffMinor:
		return Minor
	}
	return Patch
}
