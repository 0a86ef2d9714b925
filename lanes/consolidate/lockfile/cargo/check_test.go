package cargo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cargo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

// member is a Cargo.toml of a package.
func member(name string, lines ...string) string {
	return "[package]\nname = \"" + name + "\"\nversion = \"0.1.0\"\n" + strings.Join(lines, "\n") + "\n"
}

func problems(t *testing.T, files map[string]string) []string {
	t.Helper()
	b := map[string][]byte{}
	for name, text := range files {
		b[name] = []byte(text)
	}
	var out []string
	for _, p := range locktest.NewTree(t, cargo.Formats(), b).Problems() {
		out = append(out, string(p.Code)+": "+p.String())
	}
	slices.Sort(out)
	return out
}

func TestCheck(t *testing.T) {
	const sum = "https://github.com/rust-lang/crates.io-index"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"all is well": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"1\"\n[dev-dependencies]\nc = \"2.1\"\n[target.'cfg(windows)'.build-dependencies]\nd = { version = \"1\", optional = true }"),
			"Cargo.lock": lock("a 0.1.0 . b c d", "b 1.2.0 r", "c 2.1.5 r", "d 1.0.0 r"),
		}, nil},
		"no manifest": {map[string]string{"Cargo.lock": lock("a 0.1.0 . b", "b 1.2.0 r")}, nil},
		"a version that the manifest refuses": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"1.3\""),
			"Cargo.lock": lock("a 0.1.0 . b", "b 1.2.0 r"),
		}, []string{"unmet: Cargo.lock: a@0.1.0 needs b@1.3, but 1.2.0 is locked"}},
		"not locked": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"1\"\nc = \"1\""),
			"Cargo.lock": lock("a 0.1.0 . b", "b 1.2.0 r"),
		}, []string{"missing: Cargo.lock: a@0.1.0 needs c@1, which is not locked"}},
		"locked for another": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"1\"\nc = \"1\""),
			"Cargo.lock": lock("a 0.1.0 . b", "b 1.2.0 r c", "c 1.0.0 r"),
		}, []string{"out_of_sync: Cargo.lock: Cargo.toml asks for c@1, the lockfile was made without"}},
		"needed no more": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"1\""),
			"Cargo.lock": lock("a 0.1.0 . b c", "b 1.2.0 r", "c 1.0.0 r"),
		}, []string{"out_of_sync: Cargo.lock: the lockfile has a need c@1.0.0, which Cargo.toml does not ask for"}},
		"one need, two versions": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \">=1\""),
			"Cargo.lock": lock("a 0.1.0 . b_1.2.0 b_2.0.0", "b 1.2.0 r", "b 2.0.0 r"),
		}, []string{"out_of_sync: Cargo.lock: the lockfile has a need b@2.0.0, which Cargo.toml does not ask for"}},
		"two needs, two versions, the wide one first": {map[string]string{
			"Cargo.toml": member("a", "[build-dependencies]\nb = \">=1\"\n[dependencies]\nb = \"1\""),
			"Cargo.lock": lock("a 0.1.0 . b_1.2.0 b_2.0.0", "b 1.2.0 r", "b 2.0.0 r"),
		}, nil},
		"renamed": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nx = { package = \"b\", version = \"1\" }"),
			"Cargo.lock": lock("a 0.1.0 . b", "b 1.2.0 r"),
		}, nil},
		"another version of the package": {map[string]string{
			"Cargo.toml": member("a"),
			"Cargo.lock": lock("a 0.2.0 ."),
		}, []string{"out_of_sync: Cargo.lock: Cargo.toml is at version 0.1.0, the lockfile has 0.2.0"}},
		"an orphan": {map[string]string{
			"Cargo.toml": member("a"),
			"Cargo.lock": lock("a 0.1.0 .", "b 1.0.0 r"),
		}, []string{"orphan: Cargo.lock: nothing needs b@1.0.0"}},
		"an edge to nothing": {map[string]string{
			"Cargo.lock": lock("a 0.1.0 . b", "b 1.0.0 r c"),
		}, []string{"missing: Cargo.lock: b@1.0.0 needs c@*, which is not locked"}},
		"two versions that Cargo would join": {map[string]string{
			"Cargo.lock": lock("a 0.1.0 . b_1.0.0 b_1.1.0", "b 1.0.0 r", "b 1.1.0 r"),
		}, []string{"duplicate: Cargo.lock: b is locked at 1.0.0 and at 1.1.0, of which Cargo allows one"}},
		"a workspace": {map[string]string{
			"Cargo.toml":            "[workspace]\nmembers = [\"crates/*\", \"x/**/y\"]\nexclude = [\"crates/out\"]\n[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\nb = \"1\"\n",
			"crates/a/Cargo.toml":   "[package]\nname = \"a\"\nversion.workspace = true\n[dependencies]\nb.workspace = true\nm = { path = \"../../m\" }\n",
			"crates/out/Cargo.toml": member("out", "[dependencies]\nz = \"1\""),
			"x/q/r/y/Cargo.toml":    member("y", "[dev-dependencies]\nc = \"1\""),
			"m/Cargo.toml":          member("m", "[dev-dependencies]\nd = \"1\""),
			"other/Cargo.toml":      member("other", "[dependencies]\nz = \"1\""),
			"Cargo.lock":            lock("a 0.1.0 . b m", "b 1.2.0 r", "c 1.0.0 r", "d 1.0.0 r", "m 0.1.0 . d", "y 0.1.0 . c"),
		}, nil},
		"a member too few": {map[string]string{
			"Cargo.toml":          "[workspace]\nmembers = [\"crates/*\"]\n",
			"crates/a/Cargo.toml": member("a"),
			"crates/b/Cargo.toml": member("b"),
			"Cargo.lock":          lock("a 0.1.0 ."),
		}, []string{"out_of_sync: Cargo.lock: crates/b/Cargo.toml is a member of the workspace, which the lockfile does not have"}},
		"the workspace's requirement": {map[string]string{
			"Cargo.toml":   "[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\nb = { version = \"2\", package = \"c\" }\n",
			"a/Cargo.toml": member("a", "[dependencies]\nb = { workspace = true, optional = true }"),
			"Cargo.lock":   lock("a 0.1.0 . c", "c 1.0.0 r"),
		}, []string{"unmet: Cargo.lock: a@0.1.0 needs c@2, but 1.0.0 is locked"}},
		"what the workspace does not have": {map[string]string{
			"Cargo.toml":   "[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\n",
			"a/Cargo.toml": member("a", "[dependencies]\nb.workspace = true"),
			"Cargo.lock":   lock("a 0.1.0 . b", "b 1.0.0 r"),
		}, []string{"missing: a/Cargo.toml: a/Cargo.toml takes b from the workspace, and Cargo.toml does not have it"}},
		"outside of the workspace less is locked": {map[string]string{
			"ws/Cargo.toml":  member("a", "[dependencies]\nout = { path = \"../out\" }"),
			"out/Cargo.toml": member("out", "[dependencies]\nb = \"1\"\nc = { version = \"1\", optional = true }\n[dev-dependencies]\nd = \"1\""),
			"ws/Cargo.lock":  lock("a 0.1.0 . out", "b 1.0.0 r", "out 0.1.0 . b"),
		}, nil},
		"but what is needed is": {map[string]string{
			"ws/Cargo.toml":  member("a", "[dependencies]\nout = { path = \"../out\" }"),
			"out/Cargo.toml": member("out", "[dependencies]\nb = \"2\""),
			"ws/Cargo.lock":  lock("a 0.1.0 . out", "b 1.0.0 r", "out 0.1.0 . b"),
		}, []string{"unmet: ws/Cargo.lock: out@0.1.0 needs b@2, but 1.0.0 is locked"}},
		"a member's own lockfile is not in force": {map[string]string{
			"Cargo.toml":   "[workspace]\nmembers = [\"a\"]\n",
			"a/Cargo.toml": member("a", "[dependencies]\nb = \"1\""),
			"a/Cargo.lock": lock("a 0.1.0 ."),
		}, nil},
		"git": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\ng = { git = \"https://example.com/a.git\", branch = \"main\", version = \"0.1\" }\nh = { git = \"https://example.com/h.git\" }"),
			"Cargo.lock": lock("a 0.1.0 . g h", "g 0.1.0 "+gitA, "h 3.0.0 "+gitB),
		}, nil},
		"git, locked from a registry": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\ng = { git = \"https://example.com/a.git\" }"),
			"Cargo.lock": lock("a 0.1.0 . g", "g 0.1.0 r"),
		}, []string{"unmet: Cargo.lock: a@0.1.0 needs g@*, but 0.1.0 is locked"}},
		"a patch": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\ng = \"0.1\"\n[patch.crates-io]\ng = { git = \"https://example.com/a.git\" }"),
			"Cargo.lock": lock("a 0.1.0 . g", "g 0.1.0 "+gitA),
		}, nil},
		"tests that need the package itself": {map[string]string{
			"Cargo.toml": member("a", "[dev-dependencies]\na = { path = \".\", features = [\"x\"] }"),
			"Cargo.lock": lock("a 0.1.0 ."),
		}, nil},
		"a sparse registry": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = { version = \"1\", registry = \"x\" }"),
			"Cargo.lock": strings.ReplaceAll(lock("a 0.1.0 . b", "b 1.0.0 r"), "registry+"+sum, "sparse+https://example.com/index/"),
		}, nil},
		"requirements of every form": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nb = \"*\"\nc = \"1.*\"\nd = \">=1.2, <1.5\"\ne = \"~1.2\"\nf = \"=1.2.3\"\ng = \"0.0.3\"\nh = \"2.0.0-rc.1\"\ni = \"^0.1\"\nj = \"< 2\""),
			"Cargo.lock": lock("a 0.1.0 . b c d e f g h i j", "b 9.0.0 r", "c 1.9.0 r", "d 1.4.9 r", "e 1.2.9 r", "f 1.2.3 r", "g 0.0.3 r", "h 2.0.0-rc.2 r", "i 0.1.9 r", "j 1.9.9 r"),
		}, nil},
		"and what they refuse": {map[string]string{
			"Cargo.toml": member("a", "[dependencies]\nc = \"1.*\"\nd = \">=1.2, <1.5\"\ne = \"~1.2\"\nf = \"=1.2.3\"\ng = \"0.0.3\"\nh = \"2.0.0-rc.2\"\ni = \"^0.1\"\nj = \"< 2\""),
			"Cargo.lock": lock("a 0.1.0 . c d e f g h i j", "c 2.0.0 r", "d 1.5.0 r", "e 1.3.0 r", "f 1.2.4 r", "g 0.0.4 r", "h 2.0.0-rc.1 r", "i 0.2.0 r", "j 2.0.0 r"),
		}, []string{
			"unmet: Cargo.lock: a@0.1.0 needs c@1.*, but 2.0.0 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs d@>=1.2, <1.5, but 1.5.0 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs e@~1.2, but 1.3.0 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs f@=1.2.3, but 1.2.4 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs g@0.0.3, but 0.0.4 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs h@2.0.0-rc.2, but 2.0.0-rc.1 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs i@^0.1, but 0.2.0 is locked",
			"unmet: Cargo.lock: a@0.1.0 needs j@< 2, but 2.0.0 is locked",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems(t, c.files)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
