package consolidate

import "github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"

// Outcome is what became of a pull request.
type Outcome string

// The outcomes. Every candidate has exactly one.
const (
	Merged     Outcome = "merged"
	Superseded Outcome = "superseded"
	LeftOut    Outcome = "left_out"
)

// Reason is why a pull request was superseded or left out. The set is closed;
// docs/reason-codes.md explains each, and a test holds the two together.
type Reason string

// The reasons.
const (
	// HigherVersion: another pull request brings a higher version of the same.
	HigherVersion Reason = "higher_version"
	// SameUpdate: another pull request brings the same version of the same.
	SameUpdate Reason = "same_update"
	// NotNeeded: another pull request takes the dependency out.
	NotNeeded Reason = "not_needed"
	// InBase: the base has this version already, or a higher one.
	InBase Reason = "in_base"

	// NotSelected: filtered out by ecosystem or size of the step.
	NotSelected Reason = "not_selected"
	// AlreadyMerged: the base contains the branch's head.
	AlreadyMerged Reason = "already_merged"
	// Empty: the branch changes nothing.
	Empty Reason = "empty"
	// PersonCommit: the branch has a commit that is not the bot's.
	PersonCommit Reason = "person_commit"
	// ConflictMarkers: a file holds the marks of an unfinished merge.
	ConflictMarkers Reason = "conflict_markers"
	// NotAFile: a symlink or submodule stands where a file should.
	NotAFile Reason = "not_a_file"
	// Unreadable: the head's dependency file cannot be read as what it is.
	Unreadable Reason = "unreadable"
	// Unsound: the head's own lockfile is broken, in a way that the base's is not.
	Unsound Reason = "unsound"
	// Incompatible: together with the others, a requirement would not be met.
	Incompatible Reason = "incompatible"
	// ValueConflict: two pull requests give one entry values that cannot be ordered.
	ValueConflict Reason = "value_conflict"
	// TextConflict: a file of no known format is changed by two in conflict.
	TextConflict Reason = "text_conflict"
	// DerivedConflict: a built or vendored file is changed by two, and half of
	// each would be wrong.
	DerivedConflict Reason = "derived_conflict"
	// NeedsTool: only the package manager can say what the merged file is.
	NeedsTool Reason = "needs_tool"
	// Gone: the base has deleted a file that the branch changes, or what it moves
	// has been dropped.
	Gone Reason = "gone"
)

// Evidence is what a reason rests on. Fields that do not apply are empty.
type Evidence struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Key is the entry of the file.
	Key string `json:"key,omitempty"`
	// Ours is the version in the result so far, Theirs the pull request's.
	Ours   string `json:"ours,omitempty"`
	Theirs string `json:"theirs,omitempty"`
	// Requirement is what NeededBy asks for.
	Requirement string `json:"requirement,omitempty"`
	NeededBy    string `json:"needed_by,omitempty"`
	// With are the branches that it collides with.
	With []string `json:"with,omitempty"`
}

// Update is one dependency that a pull request moves.
type Update struct {
	Ecosystem string `json:"ecosystem"`
	// Directory is where the manifest or lockfile is, from the root: "/web".
	Directory string `json:"directory"`
	Name      string `json:"name"`
	From      string `json:"from"` // empty: added
	To        string `json:"to"`   // empty: removed
}

// PullRequest is one candidate and what became of it.
type PullRequest struct {
	Branch       string    `json:"branch"`
	HeadSHA      string    `json:"head_sha"`
	Title        string    `json:"title"`
	Number       *int      `json:"number"`
	Outcome      Outcome   `json:"outcome"`
	ReasonCode   Reason    `json:"reason_code"`
	Reason       string    `json:"reason"`
	SupersededBy string    `json:"superseded_by"`
	Updates      []Update  `json:"updates"`
	Evidence     *Evidence `json:"evidence,omitempty"`
	// Commit is the commit of the result that holds it.
	Commit string `json:"commit,omitempty"`
}

// Method is how a file of the result came about.
type Method string

// The methods.
const (
	ByText     Method = "text"
	BySemantic Method = "semantic"
)

// File is a file that differs between base and result.
type File struct {
	Path string `json:"path"`
	// Format is the name of its format; "unknown" for files that merge as text.
	Format string `json:"format"`
	Method Method `json:"method"`
}

// Result is what a consolidation came to.
type Result struct {
	Base    string `json:"base"`
	BaseSHA string `json:"base_sha"`
	// ResultBranch and ResultSHA are empty when there is nothing to publish.
	ResultBranch string        `json:"result_branch"`
	ResultSHA    string        `json:"result_sha"`
	PullRequests []PullRequest `json:"pull_requests"`
	Files        []File        `json:"files"`
	Warnings     []string      `json:"warnings"`
	ElapsedMS    int64         `json:"elapsed_ms"`
}

// Count returns how many pull requests have an outcome.
func (r *Result) Count(o Outcome) int {
	n := 0
	for _, p := range r.PullRequests {
		if p.Outcome == o {
			n++
		}
	}
	return n
}

// A refusal is why one head cannot join the result.
type refusal struct {
	code     Reason
	text     string
	evidence Evidence
}

func (r *refusal) Error() string { return string(r.code) + ": " + r.text }

func evidenceOf(p lockfile.Problem) Evidence {
	return Evidence{File: p.Path, Line: p.Line, Key: p.Name, Ours: p.Have, Requirement: p.Req, NeededBy: p.By}
}
