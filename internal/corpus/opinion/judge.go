package opinion

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// EnvTools is the environment variable that names the folder with the pinned tools.
const EnvTools = "BAILIFF_TOOLS"

// ErrNoTools says that the pinned package managers are not installed. Tests skip on it.
var ErrNoTools = errors.New("no package managers here: run scripts/setup opinion")

// timeLimit is for one run of one tool. The longest seen, npm with an old lockfile
// and an empty cache, took 20 seconds.
const timeLimit = 5 * time.Minute

// outputKept is how much of a tool's output an [Opinion] keeps, in bytes.
const outputKept = 16 << 10

// A Judge runs the tools.
type Judge struct {
	// Remember keeps opinions on disk from run to run, by what they are of: most of
	// a run over the corpus is about trees that were judged before. After a change
	// of a checker what it said before is stale: raise revision.
	Remember bool

	tools string // folder with node_modules
	cache string // of the tools and of opinions
}

// NewJudge finds the pinned tools: in the folder that EnvTools names, or in
// .cache/opinion of the module that the working directory is in. The error is
// [ErrNoTools] when they are not there. What the tools fetch is kept there too.
func NewJudge() (*Judge, error) {
	dir := os.Getenv(EnvTools)
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(root, ".cache", "opinion")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "npm")); err != nil {
		return nil, ErrNoTools
	}
	if _, err := exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("%w (node is missing)", ErrNoTools)
	}
	return &Judge{tools: dir, cache: filepath.Join(dir, "cache")}, nil
}

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
			return "", ErrNoTools
		}
		dir = up
	}
}

// ask has a checker judge the subject, or remembers what it said of it.
func (j *Judge) ask(ctx context.Context, c *checker, m mode, p Project, s Subject) Opinion {
	if !j.Remember {
		return j.askAnew(ctx, c, m, p, s)
	}
	key, err := j.key(c, m, p, s)
	if err != nil {
		return Opinion{Tool: c.name, Why: err.Error()}
	}
	kept := filepath.Join(j.cache, "said", key)
	if data, err := os.ReadFile(kept); err == nil {
		var o Opinion
		if json.Unmarshal(data, &o) == nil {
			return o
		}
	}
	o := j.askAnew(ctx, c, m, p, s)
	if o.Verdict == Unable {
		return o
	}
	if err := keep(kept, o); err != nil {
		return Opinion{Tool: c.name, Why: err.Error()}
	}
	return o
}

