package opinion

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/mod/semver"
)

// A crate is a package of a Cargo.lock.
type crate struct {
	Name         string   `toml:"name"`
	Version      string   `toml:"version"`
	Source       string   `toml:"source"`
	Checksum     string   `toml:"checksum"`
	Dependencies []string `toml:"dependencies"`
}

// A crateKey tells packages of a registry apart.
type crateKey struct{ name, version string }

// A stub is a crate as all lockfiles of the world know it.
type stub struct {
	checksum string
	locks    int // lockfiles that have it
	// needs has the versions of each dependency, by name: one element a lockfile
	// that has the crate with it.
	needs map[string][][]string
	// must are the dependencies in a lockfile whose manifests ask for the crate in
	// the words of the result's: with the same features they cannot be left out.
	must map[string]bool
	// has are the dependencies that the result's own lockfile gives it.
	has map[string]bool
}

// wants tells whether the crate, with the features that the result asks of it, has a
// dependency. One that every lockfile knows it has. One that only some know is
// optional, and the result is believed where nothing speaks against it.
func (s *stub) wants(name string) bool {
	return len(s.needs[name]) == s.locks || s.must[name] || s.has[name]
}

type stubs struct {
	crates map[crateKey]*stub
	asked  manifests // by the tree that is judged
}

func readLock(dir string) ([]crate, error) {
	data, err := readFile(filepath.Join(dir, "Cargo.lock"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Package []crate `toml:"package"`
	}
	if err := toml.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("reading Cargo.lock: %w", err)
	}
	return lock.Package, nil
}

func newStubs(dir string, world []string) (*stubs, error) {
	asked, err := readManifests(dir)
	if err != nil {
		return nil, err
	}
	s := &stubs{crates: map[crateKey]*stub{}, asked: asked}
	if len(world) == 0 {
		world = []string{dir}
	}
	for _, w := range world {
		lock, err := readLock(w)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		there, err := readManifests(w)
		if err != nil {
			return nil, err
		}
		if err := s.learn(lock, there); err != nil {
			return nil, err
		}
	}
	// A lockfile that cannot be read is for cargo to refuse.
	if lock, err := readLock(dir); err == nil {
		s.believe(lock)
	}
	return s, nil
}

// believe notes what the lockfile that is judged says.
func (s *stubs) believe(lock []crate) {
	for _, c := range lock {
		known := s.crates[crateKey{c.Name, c.Version}]
		if known == nil {
			continue
		}
		for _, dependency := range c.Dependencies {
			name, _, _ := strings.Cut(dependency, " ")
			known.has[name] = true
		}
	}
}

// learn adds what a lockfile says, whose manifests are there.
func (s *stubs) learn(lock []crate, there manifests) error {
	versions := map[string][]string{}
	for _, c := range lock {
		versions[c.Name] = append(versions[c.Name], c.Version)
	}
	for _, c := range lock {
		if c.Source == "" {
			continue // a member of the workspace
		}
		if !strings.HasPrefix(c.Source, "registry+") {
			return fmt.Errorf("%s comes from %s, which no stub can stand in for", c.Name, c.Source)
		}
		key := crateKey{c.Name, c.Version}
		known := s.crates[key]
		if known == nil {
			known = &stub{checksum: c.Checksum, needs: map[string][][]string{}, must: map[string]bool{}, has: map[string]bool{}}
			s.crates[key] = known
		}
		known.locks++
		needs := map[string][]string{}
		for _, dependency := range c.Dependencies {
			fields := strings.Fields(dependency)
			found := versions[fields[0]]
			if len(fields) > 1 {
				found = fields[1:2]
			}
			if len(found) != 1 {
				return fmt.Errorf("%s needs %s, which is no one package of the lockfile", c.Name, dependency)
			}
			needs[fields[0]] = append(needs[fields[0]], found[0])
		}
		words := there.words(c.Name)
		for name, found := range needs {
			known.needs[name] = append(known.needs[name], found)
			if words != "" && words == s.asked.words(c.Name) {
				known.must[name] = true
			}
		}
	}
	return nil
}

