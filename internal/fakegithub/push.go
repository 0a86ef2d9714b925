package fakegithub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// setRef moves a reference on disk and in memory, with all that follows from it.
func (s *Server) setRef(r *repository, ref string, to git.ID, by *account) error {
	old := r.refs[ref]
	if old == to {
		return nil
	}
	if err := r.git.SetRef(s.ctx, ref, to, old); err != nil {
		return err
	}
	return s.pushed(r, ref, old, to, by)
}

// pushed draws the consequences of a reference that moved on disk: events, check
// suites, pull requests that follow their head or are found merged.
func (s *Server) pushed(r *repository, ref string, old, to git.ID, by *account) error {
	forced := false
	if !old.IsZero() && !to.IsZero() {
		ahead, err := r.git.Contains(s.ctx, to, old)
		if err != nil {
			return err
		}
		forced = !ahead
	}
	if to.IsZero() {
		delete(r.refs, ref)
	} else {
		r.refs[ref] = to
	}
	r.pushed, r.updated = s.now(), s.now()
	s.emitPush(r, ref, old, to, forced, by)
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return nil
	}
	if !to.IsZero() {
		s.requestSuites(r, branch, old, to, by)
	}
	for _, base := range s.repositories {
		for _, i := range base.sortedIssues() {
			if i.pull == nil || i.closed {
				continue
			}
			if i.pull.head.repository == r && i.pull.head.ref == branch {
				if err := s.headMoved(base, i, old, to, by); err != nil {
					return err
				}
			}
			if base == r && i.pull.base == branch && !i.closed {
				if err := s.baseMoved(base, i, old, to, by); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *repository) sortedIssues() []*issue {
	list := make([]*issue, 0, len(r.issues))
	for _, i := range r.issues {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b *issue) int { return a.number - b.number })
	return list
}

// headMoved lets a pull request follow its head, or closes it when that is gone.
func (s *Server) headMoved(base *repository, i *issue, old, to git.ID, by *account) error {
	if to.IsZero() {
		return s.setClosed(base, i, true, by)
	}
	i.pull.head.sha, i.updated = to, s.now()
	if err := s.keepHead(base, i); err != nil {
		return err
	}
	s.emitPull(base, i, "synchronize", by, object{"before": old, "after": to})
	return nil
}

// baseMoved marks a pull request merged whose head the base has got otherwise.
func (s *Server) baseMoved(r *repository, i *issue, old, to git.ID, by *account) error {
	if to.IsZero() {
		i.pull.baseSHA = old
		return s.setClosed(r, i, true, by)
	}
	in, err := r.git.Contains(s.ctx, to, i.pull.head.sha)
	if err != nil || !in {
		return err
	}
	i.pull.baseSHA = old
	return s.merged(r, i, to, by)
}

// keepHead makes the head's commits reachable in the base's repository, under
// refs/pull/N/head.
func (s *Server) keepHead(base *repository, i *issue) error {
	if from := i.pull.head.repository; from != nil && from != base {
		if err := base.git.Fetch(s.ctx, from.git.Dir, "+refs/heads/"+i.pull.head.ref+":"+pullRef(i)); err != nil {
			return err
		}
		base.refs[pullRef(i)] = i.pull.head.sha
		return nil
	}
	if err := base.git.SetRef(s.ctx, pullRef(i), i.pull.head.sha, base.refs[pullRef(i)]); err != nil {
		return err
	}
	base.refs[pullRef(i)] = i.pull.head.sha
	return nil
}

func pullRef(i *issue) string { return fmt.Sprintf("refs/pull/%d/head", i.number) }

// workflows is the folder that takes a permission of its own to change.
const workflows = ".github/workflows"

// workflowRefusal says why a push or commit by an App that may not touch workflows is
// refused; empty if it is not.
func (s *Server) workflowRefusal(r *repository, t *token, ref string, old, to git.ID) (string, error) {
	if t == nil || t.installation == nil || to.IsZero() || t.permissions.has("write", "workflows") {
		return "", nil
	}
	from := old
	if from.IsZero() {
		// A new branch may have what the default branch has.
		if base := r.branch(r.defaultBranch); base != "" {
			cmp, err := r.git.Compare(s.ctx, base, to)
			if err != nil {
				return "", err
			}
			from = cmp.MergeBase
		}
	}
	touched, err := r.git.Touched(s.ctx, from, to, workflows)
	if err != nil || !touched {
		return "", err
	}
	return fmt.Sprintf("refusing to allow a GitHub App to create or update workflow files of `%s` without `workflows` permission", workflows), nil
}

// protectionRefusal says why a branch's protection refuses that it is moved by other
// means than a merge; empty if it does not.
func (s *Server) protectionRefusal(r *repository, ref string, old, to git.ID, by *account) (string, error) {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	p := r.protections[branch]
	if !ok || p == nil || old.IsZero() {
		return "", nil
	}
	exempt := !p.EnforceAdmins && by != nil && s.role(r, by) == "admin"
	if to.IsZero() {
		if p.AllowDeletions {
			return "", nil
		}
		return "Cannot delete this branch", nil
	}
	ahead, err := r.git.Contains(s.ctx, to, old)
	if err != nil {
		return "", err
	}
	switch {
	case !ahead && !p.AllowForcePushes:
		return "Cannot force-push to this branch", nil
	case exempt:
		return "", nil
	case p.PullRequestsOnly || p.RequiredReviews > 0:
		return "Changes must be made through a pull request.", nil
	}
	if missing := s.missingChecks(r, p, to); len(missing) > 0 {
		return requiredCheck(missing), nil
	}
	return s.signatureRefusal(r, p, old, to)
}

func requiredCheck(missing []string) string {
	if len(missing) == 1 {
		return fmt.Sprintf("Required status check \"%s\" is expected.", missing[0])
	}
	return fmt.Sprintf("%d of %d required status checks are expected.", len(missing), len(missing))
}

// signatureRefusal finds unsigned commits on a branch that wants them signed. Any
// signature will do when it was pushed: there are no people's keys to check it with.
func (s *Server) signatureRefusal(r *repository, p *Protection, old, to git.ID) (string, error) {
	if !p.RequiredSignatures {
		return "", nil
	}
	cmp, err := r.git.Compare(s.ctx, old, to)
	if err != nil {
		return "", err
	}
	for _, c := range cmp.Ahead {
		signed, err := r.git.Signed(s.ctx, c.ID)
		if err != nil {
			return "", err
		}
		if !signed {
			return "Commits must have verified signatures.", nil
		}
	}
	return "", nil
}

// missingChecks are the required checks that have not passed on a commit. Neutral and
// skipped pass.
func (s *Server) missingChecks(r *repository, p *Protection, sha git.ID) []string {
	var missing []string
	for _, name := range p.RequiredChecks {
		if !r.passed(name, sha) {
			missing = append(missing, name)
		}
	}
	return missing
}

func (r *repository) passed(name string, sha git.ID) bool {
	for _, run := range r.latestChecks(sha) {
		if run.name == name {
			return passing(run.conclusion)
		}
	}
	for _, st := range r.latestStatuses(sha) {
		if st.context == name {
			return st.state == "success"
		}
	}
	return false
}

func passing(conclusion string) bool {
	return conclusion == "success" || conclusion == "neutral" || conclusion == "skipped"
}
