package opinion

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// askCargo has cargo resolve the workspace offline without leave to change the
// lockfile. No registry of crates is asked: stub crates stand in for it, one for each
// package that a lockfile of the world knows, with the dependencies that it has there
// and any version of them from the lowest seen on. So cargo refuses an entry that is
// missing, ambiguous, twice there or too old, and a checksum that is another one's.
// Which optional dependencies a crate has depends on features that only its own
// manifest tells; [stub.wants] says what is made of that.
func askCargo(ctx context.Context, _ *Judge, dir string, world []string) Opinion {
	o := Opinion{Tool: "cargo"}
	if _, err := exec.LookPath("cargo"); err != nil {
		o.Why = "cargo is missing"
		return o
	}
	registry, err := newStubs(dir, world)
	if err != nil {
		o.Why = err.Error()
		return o
	}
	if err := registry.write(dir); err != nil {
		o.Why = err.Error()
		return o
	}
	if err := stubTargets(dir); err != nil {
		o.Why = err.Error()
		return o
	}
	s := run(ctx, dir, []string{"CARGO_HOME=" + filepath.Join(dir, ".cargo-home"), "CARGO_TERM_COLOR=never", "RUSTUP_TOOLCHAIN="},
		"cargo", "metadata", "--locked", "--offline", "--format-version=1")
	switch {
	case s.err != nil:
		o.Why = s.err.Error()
	case s.ok:
		o.Verdict = Accepted
	case strings.Contains(s.output, "lock file version"):
		o.Output, o.Why = s.output, "this cargo is older than the lockfile"
	default:
		o.Verdict, o.Output = Refused, s.output
		o.Problems = cargoProblems(s.output)
	}
	return o
}

// cargoProblems takes cargo's error and its causes, less its advice.
func cargoProblems(output string) []string {
	var problems []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || line == "Caused by:" || strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "help:") {
			continue
		}
		problems = append(problems, line)
	}
	return problems
}