// manifests are what the Cargo.toml files of a tree ask of each crate.
type manifests struct {
	features map[string]map[string]bool // by the crate's name
	entries  map[string][]string        // the dependencies' tables, as text
}

// words are all that the manifests say of a crate, to be compared.
func (m manifests) words(name string) string { return strings.Join(m.entries[name], "\n") }

func readManifests(dir string) (manifests, error) {
	m := manifests{features: map[string]map[string]bool{}, entries: map[string][]string{}}
	err := eachFile(dir, func(name, _ string) error {
		if filepath.Base(name) != "Cargo.toml" {
			return nil
		}
		manifest, err := readManifest(name)
		if err != nil {
			return err
		}
		m.add(manifest)
		if workspace, ok := manifest["workspace"].(map[string]any); ok {
			m.add(workspace)
		}
		if targets, ok := manifest["target"].(map[string]any); ok {
			for _, target := range targets {
				if table, ok := target.(map[string]any); ok {
					m.add(table)
				}
			}
		}
		return nil
	})
	for _, entries := range m.entries {
		slices.Sort(entries)
	}
	return m, err
}

func readManifest(name string) (map[string]any, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, err
	}
	var manifest map[string]any
	if err := toml.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return manifest, nil
}

// add notes what a table of dependencies and features asks.
func (m manifests) add(table map[string]any) {
	named := map[string]string{} // what the manifest calls a crate -> its name
	ask := func(name, feature string) {
		if m.features[name] == nil {
			m.features[name] = map[string]bool{}
		}
		m.features[name][feature] = true
	}
	for _, kind := range []string{"dependencies", "dev-dependencies", "build-dependencies"} {
		dependencies, ok := table[kind].(map[string]any)
		if !ok {
			continue
		}
		for name, value := range dependencies {
			named[name] = name
			if dependency, ok := value.(map[string]any); ok {
				if renamed, ok := dependency["package"].(string); ok {
					named[name] = renamed
				}
				for _, feature := range list(dependency["features"]) {
					ask(named[name], feature)
				}
			}
			// Maps print in the order of their keys.
			m.entries[named[name]] = append(m.entries[named[name]], fmt.Sprintf("%s %v", kind, value))
		}
	}
	features, ok := table["features"].(map[string]any)
	if !ok {
		return
	}
	for _, value := range features {
		for _, feature := range list(value) {
			name, of, found := strings.Cut(feature, "/")
			if !found {
				continue
			}
			name = strings.TrimSuffix(name, "?")
			if crate, known := named[name]; known {
				name = crate
			}
			ask(name, of)
		}
	}
}

// list gives the strings of a TOML array; anything else has none.
func list(value any) []string {
	elements, ok := value.([]any)
	if !ok {
		return nil
	}
	var strs []string
	for _, element := range elements {
		if str, ok := element.(string); ok {
			strs = append(strs, str)
		}
	}
	return strs
}

// write lays the stubs out as a directory source of the workspace in dir.
func (s *stubs) write(dir string) error {
	for key, known := range s.crates {
		crateDir := filepath.Join(dir, ".stubs", safe(key.name)+"-"+safe(key.version))
		sums, err := json.Marshal(map[string]any{"files": map[string]string{}, "package": known.checksum})
		if err != nil {
			return err
		}
		for name, content := range map[string][]byte{
			"Cargo.toml":           []byte(s.manifest(key, known)),
			"src/lib.rs":           nil,
			".cargo-checksum.json": sums,
		} {
			name = filepath.Join(crateDir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(name, content, 0o644); err != nil {
				return err
			}
		}
	}
	config := fmt.Sprintf("[source.crates-io]\nreplace-with = \"stubs\"\n[source.stubs]\ndirectory = %q\n", filepath.Join(dir, ".stubs"))
	if err := os.MkdirAll(filepath.Join(dir, ".stubs"), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, ".cargo"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".cargo", "config.toml"), []byte(config), 0o644)
}

// safe keeps a name from a lockfile from being a path.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == filepath.Separator || r == 0 {
			return '_'
		}
		return r
	}, name)
}