// askAnew has a checker judge a copy of the subject.
func (j *Judge) askAnew(ctx context.Context, c *checker, m mode, p Project, s Subject) Opinion {
	fail := func(err error) Opinion { return Opinion{Tool: c.name, Why: err.Error()} }
	scratch, err := os.MkdirTemp("", "bailiff-opinion-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	tree := filepath.Join(scratch, "tree")
	if err := copyTree(s.Tree, tree); err != nil {
		return fail(err)
	}
	dir := filepath.Join(tree, filepath.FromSlash(p.Dir))
	if _, err := os.Stat(filepath.Join(dir, c.lock)); err != nil {
		return Opinion{Tool: c.name, Why: "no " + c.lock + " there"}
	}
	var world []string
	for _, w := range s.World {
		world = append(world, filepath.Join(w, filepath.FromSlash(p.Dir)))
	}
	o := m.ask(ctx, j, dir, world)
	if len(o.Output) > outputKept {
		o.Output = o.Output[len(o.Output)-outputKept:]
	}
	// Paths of the scratch folder would make the same problem look different.
	o.Output = strings.ReplaceAll(o.Output, scratch, "")
	for i := range o.Problems {
		o.Problems[i] = strings.ReplaceAll(o.Problems[i], scratch, "")
	}
	return o
}

func keep(name string, o Opinion) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// revision is part of every kept opinion's key: raise it when a checker changes.
const revision = "2"

func (j *Judge) key(c *checker, m mode, p Project, s Subject) (string, error) {
	sum := sha256.New()
	pinned, err := os.ReadFile(filepath.Join(j.tools, "package.json"))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%s\x00%s\x00", revision, pinned, c.name, m.name, p.Dir)
	trees := []string{s.Tree}
	if c.world {
		trees = append(trees, s.World...)
	}
	for _, tree := range trees {
		if err := hashTree(sum, tree); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func hashTree(sum hash.Hash, tree string) error {
	return eachFile(tree, func(name, rel string) error {
		data, err := readFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\x00%d\x00%s", rel, len(data), data)
		return nil
	})
}

// eachFile visits the regular files of a tree by name; a tree cannot lead out of
// itself by a symbolic link.
func eachFile(tree string, visit func(name, rel string) error) error {
	return filepath.WalkDir(tree, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".cargo") {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		return visit(name, filepath.ToSlash(rel))
	})
}

// dropped are files that would have a tool run or fetch what the project says.
var dropped = []string{".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpmfile.cjs", ".npmrc"}

// npmrcKept are the keys of .npmrc and .yarnrc.yml that change what a right lockfile
// is, and nothing else.
var npmrcKept = []string{
	"legacy-peer-deps", "strict-peer-deps", "install-strategy", "auto-install-peers",
	"strict-peer-dependencies", "dedupe-peer-dependents", "resolve-peers-from-workspace-root",
	"node-linker", "shamefully-hoist", "hoist", "link-workspace-packages", "install-links",
	"nodeLinker", "packageExtensions", "compressionLevel", "supportedArchitectures",
}

func copyTree(from, to string) error {
	return eachFile(from, func(name, rel string) error {
		data, err := readFile(name)
		if err != nil {
			return err
		}
		if base := filepath.Base(name); slices.Contains(dropped, base) {
			if base != ".npmrc" && base != ".yarnrc.yml" {
				return nil
			}
			data = keptSettings(data)
		}
		target := filepath.Join(to, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// keptSettings leaves of a settings file the keys of npmrcKept with the indented
// lines under them.
func keptSettings(data []byte) []byte {
	var kept []byte
	keeping := false
	for line := range bytes.Lines(data) {
		if len(line) > 0 && line[0] != ' ' && line[0] != '\t' {
			key, _, _ := bytes.Cut(line, []byte(":"))
			key, _, _ = bytes.Cut(key, []byte("="))
			keeping = slices.Contains(npmrcKept, string(bytes.TrimSpace(key)))
		}
		if keeping {
			kept = append(kept, line...)
		}
	}
	return kept
}

// fileLimit keeps a file from filling the memory, in bytes.
const fileLimit = 128 << 20

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, fileLimit))
	return data, errors.Join(err, f.Close())
}

// A said is what a tool said.
type said struct {
	ok     bool
	output string // standard output and error, interleaved
	err    error  // why it could not be run, or was stopped
}

// run runs a tool in dir. Its environment is the caller's, less what would steer a
// package manager, and env.
func run(ctx context.Context, dir string, env []string, name string, args ...string) said {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	for _, pair := range os.Environ() {
		key := strings.ToLower(pair)
		if strings.HasPrefix(key, "npm_") || strings.HasPrefix(key, "yarn_") || strings.HasPrefix(key, "node_options=") {
			continue
		}
		cmd.Env = append(cmd.Env, pair)
	}
	cmd.Env = append(append(cmd.Env, "CI=1", "NO_COLOR=1", "FORCE_COLOR=0", "LC_ALL=C"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	s := said{ok: err == nil, output: out.String()}
	var exit *exec.ExitError
	if ctx.Err() != nil {
		s.err = fmt.Errorf("%s was stopped: %w", name, ctx.Err())
	} else if err != nil && !errors.As(err, &exit) {
		s.err = err
	}
	return s
}

// node runs the program of a pinned package.
func (j *Judge) node(ctx context.Context, dir string, env []string, program string, args ...string) said {
	return run(ctx, dir, env, "node", append([]string{filepath.Join(j.tools, "node_modules", filepath.FromSlash(program))}, args...)...)
}

// label names a pinned package with its version.
func (j *Judge) label(name, pkg string) string {
	var manifest struct {
		Version string `json:"version"`
	}
	data, err := os.ReadFile(filepath.Join(j.tools, "node_modules", pkg, "package.json"))
	if err != nil || json.Unmarshal(data, &manifest) != nil {
		return name
	}
	return name + " " + manifest.Version
}

// network finds the lines of a failure that says nothing of the files.
var network = regexp.MustCompile(`\b(ETIMEDOUT|ECONNRESET|ECONNREFUSED|EAI_AGAIN|ENOTFOUND|ENETUNREACH|E403|E429|E5\d\d|ERR_PNPM_FETCH_\d+|ERR_PNPM_META_FETCH_FAIL)\b` +
	`|socket hang up|network timeout|i/o timeout|connection (refused|reset)|no such host|TLS handshake|: (403|429|5\d\d) [A-Z]`)

// unable tells a failure that is not the files' fault: the tool could not be run, or
// not reach its registry.
func (s said) unable() (string, bool) {
	if s.err != nil {
		return s.err.Error(), true
	}
	if s.ok {
		return "", false
	}
	for line := range strings.Lines(s.output) {
		if network.MatchString(line) {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

// forbidden finds a registry's final word.
var forbidden = regexp.MustCompile(`\b(E403|403 Forbidden)\b`)

// withRetries asks again, twice at most, while the network is to blame.
func withRetries(ctx context.Context, try func() said) said {
	var s said
	for range 3 {
		s = try()
		if why, unable := s.unable(); !unable || ctx.Err() != nil || forbidden.MatchString(why) {
			break
		}
	}
	return s
}
