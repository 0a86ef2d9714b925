package opinion_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/internal/corpus/opinion"
)

// judge gives a judge and the corpus, or skips the test on a machine without them.
func judge(t *testing.T) (*opinion.Judge, []corpus.Case) {
	t.Helper()
	j, err := opinion.NewJudge()
	if errors.Is(err, opinion.ErrNoTools) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cases := corpustest.Cases(t)
	return j, cases
}

// mainOf writes out main of a case; a folder of testdata is one by itself.
func mainOf(t *testing.T, cases []corpus.Case, id string) string {
	t.Helper()
	if strings.HasPrefix(id, "testdata/") {
		return id
	}
	i := slices.IndexFunc(cases, func(c corpus.Case) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no case %s", id)
	}
	scratch := t.TempDir()
	clone, tree := filepath.Join(scratch, "clone"), filepath.Join(scratch, "tree")
	if err := cases[i].Clone(t.Context(), clone); err != nil {
		t.Fatal(err)
	}
	if err := corpus.WriteTree(t.Context(), clone, cases[i].MainCommit, tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// A spoil breaks one file of a project: the first match of pattern becomes with.
type spoil struct {
	name, file, pattern, with string
}

// Each tool accepts a real project as it is and refuses it spoilt.
var shown = []struct {
	checker, name, id, dir string
	spoils                 []spoil
}{
	{"npm", "lockfile 3", "axiomantic__spellbook__2026-05-01-c8df8d4", "tests/unit", []spoil{
		{"entry dropped", "package-lock.json", `(?s)    "node_modules/picocolors": \{.*?\n    \},\n`, ""},
		{"version reverted", "package-lock.json", `("node_modules/vite": \{\s*"version": )"[^"]*"`, `$1"5.4.0"`},
		{"edge to a missing package", "package-lock.json", `("node_modules/magic-string": \{(?s:.*?)"dependencies": \{)`, `$1 "left-pad": "^1.3.0",`},
		{"edge that no version meets", "package-lock.json", `("node_modules/postcss": \{(?s:.*?)"nanoid": )"[^"]*"`, `$1"^5.0.0"`},
		{"manifest ahead of the lock", "package.json", `"vitest": "[^"]*"`, `"vitest": "^4.99.0"`},
		{"conflict markers", "package-lock.json", `\n`, "\n<<<<<<< ours\n"},
	}},
	{"npm", "lockfile 2", "dependabot__fetch-metadata__2023-11-27-54f41ce", ".", []spoil{
		{"entry dropped", "package-lock.json", `(?s)    "node_modules/yaml": \{.*?\n    \},?\n`, ""},
		{"version reverted", "package-lock.json", `("node_modules/yaml": \{\s*"version": )"[^"]*"`, `$1"1.0.0"`},
		{"manifest ahead of the lock", "package.json", `"yaml": "[^"]*"`, `"yaml": "^2.99.0"`},
	}},
	{"npm", "lockfile 1", "dorny__test-reporter__2025-06-29-18430db", "reports/mocha", []spoil{
		{"entry dropped", "package-lock.json", `(?sm)^    "ms": \{.*?\n    \},\n`, ""},
		{"version reverted", "package-lock.json", `("mocha": \{\s*"version": )"[^"]*"`, `$1"7.0.0"`},
		{"manifest ahead of the lock", "package.json", `"mocha": "[^"]*"`, `"mocha": "^9.0.0"`},
	}},
	{"yarn 1", "yarn 1", "palantir__policy-bot__2023-12-15-2dcd085", ".", []spoil{
		{"entry dropped", "yarn.lock", `(?s)nanoid@\^3\.3\.6:.*?\n\n`, ""},
		{"version reverted", "yarn.lock", `(nanoid@\^3\.3\.6:\s*version )"[^"]*"`, `$1"3.1.0"`},
		{"edge to a missing package", "yarn.lock", `(\npostcss@7\.0\.32:(?s:.*?)dependencies:\n)`, "$1    left-pad \"^1.3.0\"\n"},
		{"manifest ahead of the lock", "package.json", `"autoprefixer": "[^"]*"`, `"autoprefixer": "^10.99.0"`},
		{"conflict markers", "yarn.lock", `\n\n`, "\n\n<<<<<<< ours\n"},
	}},
	{"yarn berry", "yarn 3", "metamask__eth-json-rpc-middleware__2023-07-18-98bb38c", ".", []spoil{
		{"entry dropped", "yarn.lock", `(?s)"ms@npm:2\.1\.2":.*?\n\n`, ""},
		{"version reverted", "yarn.lock", `("clone@npm:\^2\.1\.1[^\n]*\n  version: )\S+(\n  resolution: "clone@npm:)[^"]*`, `${1}2.0.0${2}2.0.0`},
		{"edge to a missing package", "yarn.lock", `("debug@npm:\^3\.2\.7":(?s:.*?)ms: )\S+`, `${1}^3.0.0`},
		{"entry twice", "yarn.lock", `(?s)("ms@npm:2\.1\.2":.*?\n\n)`, "$1$1"},
		{"entry that nothing needs", "yarn.lock", `("ms@npm:2\.1\.2":)`, "\"left-pad@npm:^1.3.0\":\n  version: 1.3.0\n  resolution: \"left-pad@npm:1.3.0\"\n  languageName: node\n  linkType: hard\n\n$1"},
		{"manifest ahead of the lock", "package.json", `"clone": "[^"]*"`, `"clone": "^2.99.0"`},
	}},
	// Three dependencies of woodpecker's web/ with what they need.
	{"pnpm", "lockfile 9", "testdata/pnpm-9", ".", []spoil{
		{"package dropped", "pnpm-lock.yaml", `(?s)  skin-tone@2\.0\.0:\n    resolution.*?\n\n`, ""},
		{"snapshot dropped", "pnpm-lock.yaml", `(?s)  skin-tone@2\.0\.0:\n    dependencies.*?\n\n`, ""},
		{"edge to a missing version", "pnpm-lock.yaml", `skin-tone: 2\.0\.0`, `skin-tone: 1.0.0`},
		{"importer reverted", "pnpm-lock.yaml", `(      node-emoji:\n        specifier: \S+\n        version: )[0-9.]+`, `${1}2.1.0`},
		{"key twice", "pnpm-lock.yaml", `(?s)(  skin-tone@2\.0\.0:\n    dependencies.*?\n\n)`, "$1$1"},
		{"manifest ahead of the lock", "package.json", `"node-emoji": "[^"]*"`, `"node-emoji": "^2.99.0"`},
	}},
	{"pnpm", "lockfile 9, whole", "woodpecker-ci__woodpecker__2025-04-05-9beb918", "web", []spoil{
		{"package dropped", "pnpm-lock.yaml", `(?s)  '@babel/types@[^\n]*:\n    resolution.*?\n\n`, ""},
		{"snapshot dropped", "pnpm-lock.yaml", `(?s)  '@babel/types@[^\n]*:\n    dependencies.*?\n\n`, ""},
		{"edge to a missing version", "pnpm-lock.yaml", `'@babel/types': 7\.27\.0`, `'@babel/types': 7.26.0`},
		{"importer reverted", "pnpm-lock.yaml", `(      vitest:\n        specifier: \S+\n        version: )[0-9.]+`, `${1}3.0.9`},
		{"key twice", "pnpm-lock.yaml", `(?s)(  '@babel/types@[^\n]*:\n    dependencies.*?\n\n)`, "$1$1"},
		{"manifest ahead of the lock", "package.json", `"vitest": "[^"]*"`, `"vitest": "^3.99.0"`},
	}},
	{"pnpm", "lockfile 6", "woodpecker-ci__woodpecker__2024-04-18-d494b6a", "web", []spoil{
		{"package dropped", "pnpm-lock.yaml", `(?s)  /@babel/types@[^\n]*:\n    resolution.*?\n\n`, ""},
		{"edge to a missing version", "pnpm-lock.yaml", `('@babel/types'): 7\.\S+`, `$1: 7.1.0`},
		{"importer reverted", "pnpm-lock.yaml", `(?m)^(  vite:\n    specifier: \S+\n    version: )[0-9.]+`, `${1}3.0.9`},
		{"manifest ahead of the lock", "package.json", `"vite": "[^"]*"`, `"vite": "^5.99.0"`},
	}},
	{"go", "pruned module", "hibiken__asynq__2026-05-17-785bb72", "x", []spoil{
		{"checksum of a go.mod dropped", "go.sum", `github.com/prometheus/client_golang \S+/go.mod \S+\n`, ""},
		{"checksum of a source dropped", "go.sum", `github.com/prometheus/client_golang \S+ \S+\n`, ""},
		{"checksum of another version", "go.sum", `(github.com/spf13/cast v1)\.7\.0(/go.mod) `, "$1.7.1$2 "},
		{"requirement reverted below another's", "go.mod", `(github.com/spf13/cast) v\S+`, "$1 v1.3.1"},
		{"requirement raised without its checksum", "go.mod", `(github.com/google/uuid) v\S+`, "$1 v1.5.0"},
		{"conflict markers", "go.mod", `\)\n`, ")\n<<<<<<< ours\n"},
	}},
	{"go", "vendored module", "palantir__policy-bot__2023-12-15-2dcd085", ".", []spoil{
		{"modules.txt behind go.mod", "vendor/modules.txt", `(# github.com/rs/zerolog) v\S+`, "$1 v1.0.0"},
		{"module missing from modules.txt", "vendor/modules.txt", `# github.com/rs/zerolog v\S+\n## explicit[^\n]*\n`, ""},
		{"module no longer explicit", "vendor/modules.txt", `(# github.com/rs/zerolog v\S+\n)## explicit[^\n]*\n`, "$1"},
	}},
	{"cargo", "lockfile 3", "sharkdp__fd__2022-10-01-4f1bcfe", ".", []spoil{
		{"entry dropped", "Cargo.lock", `(?s)\[\[package\]\]\nname = "memchr"\n.*?\n\n`, ""},
		{"version reverted", "Cargo.lock", `(name = "regex"\nversion = )"[^"]*"`, `$1"1.5.0"`},
		{"edge dropped", "Cargo.lock", `(name = "regex"\n(?s:.*?)dependencies = \[\n) "aho-corasick",\n`, "$1"},
		{"edge to a missing package", "Cargo.lock", `(name = "regex"\n(?s:.*?)) "memchr",`, `$1 "memchr 1.0.0",`},
		{"entry twice", "Cargo.lock", `(?s)(\[\[package\]\]\nname = "memchr"\n.*?\n\n)`, "$1$1"},
		{"checksum of another version", "Cargo.lock", `(name = "regex"\n(?s:.*?)checksum = "4c)`, "${1}00"},
		{"manifest ahead of the lock", "Cargo.toml", `(?m)^regex = "[^"]*"`, `regex = "1.99.0"`},
	}},
	{"cargo", "lockfile 4", "sharkdp__fd__2026-03-08-aa35ef4", ".", []spoil{
		{"entry dropped", "Cargo.lock", `(?s)\[\[package\]\]\nname = "memchr"\n.*?\n\n`, ""},
		{"edge dropped", "Cargo.lock", `(name = "regex"\n(?s:.*?)dependencies = \[\n) "aho-corasick",\n`, "$1"},
		{"entry twice", "Cargo.lock", `(?s)(\[\[package\]\]\nname = "memchr"\n.*?\n\n)`, "$1$1"},
	}},
	{"provenance", "package-lock", "axiomantic__spellbook__2026-05-01-c8df8d4", ".", []spoil{
		{"version of another checksum", "tests/unit/package-lock.json", `("node_modules/vite": \{\s*"version": )"[^"]*"`, `$1"5.4.0"`},
		{"invented checksum", "tests/unit/package-lock.json", `("node_modules/vite": \{(?s:.*?)"integrity": "sha512-)...`, `${1}AAA`},
		{"conflict markers", "tests/unit/package-lock.json", `\n`, "\n<<<<<<< ours\n"},
	}},
	{"provenance", "yarn 1", "palantir__policy-bot__2023-12-15-2dcd085", ".", []spoil{
		{"version of another checksum", "yarn.lock", `(nanoid@\^3\.3\.6:\s*version )"[^"]*"`, `$1"3.3.7"`},
		{"invented checksum of a go.mod", "go.sum", `( v\S+/go.mod h1:)...`, "${1}AAA"},
		{"conflict markers", "yarn.lock", `\n\n`, "\n\n<<<<<<< ours\n"},
	}},
	{"provenance", "yarn 3", "metamask__eth-json-rpc-middleware__2023-07-18-98bb38c", ".", []spoil{
		{"version of another checksum", "yarn.lock", `("ms@npm:2\.1\.2":\n  version: )\S+`, `${1}2.1.3`},
		{"invented checksum", "yarn.lock", `("ms@npm:2\.1\.2":(?s:.*?)checksum: )...`, "${1}aaa"},
		{"conflict markers", "yarn.lock", `\n\n`, "\n\n<<<<<<< ours\n"},
	}},
	{"provenance", "pnpm", "woodpecker-ci__woodpecker__2025-04-05-9beb918", ".", []spoil{
		{"version of another checksum", "web/pnpm-lock.yaml", `(?m)^(  '@babel/types@)7\.27\.0(':\n    resolution)`, "${1}7.26.9${2}"},
		{"invented checksum", "web/pnpm-lock.yaml", `(?m)^(  '@babel/types@7\.27\.0':\n    resolution: \{integrity: sha512-)...`, "${1}AAA"},
		{"conflict markers", "web/pnpm-lock.yaml", `\n\n`, "\n\n<<<<<<< ours\n"},
	}},
	{"provenance", "Cargo.lock", "sharkdp__fd__2022-10-01-4f1bcfe", ".", []spoil{
		{"version of another checksum", "Cargo.lock", `(name = "regex"\nversion = )"[^"]*"`, `$1"1.5.0"`},
		{"invented checksum", "Cargo.lock", `(name = "regex"\n(?s:.*?)checksum = "4c)`, "${1}00"},
		{"conflict markers", "Cargo.lock", `\n\n`, "\n\n<<<<<<< ours\n"},
	}},
}

// envFull asks for the tests that fetch hundreds of packages too.
const envFull = "BAILIFF_OPINION_FULL"

func TestEachToolAcceptsTheBaseAndRefusesItSpoilt(t *testing.T) {
	if testing.Short() {
		t.Skip("package managers take their time")
	}
	j, cases := judge(t)
	for _, s := range shown {
		t.Run(s.checker+"/"+s.name, func(t *testing.T) {
			if _, err := exec.LookPath("cargo"); s.checker == "cargo" && err != nil {
				t.Skip("cargo is missing")
			}
			if slow := s.name == "lockfile 6" || s.name == "lockfile 9, whole"; slow && os.Getenv(envFull) == "" {
				t.Skip("fetches hundreds of packages: set " + envFull)
			}
			base := mainOf(t, cases, s.id)
			project := opinion.Project{Dir: s.dir, Checker: s.checker}
			projects, err := opinion.Projects(base)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(projects, project) {
				t.Fatalf("%v is not among %v", project, projects)
			}
			world := []string{base}
			got := j.Ask(t.Context(), project, opinion.Subject{Tree: base, World: world})
			if got.Verdict == opinion.Unable {
				t.Skip(got.Why)
			}
			if got.Verdict != opinion.Accepted {
				t.Fatalf("%s %v the base: %q\n%s", got.Tool, got.Verdict, got.Problems, got.Output)
			}
			for _, spoil := range s.spoils {
				t.Run(spoil.name, func(t *testing.T) {
					spoilt := filepath.Join(t.TempDir(), "spoilt")
					if err := os.CopyFS(spoilt, os.DirFS(base)); err != nil {
						t.Fatal(err)
					}
					spoilFile(t, filepath.Join(spoilt, filepath.FromSlash(s.dir), filepath.FromSlash(spoil.file)), spoil)
					got := j.Hold(t.Context(), project, opinion.Subject{Tree: base, World: world}, nil, opinion.Subject{Tree: spoilt, World: world})
					if got.Verdict != opinion.Refused || len(got.Problems) == 0 {
						t.Errorf("%s %v it: %s\n%s", got.Tool, got.Verdict, got.Why, got.Output)
					}
				})
			}
		})
	}
}

// What the base or a head is refused for is not held against the result; what comes
// on top is, though npm stops at the first.
func TestHoldMeasuresByBaseAndHeads(t *testing.T) {
	if testing.Short() {
		t.Skip("package managers take their time")
	}
	j, cases := judge(t)
	base := mainOf(t, cases, "axiomantic__spellbook__2026-05-01-c8df8d4")
	project := opinion.Project{Dir: "tests/unit", Checker: "npm"}
	broken := func(spoils ...spoil) opinion.Subject {
		tree := filepath.Join(t.TempDir(), "tree")
		if err := os.CopyFS(tree, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		for _, s := range spoils {
			spoilFile(t, filepath.Join(tree, "tests", "unit", s.file), s)
		}
		return opinion.Subject{Tree: tree, World: []string{base}}
	}
	one := spoil{"one", "package-lock.json", `(?s)    "node_modules/picocolors": \{.*?\n    \},\n`, ""}
	two := spoil{"two", "package-lock.json", `(?s)    "node_modules/pathe": \{.*?\n    \},\n`, ""}
	whole := broken()
	for name, c := range map[string]struct {
		base   opinion.Subject
		heads  []opinion.Subject
		result opinion.Subject
		want   opinion.Verdict
	}{
		"as the base":            {broken(one), nil, broken(one), opinion.Accepted},
		"more than the base":     {broken(one), nil, broken(one, two), opinion.Refused},
		"as a head":              {whole, []opinion.Subject{whole, broken(one)}, broken(one), opinion.Accepted},
		"more than a head":       {whole, []opinion.Subject{broken(one)}, broken(one, two), opinion.Refused},
		"one of each":            {broken(one), []opinion.Subject{broken(two)}, broken(one, two), opinion.Accepted},
		"better than the base":   {broken(one), nil, whole, opinion.Accepted},
		"another than the heads": {whole, []opinion.Subject{broken(one)}, broken(two), opinion.Refused},
	} {
		if got := j.Hold(t.Context(), project, c.base, c.heads, c.result); got.Verdict != c.want {
			t.Errorf("%s: %v, want %v: %q", name, got.Verdict, c.want, got.Problems)
		}
	}
}

func spoilFile(t *testing.T, name string, s spoil) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(s.pattern).FindSubmatchIndex(data)
	if at == nil {
		t.Fatalf("%s has no %s", name, s.pattern)
	}
	with := regexp.MustCompile(s.pattern).Expand(nil, []byte(s.with), data, at)
	spoilt := slices.Concat(data[:at[0]], with, data[at[1]:])
	if string(spoilt) == string(data) {
		t.Fatalf("the spoil %q changes nothing", s.name)
	}
	if err := os.WriteFile(name, spoilt, 0o600); err != nil {
		t.Fatal(err)
	}
}
