package cargo_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cargo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

// envSeeds is how many made-up workspaces TestCargoAgrees asks cargo about.
const envSeeds = "BAILIFF_CARGO_SEEDS"

// world is a made-up registry and workspaces that use it, with cargo to ask.
type world struct {
	t   *testing.T
	r   *rand.Rand
	dir string
	// needs are the dependencies of each published crate, by "name version".
	needs map[string][]string
}

var (
	crates   = []string{"alpha", "beta", "gamma", "delta", "eps"}
	versions = []string{"0.1.0", "0.1.1", "0.2.0", "1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0"}
	members  = []string{"app", "lib", "tool"}
)

// early are the versions that are out when the fork is made.
const early = 5

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), needs: map[string][]string{}}
	for i, name := range crates {
		for n, v := range versions {
			var needs []string
			for _, other := range crates[i+1:] {
				if w.r.IntN(3) == 0 {
					most := early
					if n >= early {
						most = len(versions)
					}
					needs = append(needs, fmt.Sprintf("%s = %q", other, versions[w.r.IntN(most)]))
				}
			}
			w.needs[name+" "+v] = needs
		}
	}
	for _, era := range []int{early, len(versions)} {
		for name := range w.needs {
			crate, v, _ := strings.Cut(name, " ")
			if slices.Index(versions, v) < era {
				w.publish(w.registry(era), crate, v)
			}
		}
	}
	return w
}

func (w *world) registry(era int) string { return filepath.Join(w.dir, fmt.Sprintf("registry%d", era)) }

func (w *world) write(file, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) publish(registry, name, v string) {
	dir := filepath.Join(registry, name+"-"+v)
	w.write(dir+"/Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = \"2021\"\n[dependencies]\n%s\n", name, v, strings.Join(w.needs[name+" "+v], "\n")))
	w.write(dir+"/src/lib.rs", "")
	w.write(dir+"/.cargo-checksum.json", fmt.Sprintf(`{"files":{},"package":"%x"}`, sha256.Sum256([]byte(name+v))))
}

// run has cargo look at a tree's workspace, as of an era, and gives the tree as it
// left it. Locked: cargo may change nothing.
func (w *world) run(era int, locked bool, files map[string][]byte) (map[string][]byte, error) {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.dir, "tree")
	if err != nil {
		w.t.Fatal(err)
	}
	for name, text := range files {
		w.write(filepath.Join(dir, name), string(text))
		if d := filepath.Dir(name); d != "." {
			w.write(filepath.Join(dir, d, "src/lib.rs"), "")
		}
	}
	w.write(dir+"/.cargo/config.toml", fmt.Sprintf("[source.crates-io]\nreplace-with = \"stubs\"\n[source.stubs]\ndirectory = %q\n", w.registry(era)))
	args := []string{"metadata", "--offline", "--format-version=1"}
	if locked {
		args = append(args, "--locked")
	}
	cmd := exec.CommandContext(w.t.Context(), "cargo", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_HOME="+filepath.Join(w.dir, "home"))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	out := map[string][]byte{}
	for name, text := range files {
		out[name] = text
	}
	if out["Cargo.lock"], err = os.ReadFile(filepath.Join(dir, "Cargo.lock")); err != nil {
		w.t.Fatal(err)
	}
	return out, nil
}

// req is a requirement of a version that is out, in one of its forms. None is open
// at its end: with such ones cargo does not always accept what it wrote itself.
func (w *world) req(era int) string {
	v := versions[w.r.IntN(era)]
	if w.r.IntN(12) == 0 {
		return "=" + v
	}
	return []string{v, "^" + v, "~" + v, v[:3]}[w.r.IntN(4)]
}

// line is a dependency in one of its forms. One package may not call a crate by
// two names.
func (w *world) line(section, name string, renamed bool, era int) string {
	switch form := w.r.IntN(5); {
	case form == 0 && !renamed:
		return fmt.Sprintf("%s = { version = %q, optional = %v }", name, w.req(era), section == "dependencies")
	case renamed:
		return fmt.Sprintf("%s_x = { package = %q, version = %q }", name, name, w.req(era))
	case form == 1:
		return fmt.Sprintf("%s = { workspace = true }", name)
	}
	return fmt.Sprintf("%s = %q", name, w.req(era))
}

