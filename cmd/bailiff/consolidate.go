package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// Exit codes of consolidate, beside 0 for a whole result (or nothing to do)
// and 1 for a refusal.
const exitPartly = 3 // something was left out

type consolidateCommand struct {
	Dir       string   `arg:"" optional:"" default:"." help:"A folder of the clone."`
	Base      string   `help:"Branch to build on. Default: the remote's default branch as last fetched; without a remote, the current one." placeholder:"BRANCH"`
	Branches  []string `help:"Branches to consolidate, * stands for anything (repeatable). Default: those of known dependency bots." placeholder:"GLOB" sep:"none"`
	Bot       []string `help:"A further author, by name or address, whose commits count as a bot's (repeatable)." placeholder:"AUTHOR" sep:"none"`
	Into      string   `help:"Branch for the result." default:"${into}" placeholder:"BRANCH"`
	Ecosystem []string `help:"Only these ecosystems (repeatable): ${ecosystems}." placeholder:"NAME"`
	MaxBump   string   `help:"Leave out what goes further: major, minor or patch." placeholder:"SIZE"`
	DryRun    bool     `help:"Say what would come out, and write nothing."`
	JSON      bool     `name:"json" help:"Print one JSON object instead of the table."`
	Quiet     bool     `short:"q" help:"Print nothing; the exit code tells."`
}

func (c *consolidateCommand) Run(p *program) error {
	o := consolidate.Options{
		Base: c.Base, Branches: c.Branches, Bots: c.Bot, Into: c.Into,
		Ecosystems: c.Ecosystem, MaxBump: consolidate.Bump(c.MaxBump), DryRun: c.DryRun,
	}
	clear := func() {}
	if p.terminal && !c.Quiet && !c.JSON {
		o.Progress, clear = progressLine(p.stderr)
	}
	res, err := consolidate.Run(p.ctx, c.Dir, o)
	clear()
	if err != nil {
		if p.ctx.Err() != nil {
			return errors.New("interrupted; nothing was changed")
		}
		return err
	}
	switch {
	case c.JSON:
		enc := json.NewEncoder(p.stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(res); err != nil {
			return err
		}
	case !c.Quiet:
		c.print(p.stdout, res)
	}
	if res.Count(consolidate.LeftOut) > 0 {
		return exit(exitPartly)
	}
	return nil
}

// progressLine writes one line over and over; the second function removes it.
func progressLine(w io.Writer) (show func(done, total int, what string), clear func()) {
	return func(done, total int, what string) {
			fmt.Fprintf(w, "\r\x1b[K%d/%d %s", done, total, cut(printable(what), 60))
		}, func() {
			fmt.Fprint(w, "\r\x1b[K")
		}
}

func (c *consolidateCommand) print(w io.Writer, r *consolidate.Result) {
	if len(r.PullRequests) == 0 && len(c.Branches) > 0 {
		fmt.Fprintf(w, "Nothing to do: the clone has no branch %s; fetch first, or give --branches another name.\n", printable(strings.Join(c.Branches, " or ")))
		return
	}
	if len(r.PullRequests) == 0 {
		fmt.Fprintf(w, "Nothing to do: no branch of a dependency bot is open against %s.\n", printable(r.Base))
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BRANCH\tWHAT\tFROM\tTO\tOUTCOME")
	for _, pr := range r.PullRequests {
		branch, outcome := printable(pr.Branch), outcomeOf(pr)
		if len(pr.Updates) == 0 {
			fmt.Fprintf(t, "%s\t%s\t\t\t%s\n", branch, cut(printable(pr.Title), 40), outcome)
		}
		for i, u := range pr.Updates {
			if i == 1 {
				branch, outcome = "", ""
			}
			if i == 8 && len(pr.Updates) > 9 {
				fmt.Fprintf(t, "\t... and %d more\t\t\t\n", len(pr.Updates)-i)
				break
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", branch, cut(printable(u.Name), 40), cut(printable(u.From), 20), cut(printable(u.To), 20), outcome)
		}
	}
	t.Flush()
	for _, pr := range r.PullRequests {
		if pr.Outcome == consolidate.LeftOut {
			fmt.Fprintf(w, "\nLeft out %s (%s):\n  %s\n", printable(pr.Branch), pr.ReasonCode, printable(pr.Reason))
		}
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintln(w)
	}
	for _, m := range r.Warnings {
		fmt.Fprintln(w, "Warning:", printable(m))
	}
	fmt.Fprintf(w, "\n%d merged, %d superseded, %d left out, in %v.\n",
		r.Count(consolidate.Merged), r.Count(consolidate.Superseded), r.Count(consolidate.LeftOut), time.Duration(r.ElapsedMS)*time.Millisecond)
	switch {
	case r.ResultSHA == "":
		fmt.Fprintf(w, "Nothing to publish: %s has all of it, or nothing could be merged.\n", printable(r.Base))
	case c.DryRun:
		fmt.Fprintf(w, "Dry run: nothing was written. The result would be %s, as branch %s.\n", r.ResultSHA[:12], printable(r.ResultBranch))
	default:
		fmt.Fprintf(w, "The result is the branch %s (%s), on %s (%s).\n", printable(r.ResultBranch), r.ResultSHA[:12], printable(r.Base), r.BaseSHA[:12])
	}
}

func outcomeOf(pr consolidate.PullRequest) string {
	switch pr.Outcome {
	case consolidate.LeftOut:
		return "left out: " + string(pr.ReasonCode)
	case consolidate.Superseded:
		if pr.SupersededBy == "" {
			return "superseded: " + string(pr.ReasonCode)
		}
		return "superseded by " + printable(pr.SupersededBy)
	}
	return string(pr.Outcome)
}

// printable makes text from a repository fit for a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// ecosystems are the names that --ecosystem takes.
func ecosystems() []string {
	var out []string
	for _, f := range consolidate.Formats() {
		if !slices.Contains(out, f.Ecosystem) {
			out = append(out, f.Ecosystem)
		}
	}
	return out
}
