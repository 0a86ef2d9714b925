package opinion

import (
	"context"
	"path/filepath"
	"strings"
)

// askNPM has npm compare the lockfile with package.json and with itself, as npm ci
// does before it installs. A lockfile of version 1 has no requirements in it, so npm
// asks the registry for them.
func askNPM(extra ...string) ask {
	return func(ctx context.Context, j *Judge, dir string, _ []string) Opinion {
		o := Opinion{Tool: j.label("npm", "npm")}
		args := append([]string{
			"ci", "--ignore-scripts", "--dry-run", "--no-audit", "--no-fund", "--no-update-notifier",
			"--prefer-offline", "--loglevel=error", "--logs-max=0", "--cache", filepath.Join(j.cache, "npm"),
		}, extra...)
		s := withRetries(ctx, func() said { return j.node(ctx, dir, nil, "npm/bin/npm-cli.js", args...) })
		o.Output = s.output
		if why, unable := s.unable(); unable {
			o.Why = why
			return o
		}
		if s.ok {
			o.Verdict = Accepted
			return o
		}
		o.Verdict = Refused
		o.Problems = matching(s.output, "Missing: ", "Invalid: ", "Conflicting peer", "npm error peer ", "npm error dev ")
		if len(o.Problems) == 0 {
			o.Problems = withoutLogs(matching(s.output, "npm error"))
		}
		return o
	}
}

// withoutLogs drops the lines about npm's log, which are different each time.
func withoutLogs(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if !strings.Contains(line, "log") && line != "npm error" {
			kept = append(kept, line)
		}
	}
	return kept
}