// fork makes a workspace.
func (w *world) fork() map[string][]byte {
	files := map[string][]byte{}
	shared := ""
	for _, name := range crates {
		shared += fmt.Sprintf("%s = %q\n", name, versions[w.r.IntN(early)])
	}
	files["Cargo.toml"] = []byte("[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"side\"]\nresolver = \"2\"\n\n[workspace.dependencies]\n" + shared)
	for i, m := range members {
		text := fmt.Sprintf("[package]\nname = %q\nversion = \"0.1.0\"\nedition = \"2021\"\n", m)
		renamed := crates[w.r.IntN(len(crates))]
		for _, section := range []string{"dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(windows)'.dependencies"} {
			text += "\n[" + section + "]\n"
			if i > 0 && section == "dependencies" && w.r.IntN(2) == 0 {
				text += fmt.Sprintf("%s = { path = \"../%s\", version = \"0.1\" }\n", members[i-1], members[i-1])
			}
			for _, name := range crates {
				if w.r.IntN(4) == 0 {
					text += w.line(section, name, name == renamed, early) + "\n"
				}
			}
		}
		files["crates/"+m+"/Cargo.toml"] = []byte(text)
	}
	if w.r.IntN(2) == 0 {
		w.aside(files)
	}
	return files
}

// aside adds a package outside of the workspace, of which Cargo locks less.
func (w *world) aside(files map[string][]byte) {
	const app = "crates/app/Cargo.toml"
	files["side/Cargo.toml"] = []byte(fmt.Sprintf("[package]\nname = \"side\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"+
		"[dependencies]\nalpha = %q\nbeta = { version = %q, optional = true }\n[dev-dependencies]\ngamma = %q\n",
		versions[w.r.IntN(early)], versions[w.r.IntN(early)], versions[w.r.IntN(early)]))
	files[app] = []byte(strings.Replace(string(files[app]), "\n[dependencies]\n", "\n[dependencies]\nside = { path = \"../../side\" }\n", 1))
}

// head changes some requirements of a fork, and drops or adds one now and then.
func (w *world) head(fork map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, file := range slices.Sorted(func(yield func(string) bool) {
		for name := range fork {
			if !yield(name) {
				return
			}
		}
	}) {
		out[file] = fork[file]
		if filepath.Base(file) != "Cargo.toml" || w.r.IntN(2) == 0 {
			continue
		}
		lines := strings.Split(string(fork[file]), "\n")
		for i, l := range lines {
			name, _, _ := strings.Cut(l, " = ")
			if base := strings.TrimSuffix(name, "_x"); slices.Contains(crates, base) && w.r.IntN(4) == 0 && strings.Contains(l, `"`) {
				at := strings.LastIndex(l[:strings.LastIndexByte(l, '"')], `"`)
				lines[i] = l[:at+1] + versions[w.r.IntN(len(versions))] + l[strings.LastIndexByte(l, '"'):]
			}
		}
		out[file] = []byte(strings.Join(lines, "\n"))
	}
	return out
}

