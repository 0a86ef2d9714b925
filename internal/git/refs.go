package git

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Refs lists the references that lead to a commit, through tags too, in the
// order of their names; with prefixes (such as "refs/heads/") only those below
// one. What leads elsewhere, or nowhere, is skipped. Names with control
// characters, which git itself does not list, come last.
func (c *Clone) Refs(ctx context.Context, prefixes ...string) ([]Ref, error) {
	v, err := c.view(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return v.refs(ctx, prefixes)
}

// Head is where the working tree stands that was opened: the branch in Symref
// (empty if detached) and its commit (empty if the branch is unborn).
func (c *Clone) Head(ctx context.Context) (Ref, error) {
	head := Ref{Name: "HEAD"}
	out, err := c.git(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && !exited(err, 1) {
		return Ref{}, err
	}
	head.Symref = strings.TrimSuffix(string(out), "\n")
	out, err = c.git(ctx, "rev-parse", "-q", "--verify", "HEAD")
	if err != nil && !exited(err, 1) {
		return Ref{}, err
	}
	if name := strings.TrimSuffix(string(out), "\n"); name != "" {
		if head.Commit, err = ParseID(name); err != nil {
			return Ref{}, err
		}
	}
	return head, nil
}

// UpdateRef moves a reference to a commit of the clone if it still is where the
// caller saw it: old, or nowhere if old is zero. A symbolic reference becomes an
// ordinary one; what it pointed at stays. No hook sees it. It fails with
// [ErrBadRef], [ErrRefLocked], a [RefMovedError] or a [RefBlockedError].
//
// A working tree that stands on the branch is not looked after: see CheckedOut.
func (c *Clone) UpdateRef(ctx context.Context, name string, to, old ID) error {
	if err := CheckRef(name); err != nil {
		return err
	}
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	defer v.Close()
	if old.IsZero() {
		old = c.format.zero()
	}
	if err := v.check(to, old); err != nil {
		return err
	}
	if to.IsZero() {
		return fmt.Errorf("%w: a reference is moved to nothing", ErrBadID)
	}
	input := fmt.Sprintf("update %s\x00%s\x00%s\x00", name, to, old)
	if _, err := v.git(ctx, []byte(input), "update-ref", "-m", "bailiff", "--no-deref", "-z", "--stdin"); err != nil {
		return v.why(ctx, err, name, old)
	}
	return nil
}

func (s *Scratch) refs(ctx context.Context, prefixes []string) ([]Ref, error) {
	args := []string{"for-each-ref", "--format=%(objectname)%00%(symref)%00%(refname)%00"}
	for _, p := range prefixes {
		if !strings.HasPrefix(p, "refs/") || strings.ContainsAny(p, "*?[\\\x00") {
			return nil, fmt.Errorf("%w: %q is no beginning of one", ErrBadRef, p)
		}
		args = append(args, p)
	}
	out, words, err := s.run(ctx, s.call(nil, args...))
	if err != nil {
		return nil, err
	}
	var refs []Ref
	var questions strings.Builder
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(line, "\x00")
		if len(fields) != 4 {
			return nil, fmt.Errorf("git for-each-ref: unexpected output %q", line)
		}
		refs = append(refs, Ref{Name: fields[2], Symref: fields[1]})
		questions.WriteString(fields[0] + "^{commit}\n")
	}
	if strings.Contains(words, "broken name") {
		odd, err := s.clone.oddRefs()
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(odd)) {
			if below(name, prefixes) {
				refs = append(refs, Ref{Name: name})
				questions.WriteString(string(odd[name]) + "^{commit}\n")
			}
		}
	}
	return s.peel(ctx, refs, questions.String())
}

// peel fills in the commits of refs, and drops those that have none.
func (s *Scratch) peel(ctx context.Context, refs []Ref, questions string) ([]Ref, error) {
	out, err := s.git(ctx, []byte(questions), "cat-file", "--buffer", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(refs) > 0 && len(answers) != len(refs) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(answers), len(refs))
	}
	kept := refs[:0]
	for i, r := range refs {
		if r.Commit = ID(answers[i]); r.Commit.Valid() { // else "... missing"
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// why finds out from the references themselves what kept one from being
// written; git's words about it are for people, and hold names of anybody's.
func (s *Scratch) why(ctx context.Context, err error, name string, old ID) error {
	out, cause := s.git(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if cause != nil {
		return err
	}
	var have ID
	for line := range strings.Lines(string(out)) {
		id, other, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return &RefBlockedError{Name: name, By: other}
		}
		if other == name {
			have = ID(id)
		}
	}
	if have != old && !(have.IsZero() && old.IsZero()) {
		return &RefMovedError{Name: name, Want: old, Have: have}
	}
	if said(err, ".lock': File exists") {
		return fmt.Errorf("%w: %q is locked: another git runs in the clone, or one was killed and left %q behind", ErrRefLocked, name, filepath.Join(s.clone.common, name+".lock"))
	}
	return fmt.Errorf("%q cannot be written: %w", name, err)
}

// CheckRef says whether git lets a reference have this name in full. It fails
// with [ErrBadRef]. The rules are those of git check-ref-format.
func CheckRef(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %q %s", ErrBadRef, name, why) }
	if !strings.HasPrefix(name, "refs/") {
		return bad("does not begin with refs/")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return bad("has an empty component")
		case part[0] == '.':
			return bad("has a component that begins with a dot")
		case strings.HasSuffix(part, ".lock"):
			return bad("has a component that ends in .lock")
		}
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return bad(fmt.Sprintf("holds %q", c))
		}
	}
	switch {
	case strings.Contains(name, ".."):
		return bad("holds two dots in a row")
	case strings.Contains(name, "@{"):
		return bad("holds @{")
	case strings.HasSuffix(name, "."):
		return bad("ends in a dot")
	}
	return nil
}