func (s *stubs) manifest(key crateKey, known *stub) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[package]\nname = %q\nversion = %q\n\n[features]\ndefault = []\n", key.name, key.version)
	for _, feature := range slices.Sorted(maps.Keys(s.asked.features[key.name])) {
		if feature != "default" {
			fmt.Fprintf(&b, "%q = []\n", feature)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known.needs)) {
		if !known.wants(name) {
			continue
		}
		for i, requirement := range requirements(known.needs[name]) {
			fmt.Fprintf(&b, "\n[dependencies.%q]\npackage = %q\nversion = %q\n", fmt.Sprintf("%s_%d", safe(name), i), name, requirement)
		}
	}
	return b.String()
}

// requirements turns the versions that a dependency has in one lockfile after the
// other into what the crate may have asked for: from the lowest to the end of the
// highest's compatible ones; where a lockfile has several at once, so for each series
// of compatible versions.
func requirements(seen [][]string) []string {
	several := slices.ContainsFunc(seen, func(versions []string) bool { return len(versions) > 1 })
	bounds := map[string][2]string{}
	for _, versions := range seen {
		for _, version := range versions {
			series := ""
			if several {
				series = nextSeries(version)
			}
			bound, ok := bounds[series]
			if !ok {
				bound = [2]string{version, version}
			}
			if compareCrates(version, bound[0]) < 0 {
				bound[0] = version
			}
			if compareCrates(version, bound[1]) > 0 {
				bound[1] = version
			}
			bounds[series] = bound
		}
	}
	var asked []string
	for _, bound := range bounds {
		low, _, _ := strings.Cut(bound[0], "+")
		asked = append(asked, fmt.Sprintf(">=%s, <%s", low, nextSeries(bound[1])))
	}
	slices.Sort(asked)
	return asked
}

// compareCrates orders versions. Those of cargo are always of three numbers.
func compareCrates(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// nextSeries is the first version that is not compatible with version: the leftmost
// number that is not zero counts.
func nextSeries(version string) string {
	core, _, _ := strings.Cut(version, "+")
	core, _, _ = strings.Cut(core, "-")
	numbers := strings.Split(core, ".")
	for i, number := range numbers {
		n, err := strconv.ParseUint(number, 10, 63)
		if err != nil {
			return version
		}
		if n > 0 || i == len(numbers)-1 {
			numbers[i] = strconv.FormatUint(n+1, 10)
			for rest := i + 1; rest < len(numbers); rest++ {
				numbers[rest] = "0"
			}
			break
		}
	}
	return strings.Join(numbers, ".")
}

// targetPlaces is where cargo looks for a target that gives no path.
var targetPlaces = map[string]string{"bin": "src/bin", "test": "tests", "bench": "benches", "example": "examples"}

// stubTargets writes the sources that the manifests of a tree name, empty: cargo
// refuses a package without them.
func stubTargets(dir string) error {
	return eachFile(dir, func(name, _ string) error {
		folder := filepath.Dir(name)
		if filepath.Base(name) != "Cargo.toml" || strings.Contains(folder, ".stubs") {
			return nil
		}
		manifest, err := readManifest(name)
		if err != nil {
			return err
		}
		if _, ok := manifest["package"]; !ok {
			return nil
		}
		sources := []string{"src/lib.rs", "src/main.rs"}
		named := func(place string, table any) {
			target, ok := table.(map[string]any)
			if !ok {
				return
			}
			if source, ok := target["path"].(string); ok {
				sources = append(sources, source)
			} else if name, ok := target["name"].(string); ok && place != "" {
				sources = append(sources, place+"/"+name+".rs")
			}
		}
		named("", manifest["lib"])
		for kind, place := range targetPlaces {
			targets, ok := manifest[kind].([]map[string]any)
			if !ok {
				continue
			}
			for _, target := range targets {
				named(place, target)
			}
		}
		for _, source := range sources {
			if !filepath.IsLocal(filepath.FromSlash(source)) {
				continue
			}
			source = filepath.Join(folder, filepath.FromSlash(source))
			if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(source, nil, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}
