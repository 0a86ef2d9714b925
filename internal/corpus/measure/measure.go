// Package measure runs the consolidation and its rival, plain git merge of one branch
// after the other, over cases of the corpus, and says what came of each: how much was
// merged, whether package managers accept it, and how long it took. It drives the built
// program through its JSON, as anybody would.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/opinion"
)

// A Row is what came of one case.
type Row struct {
	Case         string   `json:"case"`
	Ecosystems   []string `json:"ecosystems"`
	PullRequests int      `json:"pull_requests"`
	Bailiff      Side     `json:"bailiff"`
	Git          Side     `json:"git"`
	// Fates has one element a pull request, by number.
	Fates []Fate `json:"fates"`
	// AsText are files of the result that were merged as text.
	AsText []string `json:"as_text"`
	// Warnings are the program's own.
	Warnings []string `json:"warnings"`
}

// A Side is what one of the two rivals made of a case.
type Side struct {
	Merged     int `json:"merged"`
	Superseded int `json:"superseded"`
	LeftOut    int `json:"left_out"`
	// Sound is nil when nobody could tell.
	Sound    *bool    `json:"sound"`
	Problems []string `json:"problems"` // why not
	Unable   []string `json:"unable"`   // who could not tell, and why
	// Milliseconds is wall time: of the whole program, of all merges.
	Milliseconds int64  `json:"ms"`
	Error        string `json:"error,omitempty"` // it came to nothing
}

// A Fate is what became of one pull request.
type Fate struct {
	Number     int      `json:"number"`
	Branch     string   `json:"branch"`
	Ecosystems []string `json:"ecosystems"`
	Formats    []string `json:"formats"`
	// Adapted: all its files are of formats that are merged by meaning.
	Adapted bool   `json:"adapted"`
	Outcome string `json:"outcome"` // merged, superseded, left_out, or unseen
	Code    string `json:"reason_code"`
	Reason  string `json:"reason"`
	// Stale are lines of manifests that the pull request replaces and that still
	// stand in a result which claims to have it.
	Stale     []string `json:"stale,omitempty"`
	GitMerged bool     `json:"git_merged"`
}

// Done tells whether the pull request's changes are in the result, or better ones.
func (f Fate) Done() bool { return f.Outcome == merged || f.Outcome == superseded }

// The outcomes of the program's JSON, and one more for a branch that is not in it.
const (
	merged     = "merged"
	superseded = "superseded"
	leftOut    = "left_out"
	unseen     = "unseen"
)

// A Runner measures cases.
type Runner struct {
	// Bailiff is the program with what comes before its subcommand.
	Bailiff []string
	// Judge gives second opinions. Nil: nobody does.
	Judge *opinion.Judge
	// Clock times the rivals.
	Clock func() time.Time
}

// answer is what is read of the program's JSON.
type answer struct {
	ResultSHA    string `json:"result_sha"`
	PullRequests []struct {
		Branch     string `json:"branch"`
		HeadSHA    string `json:"head_sha"`
		Outcome    string `json:"outcome"`
		ReasonCode string `json:"reason_code"`
		Reason     string `json:"reason"`
	} `json:"pull_requests"`
	Files []struct {
		Path   string `json:"path"`
		Method string `json:"method"`
	} `json:"files"`
	Warnings []string `json:"warnings"`
}

// Run measures one case in a temporary folder. The error is of the measuring; what
// goes wrong with the program is in the row.
func (r *Runner) Run(ctx context.Context, c corpus.Case) (row Row, err error) {
	scratch, err := os.MkdirTemp("", "bailiff-corpus-")
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	row = Row{Case: c.ID, Ecosystems: c.Ecosystems, PullRequests: len(c.PullRequests)}

	ours := filepath.Join(scratch, "bailiff")
	if err := c.Clone(ctx, ours); err != nil {
		return Row{}, err
	}
	result, err := r.consolidate(ctx, c, ours, &row)
	if err != nil {
		return Row{}, err
	}
	theirs := filepath.Join(scratch, "git")
	if err := c.Clone(ctx, theirs); err != nil {
		return Row{}, err
	}
	rival, err := c.MergeInTurn(ctx, theirs, r.Clock)
	if err != nil {
		return Row{}, err
	}
	row.Git = Side{Merged: len(rival.Merged), LeftOut: len(rival.Conflicted), Milliseconds: rival.Elapsed.Milliseconds()}
	for i := range row.Fates {
		row.Fates[i].GitMerged = slices.Contains(rival.Merged, row.Fates[i].Number)
	}

	t := trees{scratch: scratch, judge: r.Judge}
	if err := t.write(ctx, c, ours); err != nil {
		return Row{}, err
	}
	if result != "" {
		var in []int
		for _, fate := range row.Fates {
			if fate.Done() {
				in = append(in, fate.Number)
			}
		}
		if err := t.judgeSide(ctx, ours, result, in, &row.Bailiff); err != nil {
			return Row{}, err
		}
		if err := findStale(ctx, c, ours, result, row.Fates); err != nil {
			return Row{}, err
		}
	}
	return row, t.judgeSide(ctx, theirs, rival.Commit, rival.Merged, &row.Git)
}

// consolidate runs the program in a clone and gives the commit of its result, which is
// empty when there is none.
func (r *Runner) consolidate(ctx context.Context, c corpus.Case, clone string, row *Row) (string, error) {
	for _, pr := range c.PullRequests {
		row.Fates = append(row.Fates, Fate{
			Number: pr.Number, Branch: pr.Branch, Ecosystems: pr.Ecosystems, Formats: pr.Formats(), Adapted: pr.Adapted(), Outcome: unseen,
		})
	}
	args := append(slices.Clone(r.Bailiff[1:]), "consolidate", "--json", clone)
	cmd := exec.CommandContext(ctx, r.Bailiff[0], args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := r.Clock()
	err := cmd.Run()
	row.Bailiff.Milliseconds = r.Clock().Sub(start).Milliseconds()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	var got answer
	// 3: a usable result with something left out.
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		row.Bailiff.Error = fmt.Sprintf("exit %d: %s", code, strings.TrimSpace(said.String()))
	} else if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		row.Bailiff.Error = fmt.Sprintf("its JSON: %v", err)
	}
	row.Warnings = got.Warnings
	for _, file := range got.Files {
		if file.Method == "text" {
			row.AsText = append(row.AsText, file.Path)
		}
	}
	for i, pr := range c.PullRequests {
		fate := &row.Fates[i]
		for _, said := range got.PullRequests {
			if said.HeadSHA == pr.Commit {
				fate.Outcome, fate.Code, fate.Reason = said.Outcome, said.ReasonCode, said.Reason
			}
		}
		switch fate.Outcome {
		case merged:
			row.Bailiff.Merged++
		case superseded:
			row.Bailiff.Superseded++
		default:
			row.Bailiff.LeftOut++
		}
	}
	return got.ResultSHA, nil
}
