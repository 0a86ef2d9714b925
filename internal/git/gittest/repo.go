// Package gittest makes repositories for tests: quickly, from maps of files,
// and with the same object names each time. It can also booby-trap them, see
// [Traps].
package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// Repo is a repository with a working tree that is empty until Checkout. Its
// objects and branches are written by hand, without git, so that building a
// large one costs little.
type Repo struct {
	Dir    string // of the working tree
	GitDir string

	t       testing.TB
	sha256  bool
	global  string                      // the person's configuration file
	entries map[git.ID]map[string]entry // of each commit, by path
	clock   time.Time
}

// Files are changes to a tree by path: a string or []byte is the contents of a
// file, nil deletes, and Link, Exec, Module and Object make the other things.
type Files map[string]any

type (
	// Link is a symlink to what it says.
	Link string
	// Exec is an executable file's contents.
	Exec string
	// Module is a submodule's commit.
	Module git.ID
	// Object is an entry of any mode and ID, stored or not.
	Object struct {
		Mode git.Mode
		ID   git.ID
	}
)

type entry struct {
	mode git.Mode
	id   git.ID
}

// Start is the date of a repository's first commit; each later one is a minute
// younger.
var Start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// Person is the author of a commit if none is given, and its committer.
var Person = git.Signature{Name: "Pat Person", Email: "pat@example.com"}

// Dependabot is the signature of that bot.
var Dependabot = git.Signature{Name: "dependabot[bot]", Email: "49699333+dependabot[bot]@users.noreply.github.com"}

// New makes a repository in a temporary folder, on the unborn branch main. Flags
// go to git init, such as "--object-format=sha256" or "--bare".
func New(t testing.TB, flags ...string) *Repo {
	t.Helper()
	return NewIn(t, filepath.Join(t.TempDir(), "repo"), flags...)
}