// Whatever the check lets pass, cargo accepts, and what cargo makes itself the
// check lets pass: for workspaces, for merges of several heads, and for lockfiles
// that were spoilt.
func TestCargoAgrees(t *testing.T) {
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Skip("cargo is not here")
	}
	if testing.Short() {
		t.Skip("cargo is slow")
	}
	seeds := 4
	if n, err := strconv.Atoi(os.Getenv(envSeeds)); err == nil {
		seeds = n
	}
	merges, spoilt, conflicts := 0, 0, 0
	for seed := range seeds {
		w := newWorld(t, uint64(seed))
		fork, err := w.run(early, false, w.fork())
		if err != nil {
			continue // no versions fit together
		}
		w.mustBeSound(seed, "fork", fork)
		x := locktest.NewTree(t, cargo.Formats(), fork)
		var heads []map[string][]byte
		for range 3 {
			if h, err := w.run(len(versions), false, w.head(fork)); err == nil {
				w.mustBeSound(seed, "head", h)
				heads = append(heads, h)
			}
		}
		for i, h := range heads {
			y, c := locktest.Apply(t, x, locktest.NewTree(t, cargo.Formats(), fork), locktest.NewTree(t, cargo.Formats(), h))
			if len(c) > 0 {
				conflicts++
				continue
			}
			problems := y.Problems()
			_, err := w.run(len(versions), true, y.Files)
			if (err == nil) != (len(problems) == 0) {
				t.Errorf("seed %d, head %d: %v, and cargo says %v\n%s", seed, i, problems, err, y.Files["Cargo.lock"])
			}
			if err == nil {
				merges++
				x = y
			}
		}
		for what, text := range spoil(w.r, string(x.Files["Cargo.lock"])) {
			files := map[string][]byte{}
			for name, b := range x.Files {
				files[name] = b
			}
			files["Cargo.lock"] = []byte(text)
			_, err := w.run(len(versions), true, files)
			d, perr := cargo.Formats()[1].Parse(files["Cargo.lock"], nil)
			found := perr != nil
			if perr == nil {
				y := locktest.NewTree(t, cargo.Formats(), files)
				d.Path, d.Format = "Cargo.lock", cargo.Formats()[1]
				found = len(y.Problems()) > 0
			}
			if found != (err != nil) {
				t.Errorf("seed %d: %s: found %v (%v), and cargo says %v\n%s", seed, what, found, perr, err, text)
			}
			spoilt++
		}
	}
	t.Logf("%d merges accepted, %d conflicts, %d spoilt lockfiles told", merges, conflicts, spoilt)
}

func (w *world) mustBeSound(seed int, what string, files map[string][]byte) {
	w.t.Helper()
	x := locktest.NewTree(w.t, cargo.Formats(), files)
	for _, p := range x.Problems() {
		w.t.Errorf("seed %d: %s of cargo's own: %s\n%s", seed, what, p, files["Cargo.lock"])
	}
	d := x.Doc("Cargo.lock")
	if got, err := d.Format.Encode(d); err != nil || string(got) != string(files["Cargo.lock"]) {
		w.t.Errorf("seed %d: %s: not the same after a round trip: %v", seed, what, err)
	}
}

// spoil breaks a lockfile in some ways.
func spoil(r *rand.Rand, lock string) map[string]string {
	blocks := strings.Split(strings.TrimSuffix(lock, "\n"), "\n\n")
	pick := func(has string) int {
		var at []int
		for i, b := range blocks {
			if i > 0 && strings.Contains(b, has) {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return 0
		}
		return at[r.IntN(len(at))]
	}
	with := func(i int, block string) string {
		out := slices.Clone(blocks)
		out[i] = block
		return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "\n\n") + "\n"
	}
	out := map[string]string{}
	if i := pick("checksum"); i > 0 {
		out["an entry is gone"] = with(i, "")
		out["an entry is there twice"] = with(i, blocks[i]+"\n\n"+blocks[i])
		out["an entry nobody needs"] = with(i, blocks[i]+"\n\n[[package]]\nname = \"zeta\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"00\"")
	}
	if i := pick(" \""); i > 0 && !strings.Contains(blocks[i], "checksum") {
		lines := strings.Split(blocks[i], "\n")
		at := slices.Index(lines, "dependencies = [") + 1
		out["a need of a member is gone"] = with(i, strings.Join(slices.Delete(slices.Clone(lines), at, at+1), "\n"))
	}
	if i := pick("name = \"app\""); i > 0 {
		out["a member at another version"] = with(i, strings.Replace(blocks[i], "0.1.0", "0.3.0", 1))
		out["a member is gone"] = with(i, "")
	}
	return out
}
