package opinion

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// askGo has the go command list the module's build list without leave to change
// go.mod or go.sum: it refuses a requirement below what another module needs and a
// go.mod without its checksum. It looks into no source, so the checksums of the
// sources are compared with the requirements here (go mod verify would not: it is
// content with what it never downloaded). A vendor/modules.txt is compared by the
// go command too, which needs none of the vendored files for that.
func askGo(ctx context.Context, _ *Judge, dir string, _ []string) Opinion {
	env := []string{"GOFLAGS=", "GOWORK=off", "GO111MODULE=on"}
	o := Opinion{Tool: "go"}
	problems, err := unsummed(dir)
	if err != nil {
		o.Verdict, o.Problems = Refused, []string{err.Error()}
		return o
	}
	s := withRetries(ctx, func() said { return run(ctx, dir, env, "go", "list", "-mod=readonly", "-m", "all") })
	why, unable := s.unable()
	if !s.ok {
		o.Output = s.output
	}
	if !unable && !s.ok {
		problems = append(problems, matching(s.output, "go: ", "go.mod:")...)
	}
	if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err == nil {
		s := run(ctx, dir, env, "go", "list", "-mod=vendor", ".")
		if s.err == nil && strings.Contains(s.output, "inconsistent vendoring") {
			o.Output += s.output
			problems = append(problems, matching(s.output, ": ")...)
		}
	}
	o.Problems = problems
	switch {
	case len(problems) > 0:
		o.Verdict = Refused
	case unable:
		o.Why = why
	case s.ok:
		o.Verdict = Accepted
	default:
		o.Verdict, o.Problems = Refused, []string{"go list failed"}
	}
	return o
}

// unsummed lists the required modules whose source has no checksum in go.sum. From
// Go 1.17 on go.mod requires just the modules whose source is read. The version is
// left out, so that a bump of a module that nobody ever summed is no news.
func unsummed(dir string) ([]string, error) {
	data, err := readFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	if mod.Go == nil || semver.Compare("v"+mod.Go.Version, "v1.17") < 0 {
		return nil, nil
	}
	data, err = readFile(filepath.Join(dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	summed := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			summed[fields[0]+" "+fields[1]] = true
		}
	}
	replaced := map[string]*modfile.Replace{}
	for _, r := range mod.Replace {
		if r.Old.Version == "" {
			replaced[r.Old.Path] = r
		} else {
			replaced[r.Old.Path+" "+r.Old.Version] = r
		}
	}
	var problems []string
	for _, r := range mod.Require {
		source := r.Mod
		for _, key := range []string{r.Mod.Path, r.Mod.Path + " " + r.Mod.Version} {
			if to := replaced[key]; to != nil {
				source = to.New
			}
		}
		if source.Version != "" && !summed[source.Path+" "+source.Version] {
			problems = append(problems, "go.sum lacks the checksum of the source of "+source.Path)
		}
	}
	return problems, nil
}