// NewIn is New in a folder of choice, which is made.
func NewIn(t testing.TB, dir string, flags ...string) *Repo {
	t.Helper()
	r := At(t, dir, filepath.Join(dir, ".git"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.sha256 = slices.Contains(flags, "--object-format=sha256")
	if slices.Contains(flags, "--bare") {
		r.GitDir = dir
	}
	r.Git(append([]string{"init", "-q", "--initial-branch=main"}, flags...)...)
	return r
}

// At is a repository that is there already, whoever made it.
func At(t testing.TB, dir, gitDir string) *Repo {
	return &Repo{Dir: dir, GitDir: gitDir, t: t, global: os.DevNull, entries: map[git.ID]map[string]entry{}, clock: Start}
}

// Option changes how a commit is made.
type Option func(*commit)

type commit struct {
	author, committer git.Signature
	message           string
	parents           []git.ID
	headers           string
}

// Author sets the author; a zero date means the commit's own.
func Author(s git.Signature) Option { return func(c *commit) { c.author = s } }

// Committer sets the committer; a zero date means the commit's own.
func Committer(s git.Signature) Option { return func(c *commit) { c.committer = s } }

// Message sets the whole message, byte for byte.
func Message(m string) Option { return func(c *commit) { c.message = m } }

// Merge adds parents.
func Merge(parents ...git.ID) Option {
	return func(c *commit) { c.parents = append(c.parents, parents...) }
}

// Header adds header lines, byte for byte, after the committer.
func Header(lines string) Option { return func(c *commit) { c.headers += lines } }

// Commit changes files on top of parent, a branch or an ID (empty: none), and
// moves branch (a name as in refs/heads/, or a full one; empty: no branch) there.
func (r *Repo) Commit(branch, parent string, files Files, options ...Option) git.ID {
	r.t.Helper()
	at := git.Date{Unix: r.clock.Unix(), Zone: "+0000"}
	r.clock = r.clock.Add(time.Minute)
	c := commit{author: Person, committer: Person, message: "change " + strings.Join(slices.Sorted(maps.Keys(files)), ", ") + "\n"}
	tree := map[string]entry{}
	if parent != "" {
		id := r.Resolve(parent)
		c.parents = append(c.parents, id)
		tree = maps.Clone(r.tree(id))
	}
	for _, o := range options {
		o(&c)
	}
	for path, what := range files {
		delete(tree, path)
		if what != nil {
			tree[path] = r.entry(what)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", r.writeTree(tree, ""))
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	for _, who := range []struct {
		role string
		git.Signature
	}{{"author", c.author}, {"committer", c.committer}} {
		if who.When == (git.Date{}) {
			who.When = at
		}
		fmt.Fprintf(&b, "%s %s <%s> %d %s\n", who.role, who.Name, who.Email, who.When.Unix, who.When.Zone)
	}
	b.WriteString(c.headers + "\n" + c.message)
	id := r.Object("commit", []byte(b.String()))
	r.entries[id] = tree
	if branch != "" {
		r.Branch(branch, id)
	}
	return id
}

// Branch sets a branch (a name as in refs/heads/, or a full one) to a commit. It
// writes a file, so that names can be had that git would refuse.
func (r *Repo) Branch(name string, id git.ID) {
	r.t.Helper()
	path := filepath.Join(r.GitDir, full(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(id+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Resolve finds the commit of a branch or other name; an ID is itself.
func (r *Repo) Resolve(name string) git.ID {
	r.t.Helper()
	if id := git.ID(name); id.Valid() {
		return id
	}
	if raw, err := os.ReadFile(filepath.Join(r.GitDir, full(name))); err == nil && !bytes.HasPrefix(raw, []byte("ref:")) {
		return git.ID(strings.TrimSpace(string(raw)))
	}
	return git.ID(r.Git("rev-parse", "--verify", "--end-of-options", full(name)+"^{commit}"))
}

// Read answers the contents of a file of a commit or branch.
func (r *Repo) Read(commit, path string) string {
	r.t.Helper()
	return r.raw("cat-file", "blob", string(r.Resolve(commit))+":"+path)
}

// Checkout fills index and working tree from HEAD.
func (r *Repo) Checkout() {
	r.t.Helper()
	r.Git("reset", "-q", "--hard")
}

// Git runs git in the repository, as its user would (its configuration and all),
// and answers what it prints, without spaces around. A failure ends the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return strings.TrimSpace(r.raw(args...))
}

func (r *Repo) raw(args ...string) string {
	r.t.Helper()
	cmd := r.Command(args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, words.Bytes())
	}
	return out.String()
}

// Command prepares such a git process, to run otherwise than Git does.
func (r *Repo) Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.Dir
	for _, kv := range os.Environ() {
		// Not those that would lead git to another repository.
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+r.global,
		"GIT_AUTHOR_NAME="+Person.Name, "GIT_AUTHOR_EMAIL="+Person.Email,
		"GIT_COMMITTER_NAME="+Person.Name, "GIT_COMMITTER_EMAIL="+Person.Email,
		"GIT_TERMINAL_PROMPT=0",
	)
	return cmd
}

// Object stores an object, loose, as it is given: nothing checks that it makes
// sense.
func (r *Repo) Object(kind string, data []byte) git.ID {
	r.t.Helper()
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	id := hash(raw, r.sha256)
	path := filepath.Join(r.GitDir, "objects", id[:2], id[2:])
	if _, err := os.Stat(path); err == nil {
		return git.ID(id)
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err == nil {
		_, err = z.Write(raw)
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o444)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return git.ID(id)
}

func hash(raw []byte, long bool) string {
	if long {
		sum := sha256.Sum256(raw)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(raw)
	return hex.EncodeToString(sum[:])
}

func (r *Repo) entry(what any) entry {
	r.t.Helper()
	blob := func(mode git.Mode, data string) entry {
		return entry{mode, r.Object("blob", []byte(data))}
	}
	switch what := what.(type) {
	case string:
		return blob(git.ModeFile, what)
	case []byte:
		return blob(git.ModeFile, string(what))
	case Exec:
		return blob(git.ModeExec, string(what))
	case Link:
		return blob(git.ModeLink, string(what))
	case Module:
		return entry{git.ModeModule, git.ID(what)}
	case Object:
		return entry{what.Mode, what.ID}
	}
	r.t.Fatalf("%T cannot stand in a tree", what)
	return entry{}
}

// writeTree stores the tree of all paths below prefix.
func (r *Repo) writeTree(all map[string]entry, prefix string) git.ID {
	here := map[string]entry{}
	below := map[string]map[string]entry{}
	for path, e := range all {
		name, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			here[name] = e
			continue
		}
		if below[name] == nil {
			below[name] = map[string]entry{}
		}
		below[name][rest] = e
	}
	for name, inner := range below {
		if _, twice := here[name]; twice {
			r.t.Fatalf("%q is a file and a folder", prefix+name)
		}
		here[name] = entry{git.ModeTree, r.writeTree(inner, prefix+name+"/")}
	}
	// Git sorts a folder as if its name ended in a slash.
	key := func(name string) string {
		if here[name].mode == git.ModeTree {
			return name + "/"
		}
		return name
	}
	names := slices.SortedFunc(maps.Keys(here), func(a, b string) int { return strings.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, name := range names {
		id, err := hex.DecodeString(string(here[name].id))
		if err != nil {
			r.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%o %s\x00%s", uint32(here[name].mode), name, id)
	}
	return r.Object("tree", b.Bytes())
}

// tree recalls the paths of a commit, or reads them if git made it.
func (r *Repo) tree(id git.ID) map[string]entry {
	r.t.Helper()
	if known, ok := r.entries[id]; ok {
		return known
	}
	tree := map[string]entry{}
	for record := range strings.SplitSeq(strings.TrimSuffix(r.raw("ls-tree", "-r", "-z", string(id)), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(record, "\t")
		var mode uint32
		var kind, name string
		if _, err := fmt.Sscanf(meta, "%o %s %s", &mode, &kind, &name); !ok || err != nil {
			continue
		}
		tree[path] = entry{git.Mode(mode), git.ID(name)}
	}
	return tree
}

func full(name string) string {
	if name == "HEAD" || strings.HasPrefix(name, "refs/") {
		return name
	}
	return "refs/heads/" + name
}
