package consolidate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// committer commits every result, so that Bailiff knows its own commits again.
var committer = git.Signature{Name: "bailiff[bot]", Email: "bailiff[bot]@users.noreply.github.com"}

// write makes the commits, and fills in the result.
func (e *engine) write(res *Result, final *tree, base git.ID) error {
	commits := map[*head]string{}
	if len(e.joined) > 0 {
		ids, err := e.importCommits(base)
		if err != nil {
			return err
		}
		for i, g := range e.joined {
			for _, h := range g.heads {
				commits[h] = string(ids[i])
			}
		}
		res.ResultSHA = string(ids[len(ids)-1])
	}
	res.PullRequests = make([]PullRequest, 0, len(e.heads))
	for _, h := range e.heads {
		res.PullRequests = append(res.PullRequests, h.report(commits[h]))
	}
	res.Files = []File{}
	for p, f := range final.files {
		if old := e.base.file(p); f == nil && old == nil {
			continue
		}
		out := File{Path: p, Format: "unknown", Method: ByText}
		if f != nil && f.doc != nil {
			out.Format = f.doc.Format.Name
		}
		if f != nil && f.how != "" {
			out.Method = f.how
		}
		res.Files = append(res.Files, out)
	}
	slices.SortFunc(res.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// importCommits writes one commit a group, each on the one before.
func (e *engine) importCommits(base git.ID) ([]git.ID, error) {
	im, err := e.scratch.Import(e.ctx)
	if err != nil {
		return nil, err
	}
	defer im.Close() //nolint:errcheck // closed below, where its error counts
	changes := make([][]git.FileChange, len(e.joined))
	for _, p := range e.changedPaths() {
		// The versions of one file in a row, so that git stores them as differences.
		for i, g := range e.joined {
			before, after := g.before.file(p), g.after.files[p]
			if _, touched := g.after.files[p]; !touched || before == after {
				continue
			}
			c := git.FileChange{Path: p, Delete: after == nil}
			switch {
			case after == nil && before == nil:
				continue
			case after == nil:
			case after.id != "":
				c.Mode, c.ID = after.mode, after.id
			default:
				text, err := g.after.content(p)
				if err != nil {
					return nil, err
				}
				c.Mode = after.mode
				if c.Blob, err = im.Blob(text); err != nil {
					return nil, err
				}
			}
			changes[i] = append(changes[i], c)
		}
	}
	parent, err := e.scratch.Commit(e.ctx, base)
	if err != nil {
		return nil, err
	}
	when := parent.Committer.When
	marks := make([]git.Mark, len(e.joined))
	for i, g := range e.joined {
		spec := git.CommitSpec{Author: g.heads[0].tip.Author, Committer: committer, Message: message(g.heads), Encoding: g.heads[0].tip.Encoding, Changes: changes[i]}
		if i == 0 {
			spec.Parent = base
		} else {
			spec.ParentMark = marks[i-1]
		}
		// No clock: the date is that of the youngest thing that went in.
		for _, h := range g.heads {
			if h.tip.Author.When.Unix > when.Unix {
				when = git.Date{Unix: h.tip.Author.When.Unix, Zone: "+0000"}
			}
		}
		spec.Committer.When = git.Date{Unix: when.Unix, Zone: "+0000"}
		if marks[i], err = im.Commit(spec); err != nil {
			return nil, err
		}
	}
	byMark, err := im.Close()
	if err != nil {
		return nil, err
	}
	ids := make([]git.ID, len(marks))
	for i, m := range marks {
		ids[i] = byMark[m]
	}
	return ids, nil
}

func (e *engine) changedPaths() []string {
	seen := map[string]bool{}
	var out []string
	for _, g := range e.joined {
		for p := range g.after.files {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return out
}

// message is the bot's own; of several heads that only work together, a
// subject over theirs.
func message(heads []*head) string {
	if len(heads) == 1 {
		return heads[0].tip.Message
	}
	var names []string
	for _, h := range heads {
		for _, u := range h.updates {
			if !slices.Contains(names, u.Name) {
				names = append(names, u.Name)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Bump %s together\n\nThese updates only work together:\n\n", join(names))
	for _, h := range heads {
		fmt.Fprintf(&b, "- %s\n", h.title())
	}
	for _, h := range heads {
		_, body, _ := strings.Cut(h.tip.Message, "\n")
		if body = strings.TrimSpace(body); body != "" {
			fmt.Fprintf(&b, "\n%s\n", body)
		}
	}
	var co []string
	for _, h := range heads[1:] {
		a := h.tip.Author
		if line := fmt.Sprintf("Co-authored-by: %s <%s>\n", a.Name, a.Email); a.Email != heads[0].tip.Author.Email && !slices.Contains(co, line) {
			co = append(co, line)
		}
	}
	if len(co) > 0 {
		b.WriteString("\n" + strings.Join(co, ""))
	}
	return b.String()
}

func join(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "dependencies"
	case n == 1:
		return names[0]
	case n > 4:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), n-3)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// report is what the user is told of a head.
func (h *head) report(commit string) PullRequest {
	pr := PullRequest{
		Branch: strings.ToValidUTF8(h.branch, "\uFFFD"), HeadSHA: string(h.id), Title: h.title(), Number: h.number,
		Updates: []Update{}, Commit: commit,
	}
	for _, u := range h.updates {
		pr.Updates = append(pr.Updates, u.Update)
	}
	switch {
	case h.refused != nil:
		pr.Outcome, pr.ReasonCode, pr.Reason = LeftOut, h.refused.code, h.refused.text
		pr.Evidence = &h.refused.evidence
	case h.by != nil:
		pr.Outcome, pr.ReasonCode, pr.SupersededBy = Superseded, h.why, h.by.branch
		pr.Reason = "another pull request brings the same"
		if h.why == HigherVersion {
			pr.Reason = "another pull request brings a higher version"
		}
	case h.noChange:
		pr.Outcome, pr.ReasonCode, pr.Reason = Superseded, InBase, "the base has it, or higher, already"
	default:
		pr.Outcome = Merged
	}
	return pr
}
