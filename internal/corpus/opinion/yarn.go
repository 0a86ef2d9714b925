package opinion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func isYarn1(lock []byte) bool { return !isBerry(lock) }

func isBerry(lock []byte) bool {
	return bytes.HasPrefix(lock, []byte("__metadata:")) || bytes.Contains(lock, []byte("\n__metadata:"))
}

// askYarn has yarn 1 go through the lockfile up to its fetch step: offline and with
// an empty cache it fails there at the latest. Before that it refuses a requirement
// that no entry meets: an entry of a wrong version is ignored, and what is then
// missing cannot be asked of a registry.
func askYarn(ctx context.Context, j *Judge, dir string, _ []string) Opinion {
	o := Opinion{Tool: j.label("yarn", "yarn")}
	s := j.node(ctx, dir, nil, "yarn/bin/yarn.js", "install", "--frozen-lockfile", "--offline", "--ignore-scripts",
		"--ignore-engines", "--ignore-platform", "--non-interactive", "--no-default-rc", "--no-progress",
		"--cache-folder", filepath.Join(dir, ".yarn-cache"))
	o.Output = s.output
	switch {
	case s.err != nil:
		o.Why = s.err.Error()
	case s.ok || strings.Contains(s.output, "Fetching packages..."):
		// An entry that yarn ignores may have been replaced by another that fits.
		o.Problems = matching(s.output, "Lockfile has incorrect entry")
		o.Verdict = verdict(o.Problems)
	default:
		o.Verdict = Refused
		o.Problems = matching(s.output, "error ", "incorrect entry")
	}
	return o
}

func verdict(problems []string) Verdict {
	if len(problems) > 0 {
		return Refused
	}
	return Accepted
}

// berries are the releases of yarn that write each version of the lockfile.
var berries = map[string]string{"6": "berry-3"}

var (
	metadata   = regexp.MustCompile(`(?m)^__metadata:\n\s+version: (\d+)`)
	berryEntry = regexp.MustCompile(`(?m)^"?([^\s#][^\n]*?)"?:\n  version: ([^\n]+)`)
)

// askBerry has yarn 2 and later resolve the project without a network and without
// leave to change the lockfile, up to the fetch step. Yarn takes an entry's word that
// its version is one that was asked for, so node-semver is asked that.
func askBerry(ctx context.Context, j *Judge, dir string, _ []string) Opinion {
	o := Opinion{Tool: "yarn berry"}
	lock, err := readFile(filepath.Join(dir, "yarn.lock"))
	if err != nil {
		o.Why = err.Error()
		return o
	}
	lock = bytes.ReplaceAll(lock, []byte("\r\n"), []byte("\n"))
	found := metadata.FindSubmatch(lock)
	if found == nil {
		o.Verdict, o.Problems = Refused, []string{"yarn.lock has no __metadata version"}
		return o
	}
	pkg, known := berries[string(found[1])]
	if !known {
		o.Why = fmt.Sprintf("no release of yarn at hand writes lockfile version %s", found[1])
		return o
	}
	o.Tool = j.label("yarn", pkg)
	env := []string{
		"YARN_IGNORE_PATH=1", "YARN_ENABLE_NETWORK=0", "YARN_ENABLE_TELEMETRY=0", "YARN_ENABLE_SCRIPTS=0",
		"YARN_ENABLE_GLOBAL_CACHE=0", "YARN_ENABLE_COLORS=0", "YARN_CACHE_FOLDER=" + filepath.Join(dir, ".yarn-cache"),
		"YARN_GLOBAL_FOLDER=" + filepath.Join(dir, ".yarn-global"),
	}
	s := j.node(ctx, dir, env, pkg+"/bin/yarn.js", "install", "--immutable")
	o.Output = s.output
	if s.err != nil {
		o.Why = s.err.Error()
		return o
	}
	misfits, err := j.misfits(ctx, dir, berryEntry.FindAllSubmatch(lock, -1))
	if err != nil {
		o.Why = err.Error()
		return o
	}
	o.Problems = misfits
	if !s.ok && !strings.Contains(s.output, "Fetch step") {
		o.Problems = append(o.Problems, matching(s.output, "YN0028", "YN0080", "YN0082", "Error", "error")...)
		if len(o.Problems) == 0 {
			o.Problems = []string{"yarn failed before it fetched anything"}
		}
	}
	o.Verdict = verdict(o.Problems)
	return o
}

// fits prints the pairs of its input whose version is not in its range. A range that
// is none (a tag) fits.
const fits = `
const semver = require(process.argv[2]);
const pairs = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'));
const bad = pairs.filter(([d, r, v]) => semver.validRange(r) !== null && semver.valid(v) !== null && !semver.satisfies(v, r, {includePrerelease: true}));
process.stdout.write(JSON.stringify(bad.map(([d, r, v]) => d + ' is locked at ' + v)));
`

// misfits lists the descriptors of a berry lockfile that ask for a range of versions
// which their entry's version is not in.
func (j *Judge) misfits(ctx context.Context, dir string, entries [][][]byte) ([]string, error) {
	var pairs [][3]string
	for _, entry := range entries {
		for descriptor := range strings.SplitSeq(string(entry[1]), ", ") {
			name, asked, found := strings.Cut(strings.TrimPrefix(descriptor, "@"), "@npm:")
			if found && name != "" && !strings.Contains(asked, "@") {
				pairs = append(pairs, [3]string{descriptor, asked, strings.TrimSpace(string(entry[2]))})
			}
		}
	}
	data, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	input := filepath.Join(dir, ".descriptors.json")
	if err := os.WriteFile(input, data, 0o644); err != nil {
		return nil, err
	}
	s := run(ctx, dir, nil, "node", "-e", fits, input, filepath.Join(j.tools, "node_modules", "npm", "node_modules", "semver"))
	if !s.ok {
		return nil, fmt.Errorf("node-semver: %w: %s", s.err, s.output)
	}
	var bad []string
	if err := json.Unmarshal([]byte(s.output), &bad); err != nil {
		return nil, err
	}
	slices.Sort(bad)
	return bad, nil
}
