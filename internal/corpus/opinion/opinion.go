// Package opinion asks package managers what they think of the files of a project: a
// second opinion beside the engine's own validation, from programs that can really
// refuse. It serves tests and the corpus command; the product does not link it.
//
// The files of a project are often all there is (the corpus has no sources), so each
// tool is asked for no more than it can tell from them: up to the step at which it
// would fetch packages where that is enough to refuse a broken lockfile, and further
// where it is not. No script of a project and none of its plugins is run.
//
// The yardstick is the base and each head: [Judge.Hold] holds against a result only
// what the tool does not say of one of them too.
package opinion

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A Verdict is what a tool made of a project's files. The zero Verdict is Unable.
type Verdict int

const (
	// Unable means that the tool could not tell; [Opinion.Why] says why.
	Unable Verdict = iota
	// Accepted means that the tool found nothing wrong.
	Accepted
	// Refused means that the tool would not work with these files.
	Refused
)

func (v Verdict) String() string {
	return [...]string{"cannot judge", "accepted", "refused"}[v]
}

// An Opinion is one tool's word on one project.
type Opinion struct {
	Tool     string   `json:"tool"` // with its version
	Verdict  Verdict  `json:"verdict"`
	Problems []string `json:"problems,omitempty"` // Refused: each thing that is wrong, in the tool's words
	Why      string   `json:"why,omitempty"`      // Unable: why
	Output   string   `json:"output,omitempty"`   // the end of what the tool said
}

// A Project is one lockfile (or go.mod) in a tree, with the tool that reads it.
type Project struct {
	Dir     string // slash-separated, "." for the root
	Checker string // name of the tool in [Checkers]
}

// A Subject is a tree to be judged.
type Subject struct {
	Tree string // the folder that its files are in
	// World names the folders of the trees that it was made from: the base and each
	// head. What no registry can be asked about a package is taken from there.
	World []string
}

// A checker knows one tool.
type checker struct {
	name string
	lock string // a folder with a file of this name may be a project
	// claims tells whether this tool and no other reads that lockfile. Nil: it does.
	claims func(lock []byte) bool
	// modes are the ways to ask, the strictest first. A result that fails one only for
	// what its base or a head has already is asked in the next, so that their trouble
	// does not hide its own.
	modes []mode
	// world: the opinion depends on Subject.World.
	world bool
}

// ask judges the project in dir, which the tool may change.
type ask func(ctx context.Context, j *Judge, dir string, world []string) Opinion

type mode struct {
	name string
	ask  ask
}

var checkers = []checker{
	{name: "npm", lock: "package-lock.json", modes: []mode{
		{"strict", askNPM()},
		// The base's own peer dependencies are at odds: leave them out of it.
		{"without peers", askNPM("--legacy-peer-deps")},
	}},
	{name: "yarn 1", lock: "yarn.lock", claims: isYarn1, modes: []mode{{"frozen", askYarn}}},
	{name: "yarn berry", lock: "yarn.lock", claims: isBerry, modes: []mode{{"immutable", askBerry}}},
	{name: "pnpm", lock: "pnpm-lock.yaml", modes: []mode{{"frozen", askPNPM}}},
	{name: "go", lock: "go.mod", modes: []mode{{"readonly", askGo}}},
	{name: "cargo", lock: "Cargo.lock", world: true, modes: []mode{{"locked", askCargo}}},
	{name: "provenance", lock: "", world: true, modes: []mode{{"checksums", askProvenance}}},
}

// Checkers lists the names of the tools, the last of which is no package manager but
// the rule that every checksum of a result comes, with its package, from one of the
// trees that it was made from.
func Checkers() []string {
	var names []string
	for _, c := range checkers {
		names = append(names, c.name)
	}
	return names
}

// Projects finds what there is to judge in a tree. The whole of it is one project,
// named ".", for provenance.
func Projects(tree string) ([]Project, error) {
	var found []Project
	err := filepath.WalkDir(tree, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		for _, c := range checkers {
			if c.lock != entry.Name() {
				continue
			}
			if c.claims != nil {
				lock, err := readFile(name)
				if err != nil {
					return err
				}
				if !c.claims(lock) {
					continue
				}
			}
			dir, err := filepath.Rel(tree, filepath.Dir(name))
			if err != nil {
				return err
			}
			found = append(found, Project{Dir: filepath.ToSlash(dir), Checker: c.name})
		}
		return nil
	})
	found = append(found, Project{Dir: ".", Checker: "provenance"})
	return found, err
}

// Ask asks the project's tool in its strictest mode.
func (j *Judge) Ask(ctx context.Context, p Project, s Subject) Opinion {
	c := find(p.Checker)
	if c == nil {
		return Opinion{Tool: p.Checker, Why: "no such tool"}
	}
	return j.ask(ctx, c, c.modes[0], p, s)
}

// Hold asks the project's tool about a result, and gives what is to be held against
// it: its problems less those that the base or a head has already. The heads are asked
// only where the result and the base leave something to explain.
func (j *Judge) Hold(ctx context.Context, p Project, base Subject, heads []Subject, result Subject) Opinion {
	c := find(p.Checker)
	if c == nil {
		return Opinion{Tool: p.Checker, Why: "no such tool"}
	}
	var held Opinion
	for _, m := range c.modes {
		of := j.ask(ctx, c, m, p, base)
		held = j.ask(ctx, c, m, p, result)
		if held.Verdict == Accepted {
			return held
		}
		held = against(of, held)
		for _, head := range heads {
			if held.Verdict != Refused {
				break
			}
			if of := j.ask(ctx, c, m, p, head); of.Verdict == Refused {
				held = against(of, held)
			}
		}
		if held.Verdict != Accepted {
			return held
		}
		// The tool stopped at somebody else's problem. Where it can be asked so that
		// it goes on past that, it is.
	}
	return held
}

func find(name string) *checker {
	i := slices.IndexFunc(checkers, func(c checker) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &checkers[i]
}

// against takes from the result's problems those of the yardstick.
func against(base, result Opinion) Opinion {
	if result.Verdict != Refused || base.Verdict == Accepted {
		return result
	}
	if base.Verdict == Unable {
		return Opinion{Tool: result.Tool, Why: "of the base: " + base.Why, Output: result.Output}
	}
	result.Problems = slices.DeleteFunc(slices.Clone(result.Problems), func(problem string) bool {
		return slices.Contains(base.Problems, problem)
	})
	if len(result.Problems) == 0 {
		result.Verdict = Accepted
	}
	return result
}

// matching gives the lines of text that hold one of the marks, trimmed and each once.
func matching(text string, marks ...string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		holds := func(mark string) bool { return strings.Contains(line, mark) }
		if slices.ContainsFunc(marks, holds) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
