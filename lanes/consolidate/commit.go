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
func (p *plan) write(res *Result, base git.ID) error {
	commits := map[*head]string{}
	if len(p.joined) > 0 {
		ids, err := p.importCommits(base)
		if err != nil {
			return err
		}
		for i, g := range p.joined {
			for _, h := range g.heads {
				commits[h] = string(ids[i])
			}
		}
		res.ResultSHA = string(ids[len(ids)-1])
	}
	res.PullRequests = make([]PullRequest, 0, len(p.heads))
	for _, h := range p.heads {
		res.PullRequests = append(res.PullRequests, p.report(h, commits[h]))
	}
	res.Files = []File{}
	for path, f := range p.tree.Changed() {
		if old := p.base.File(path); f == nil && old == nil {
			continue
		}
		out := File{Path: path, Format: "unknown", Method: ByText}
		if f != nil && f.Doc != nil {
			out.Format, out.Method = f.Doc.Format.Name, BySemantic
		}
		res.Files = append(res.Files, out)
	}
	slices.SortFunc(res.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// importCommits writes one commit a group, each on the one before.
func (p *plan) importCommits(base git.ID) ([]git.ID, error) {
	im, err := p.scratch.Import(p.ctx)
	if err != nil {
		return nil, err
	}
	defer im.Close()
	changes := make([][]git.FileChange, len(p.joined))
	for _, path := range p.changedPaths() {
		// The versions of one file in a row, so that git stores them as differences.
		for i, g := range p.joined {
			before, after := g.before.File(path), g.after.Changed()[path]
			if _, touched := g.after.Changed()[path]; !touched || before == after {
				continue
			}
			c := git.FileChange{Path: path, Delete: after == nil}
			switch {
			case after == nil && before == nil:
				continue
			case after == nil:
			case after.ID != "":
				c.Mode, c.ID = after.Mode, after.ID
			default:
				text, err := g.after.Content(path)
				if err != nil {
					return nil, err
				}
				c.Mode = after.Mode
				if c.Blob, err = im.Blob(text); err != nil {
					return nil, err
				}
			}
			changes[i] = append(changes[i], c)
		}
	}
	parent, err := p.scratch.Commit(p.ctx, base)
	if err != nil {
		return nil, err
	}
	when := parent.Committer.When
	marks := make([]git.Mark, len(p.joined))
	for i, g := range p.joined {
		spec := git.CommitSpec{Author: g.heads[0].tip.Author, Committer: committer, Message: message(g.heads), Changes: changes[i]}
		if len(g.heads) == 1 {
			spec.Encoding = g.heads[0].tip.Encoding // the message is its own, byte for byte
		}
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

func (p *plan) changedPaths() []string {
	seen := map[string]bool{}
	var out []string
	for _, g := range p.joined {
		for path := range g.after.Changed() {
			if !seen[path] {
				seen[path] = true
				out = append(out, path)
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
		if body = strings.ToValidUTF8(strings.TrimSpace(body), "\uFFFD"); body != "" {
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
func (p *plan) report(h *head, commit string) PullRequest {
	pr := PullRequest{
		Branch: strings.ToValidUTF8(h.branch, "\uFFFD"), HeadSHA: string(h.id), Title: h.title(), Number: h.number,
		Outcome: Merged, Updates: []Update{}, Commit: commit,
	}
	for _, u := range h.updates {
		pr.Updates = append(pr.Updates, u.Update)
	}
	if r := p.refused[h]; r != nil {
		pr.Outcome, pr.ReasonCode, pr.Reason, pr.Evidence = LeftOut, r.code, r.text, &r.evidence
		return pr
	}
	c, ok := p.covered[h]
	if !ok {
		return pr
	}
	pr.Outcome, pr.ReasonCode = Superseded, c.why
	pr.Reason = map[Reason]string{
		HigherVersion: "another pull request brings a higher version",
		SameUpdate:    "another pull request brings the same",
		NotNeeded:     "with another pull request nothing needs it any more",
		InBase:        "the base has it, or higher, already",
	}[c.why]
	if c.by != nil {
		pr.SupersededBy = strings.ToValidUTF8(c.by.branch, "\uFFFD")
	}
	return pr
}
