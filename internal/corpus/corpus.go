// Package corpus reads the corpus of real dependency pull requests: moments in the
// life of public repositories at which a bot had several pull requests open at once.
// It clones a case with plain git, knows its pull requests, and plays the rival that
// every consolidation is measured against: git merge of one branch after the other.
//
// It serves tests and the corpus command; the product does not link it. The corpus
// is not part of the repository, so [Find] tells when it is not there.
package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EnvDir is the environment variable that names the corpus's folder.
const EnvDir = "BAILIFF_CORPUS"

// besideModule is where the corpus lies when EnvDir is unset, seen from the module's root.
const besideModule = "../shared/corpus/dependabot"

// ErrAbsent says that this machine has no corpus. Tests skip on it.
var ErrAbsent = errors.New("no corpus here: set " + EnvDir + " to the folder with the *.case.json files")

// A Case is one repository at one moment.
type Case struct {
	ID            string        `json:"id"`
	Repo          string        `json:"repo"` // owner/name
	DefaultBranch string        `json:"default_branch"`
	Ecosystems    []string      `json:"ecosystems"`
	Bundle        string        `json:"bundle"`      // file name beside the case's own
	MainCommit    string        `json:"main_commit"` // in the bundle
	PullRequests  []PullRequest `json:"prs"`         // by number
	Human         *Human        `json:"human"`       // nil: nobody consolidated by hand

	dir string
}

// A PullRequest is one branch of a case: one commit on its merge-base with main.
type PullRequest struct {
	Number     int      `json:"number"`
	Title      string   `json:"title"`
	Branch     string   `json:"branch"`
	Bot        string   `json:"bot"`
	Commit     string   `json:"commit"`            // in the bundle
	MergeBase  string   `json:"merge_base_commit"` // in the bundle
	Files      []string `json:"files"`             // that differ from the merge-base
	Ecosystems []string `json:"ecosystems"`
}

// A Human is the consolidation that a maintainer made by hand.
type Human struct {
	Ref    string `json:"bundle_ref"`
	Kind   string `json:"kind"` // explicit, or coincidental
	Covers []int  `json:"covers"`
}

// Find gives the corpus's folder: what EnvDir names, or the place beside the module
// that the working directory is in. The error is [ErrAbsent] when neither is there.
func Find() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return "", fmt.Errorf("%w (%s: %w)", ErrAbsent, EnvDir, err)
		}
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, filepath.FromSlash(besideModule))
	if _, err := os.Stat(dir); err != nil {
		return "", ErrAbsent
	}
	return dir, nil
}

// moduleRoot is the folder of the go.mod that the working directory is under.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("%w (the working directory is in no module)", ErrAbsent)
		}
		dir = up
	}
}

// Load reads all cases of a folder, by ID.
func Load(dir string) ([]Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.case.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w (%s has none)", ErrAbsent, dir)
	}
	cases := make([]Case, 0, len(names))
	for _, name := range names {
		c, err := read(name)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return cases, nil
}

func read(name string) (Case, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return Case{}, err
	}
	c := Case{dir: filepath.Dir(name)}
	if err := json.Unmarshal(data, &c); err != nil {
		return Case{}, fmt.Errorf("%s: %w", name, err)
	}
	if c.ID == "" || c.Bundle == "" || len(c.PullRequests) == 0 {
		return Case{}, fmt.Errorf("%s: not a case: id, bundle and prs are required", name)
	}
	slices.SortFunc(c.PullRequests, func(a, b PullRequest) int { return a.Number - b.Number })
	return c, nil
}
