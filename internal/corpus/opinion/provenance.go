package opinion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// facts gives what a lockfile says of each package's content: its name and version
// with its checksum, in one string.
type facts func(data []byte) ([]string, error)

var factsOf = map[string]facts{
	"package-lock.json":   npmFacts,
	"npm-shrinkwrap.json": npmFacts,
	"yarn.lock":           yarnFacts,
	"pnpm-lock.yaml":      pnpmFacts,
	"Cargo.lock":          cargoFacts,
	"go.sum":              goFacts,
}

// askProvenance asks no tool. No merge of lockfiles may say of a package what none of
// them said: a version of one side with the checksum of another is a file that most
// tools accept until they fetch. A lockfile that does not parse is refused here too.
func askProvenance(_ context.Context, _ *Judge, dir string, world []string) Opinion {
	o := Opinion{Tool: "provenance"}
	known := map[string]map[string]bool{} // by file
	for _, w := range world {
		err := eachFile(w, func(name, rel string) error {
			read, ok := factsOf[filepath.Base(name)]
			if !ok {
				return nil
			}
			data, err := readFile(name)
			if err != nil {
				return err
			}
			if known[rel] == nil {
				known[rel] = map[string]bool{}
			}
			// A broken file of a head vouches for nothing.
			if said, err := read(data); err == nil {
				for _, fact := range said {
					known[rel][fact] = true
				}
			}
			return nil
		})
		if err != nil {
			o.Why = err.Error()
			return o
		}
	}
	problems := map[string]bool{}
	err := eachFile(dir, func(name, rel string) error {
		read, ok := factsOf[filepath.Base(name)]
		if !ok {
			return nil
		}
		data, err := readFile(name)
		if err != nil {
			return err
		}
		said, err := read(data)
		if err != nil {
			problems[fmt.Sprintf("%s: %v", rel, err)] = true
			return nil
		}
		for _, fact := range said {
			if !known[rel][fact] {
				problems[fmt.Sprintf("%s: no side says %s", rel, fact)] = true
			}
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		o.Why = err.Error()
		return o
	}
	o.Problems = slices.Sorted(maps.Keys(problems))
	o.Verdict = verdict(o.Problems)
	return o
}

// An npmPackage is an entry of a package-lock.json, of any version of it.
type npmPackage struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
}

func npmFacts(data []byte) ([]string, error) {
	var lock struct {
		Packages     map[string]npmPackage      `json:"packages"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &lock); err != nil {
		return nil, err
	}
	var said []string
	say := func(name string, p npmPackage) {
		if p.Integrity != "" {
			said = append(said, name+"@"+p.Version+" "+p.Integrity)
		}
	}
	for place, p := range lock.Packages {
		name := p.Name
		if i := strings.LastIndex(place, "node_modules/"); name == "" && i >= 0 {
			name = place[i+len("node_modules/"):]
		}
		say(name, p)
	}
	var nested func(map[string]json.RawMessage) error
	nested = func(dependencies map[string]json.RawMessage) error {
		for name, raw := range dependencies {
			var p npmPackage
			var below struct {
				Dependencies map[string]json.RawMessage `json:"dependencies"`
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &below); err != nil {
				return err
			}
			say(name, p)
			if err := nested(below.Dependencies); err != nil {
				return err
			}
		}
		return nil
	}
	return said, nested(lock.Dependencies)
}

var (
	yarnResolved  = regexp.MustCompile(`(?m)^  (?:resolved|resolution:) (.*)$`)
	yarnIntegrity = regexp.MustCompile(`(?m)^  (?:integrity|checksum:) (.*)$`)
	yarnVersion   = regexp.MustCompile(`(?m)^  version:? (.*)$`)
)

// yarnFacts reads both kinds of yarn.lock, whose entries are separated by an empty line.
func yarnFacts(data []byte) ([]string, error) {
	if bytes.Contains(data, []byte("\n<<<<<<<")) {
		return nil, fmt.Errorf("conflict markers")
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	var said []string
	for entry := range bytes.SplitSeq(data, []byte("\n\n")) {
		sum := yarnIntegrity.FindSubmatch(entry)
		resolved := yarnResolved.FindSubmatch(entry)
		version := yarnVersion.FindSubmatch(entry)
		if sum != nil && resolved != nil && version != nil {
			said = append(said, fmt.Sprintf("%s %s %s", resolved[1], version[1], sum[1]))
		}
	}
	return said, nil
}

// A package of pnpm-lock.yaml with its checksum; from lockfile 5 to 6 the key ends
// with the peers, which say nothing of the content.
var pnpmPackage = regexp.MustCompile(`(?m)^  '?/?(@?[^\s(']+)[^\n]*:\n    resolution: \{([^\n]*)\}`)

func pnpmFacts(data []byte) ([]string, error) {
	if bytes.Contains(data, []byte("\n<<<<<<<")) {
		return nil, fmt.Errorf("conflict markers")
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	var said []string
	for _, found := range pnpmPackage.FindAllSubmatch(data, -1) {
		key, _, _ := strings.Cut(string(found[1]), "_")
		said = append(said, strings.TrimSuffix(key, ":")+" "+string(found[2]))
	}
	return said, nil
}

func cargoFacts(data []byte) ([]string, error) {
	var lock struct {
		Package []crate `toml:"package"`
	}
	if err := toml.Unmarshal(data, &lock); err != nil {
		return nil, err
	}
	var said []string
	for _, c := range lock.Package {
		if c.Source != "" {
			said = append(said, fmt.Sprintf("%s %s %s %s", c.Name, c.Version, c.Source, c.Checksum))
		}
	}
	return said, nil
}

func goFacts(data []byte) ([]string, error) {
	var said []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			said = append(said, line)
		}
	}
	return said, nil
}
