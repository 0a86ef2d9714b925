package opinion

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNextSeries(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "2.0.0", "0.2.3": "0.3.0", "0.0.3": "0.0.4", "0.0.0": "0.0.1",
		"1.0.0-rc.1": "2.0.0", "0.5.1+5.3.0-patched": "0.6.0", "x": "x",
	} {
		if got := nextSeries(version); got != want {
			t.Errorf("nextSeries(%q) = %q, want %q", version, got, want)
		}
	}
}

func TestRequirements(t *testing.T) {
	for name, c := range map[string]struct {
		seen [][]string
		want []string
	}{
		"one version":               {[][]string{{"1.2.3"}}, []string{">=1.2.3, <2.0.0"}},
		"moved within a series":     {[][]string{{"1.2.3"}, {"1.4.0"}}, []string{">=1.2.3, <2.0.0"}},
		"a range over two series":   {[][]string{{"0.2.1"}, {"0.3.0"}}, []string{">=0.2.1, <0.4.0"}},
		"two at once":               {[][]string{{"1.0.9", "2.0.1"}}, []string{">=1.0.9, <2.0.0", ">=2.0.1, <3.0.0"}},
		"two at once, one moved":    {[][]string{{"1.0.9", "2.0.1"}, {"1.0.9", "2.0.5"}}, []string{">=1.0.9, <2.0.0", ">=2.0.1, <3.0.0"}},
		"build metadata is no part": {[][]string{{"0.5.1+5.3.0-patched"}}, []string{">=0.5.1, <0.6.0"}},
	} {
		if got := requirements(c.seen); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// fd 8.4.0 with clap_complete bumped alone: its clap 4 is asked for without features,
// so it has not the optional dependencies of the clap 4 that another branch brings.
func TestWants(t *testing.T) {
	s := stub{
		locks: 2,
		needs: map[string][][]string{"bitflags": {{"1.3.2"}, {"1.3.2"}}, "atty": {{"0.2.14"}}, "strsim": {{"0.10.0"}}, "termcolor": {{"1.1.3"}}},
		must:  map[string]bool{"strsim": true},
		has:   map[string]bool{"termcolor": true},
	}
	for name, want := range map[string]bool{"bitflags": true, "atty": false, "strsim": true, "termcolor": true} {
		if got := s.wants(name); got != want {
			t.Errorf("wants(%q) = %v", name, got)
		}
	}
}

func TestUnable(t *testing.T) {
	for output, want := range map[string]bool{
		"npm error code ETIMEDOUT":                                                     true,
		"npm error code E503":                                                          true,
		"go: example.com/m@v1.0.0: reading proxy: 403 Forbidden":                       true,
		"dial tcp: lookup proxy: no such host":                                         true,
		"ERR_PNPM_FETCH_502 GET tarball: Bad Gateway":                                  true,
		"npm error code EUSAGE":                                                        false,
		"npm error Missing: left-pad@1.3.0 from lock file":                             false,
		"npm error Invalid: sha512-E503E502 does not satisfy":                          false,
		"go: example.com/m@v1.0.0: missing go.sum entry for go.mod file; to add it:":   false,
		"ERR_PNPM_LOCKFILE_MISSING_DEPENDENCY Broken lockfile: no entry for 'a@1.0.0'": false,
	} {
		if _, got := (said{output: output}).unable(); got != want {
			t.Errorf("unable(%q) = %v", output, got)
		}
	}
	if _, unable := (said{ok: true, output: "retried after ETIMEDOUT"}).unable(); unable {
		t.Error("a tool that succeeded could tell")
	}
}

func TestKeptSettings(t *testing.T) {
	got := string(keptSettings([]byte("registry=https://evil.example\nlegacy-peer-deps=true\nnodeLinker: node-modules\nplugins:\n  - path: x\npackageExtensions:\n  a@*:\n    dependencies:\n      b: 1\nyarnPath: evil\n")))
	want := "legacy-peer-deps=true\nnodeLinker: node-modules\npackageExtensions:\n  a@*:\n    dependencies:\n      b: 1\n"
	if got != want {
		t.Errorf("kept:\n%s", got)
	}
}

// A project must not have its tools run what it says, nor read what it does not hold.
func TestCopyTreeLeavesOutWhatRuns(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"package.json", ".yarnrc", ".pnpmfile.cjs", ".cargo/config.toml", ".git/config", "a/Cargo.toml"} {
		name = filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "yarn.lock")); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := eachFile(to, func(_, rel string) error { got = append(got, rel); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/Cargo.toml", "package.json"}; !slices.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
}

func TestFacts(t *testing.T) {
	for name, c := range map[string]struct {
		read facts
		file string
		want []string
	}{
		"package-lock 3, nested and scoped": {npmFacts, `{"packages":{"":{},"node_modules/a/node_modules/@b/c":{"version":"1.0.0","integrity":"sha512-x"},"node_modules/alias":{"name":"real","version":"2.0.0","integrity":"sha512-y"}}}`, []string{"@b/c@1.0.0 sha512-x", "real@2.0.0 sha512-y"}},
		"package-lock 1, nested":            {npmFacts, `{"dependencies":{"a":{"version":"1.0.0","integrity":"sha1-x","dependencies":{"b":{"version":"2.0.0","integrity":"sha1-y"}}}}}`, []string{"a@1.0.0 sha1-x", "b@2.0.0 sha1-y"}},
		"yarn 1":                            {yarnFacts, "a@^1:\n  version \"1.0.0\"\n  resolved \"u\"\n  integrity sha512-x\n", []string{`"u" "1.0.0" sha512-x`}},
		"berry":                             {yarnFacts, "\"a@npm:^1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n  checksum: 10/x\n", []string{`"a@npm:1.0.0" 1.0.0 10/x`}},
		"pnpm 9, no peers in the key":       {pnpmFacts, "packages:\n\n  '@a/b@1.0.0':\n    resolution: {integrity: sha512-x}\n", []string{"@a/b@1.0.0 integrity: sha512-x"}},
		"pnpm 6, peers in the key":          {pnpmFacts, "  /a@1.0.0(b@2.0.0):\n    resolution: {integrity: sha512-x}\n", []string{"a@1.0.0 integrity: sha512-x"}},
		"Cargo.lock, a member has none":     {cargoFacts, "[[package]]\nname = \"m\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\nchecksum = \"c\"\n", []string{"a 1.0.0 registry+x c"}},
		"go.sum":                            {goFacts, "example.com/a v1.0.0 h1:x=\n\n", []string{"example.com/a v1.0.0 h1:x="}},
	} {
		for _, file := range []string{c.file, strings.ReplaceAll(c.file, "\n", "\r\n")} {
			got, err := c.read([]byte(file))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
			}
		}
	}
}
