package opinion

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
)

// pnpms are the releases of pnpm that write each version of the lockfile.
var pnpms = map[string]string{"6.0": "pnpm-8", "9.0": "pnpm-10"}

var pnpmVersion = regexp.MustCompile(`(?m)^lockfileVersion: '?([0-9.]+)'?`)

// askPNPM has pnpm install what the lockfile says, into its store alone: without that
// (with --lockfile-only) it accepts files that it later refuses, and a folder of
// modules would tell nothing more.
func askPNPM(ctx context.Context, j *Judge, dir string, _ []string) Opinion {
	o := Opinion{Tool: "pnpm"}
	lock, err := readFile(filepath.Join(dir, "pnpm-lock.yaml"))
	if err != nil {
		o.Why = err.Error()
		return o
	}
	found := pnpmVersion.FindSubmatch(lock)
	if found == nil {
		o.Verdict, o.Problems = Refused, []string{"pnpm-lock.yaml has no lockfileVersion"}
		return o
	}
	pkg, known := pnpms[string(found[1])]
	if !known {
		o.Why = fmt.Sprintf("no release of pnpm at hand writes lockfile version %s", found[1])
		return o
	}
	o.Tool = j.label("pnpm", pkg)
	env := []string{"npm_config_manage_package_manager_versions=false", "npm_config_package_manager_strict=false"}
	s := withRetries(ctx, func() said {
		return j.node(ctx, dir, env, pkg+"/bin/pnpm.cjs", "install", "--frozen-lockfile", "--ignore-scripts", "--ignore-pnpmfile",
			"--prefer-offline", "--reporter=append-only", "--store-dir", filepath.Join(j.cache, "pnpm"),
			"--config.enable-modules-dir=false", "--config.engine-strict=false", "--config.cache-dir="+filepath.Join(j.cache, "pnpm-meta"))
	})
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
	o.Problems = matching(s.output, "ERR_PNPM_", "ERROR", "Error:", "TypeError")
	if len(o.Problems) == 0 {
		o.Problems = []string{"pnpm failed"}
	}
	return o
}
