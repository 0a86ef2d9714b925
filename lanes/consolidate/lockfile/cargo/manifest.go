package cargo

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cells"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// manifestFile is the name of a manifest.
const manifestFile = "Cargo.toml"

// Keys: "dependencies/serde" for a requirement, wherever in the file and in
// whatever form it stands, and "dependencies/serde#tag" for a place in a git
// repository.
func manifestFormat(r *version.Rules) *lockfile.Format {
	return &lockfile.Format{
		Name:      manifestFile,
		Ecosystem: Ecosystem,
		Match:     func(p string, _ []byte) bool { return path.Base(p) == manifestFile },
		Parse:     parseManifest,
		Encode:    cells.Encode,
		Compare:   func(a, b *lockfile.Node) (int, bool) { return compareReqs(r, a, b) },
		Finish:    cells.Finish,
		Check:     checkManifest,
	}
}

// compareReqs orders two requirements by the lowest version that each admits,
// and two tags by the version in them. Commits have no order.
func compareReqs(r *version.Rules, a, b *lockfile.Node) (int, bool) {
	switch _, what, _ := strings.Cut(a.Key, "#"); what {
	case "tag":
		return version.Tags(a.Version, b.Version)
	case "rev":
		return 0, false
	}
	lowA, lowB := lowest(r, a.Version), lowest(r, b.Version)
	if lowA == "" || lowB == "" {
		return 0, false
	}
	return r.Compare(lowA, lowB)
}

// lowest is the lowest version that a requirement admits, or nothing when it is
// no requirement: the highest of the lower bounds of its parts.
func lowest(r *version.Rules, req string) string {
	const none = "0.0.0"
	best := none
	for part := range strings.SplitSeq(req, ",") {
		part = strings.TrimSpace(part)
		bound := strings.TrimLeft(part, "<>=^~ ")
		core, rest, _ := strings.Cut(bound, "-")
		numbers := strings.Split(core, ".")
		for i, n := range numbers {
			if n == "*" || n == "x" || n == "X" {
				numbers = numbers[:i]
				break
			}
		}
		for len(numbers) < 3 {
			numbers = append(numbers, "0")
		}
		bound = strings.Join(numbers, ".")
		if rest != "" {
			bound += "-" + rest
		}
		if c, ok := r.Compare(best, bound); !ok {
			return ""
		} else if c < 0 && !strings.HasPrefix(part, "<") {
			best = bound
		}
	}
	return best
}

func parseManifest(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if err := cells.CheckText(content); err != nil {
		return nil, err
	}
	found, err := requirements(content)
	if err != nil {
		return nil, err
	}
	d, err := cells.Parse(content, found, like)
	if err != nil {
		return nil, err
	}
	// What the parser of syntax does not see: a table or a key twice.
	var all object
	if err := toml.Unmarshal(content, &all); err != nil {
		return nil, err
	}
	return d, nil
}

// dependencyTables are the tables that hold requirements; the words with an
// underline are old.
var dependencyTables = []string{"dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies"}

// entry splits the path of a value inside a dependency into the dependency's
// key and the path below it.
func entry(path []string) (key string, below []string, ok bool) {
	var n int
	switch {
	case len(path) >= 2 && slices.Contains(dependencyTables, path[0]):
		n = 2
	case len(path) >= 3 && path[0] == "workspace" && path[1] == "dependencies":
		n = 3
	case len(path) >= 4 && path[0] == "target" && slices.Contains(dependencyTables, path[2]):
		n = 4
	default:
		return "", nil, false
	}
	return strings.Join(path[:n], "/"), path[n:], true
}

// requirements finds the values that bots move.
func requirements(content []byte) ([]cells.Span, error) {
	var out []cells.Span
	renamed := map[string]string{} // by the dependency's key
	err := walk(content, func(p []string, v *unstable.Node, at unstable.Range) {
		key, below, ok := entry(p)
		if !ok || v.Kind != unstable.String || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' }) {
			return
		}
		switch text := string(v.Data); {
		case len(below) > 1:
			return
		case len(below) == 1 && below[0] == "package":
			renamed[key] = text
			return
		case len(below) == 1 && (below[0] == "tag" || below[0] == "rev"):
			key += "#" + below[0]
		case len(below) == 1 && below[0] != "version":
			return
		}
		out = append(out, cells.Span{
			Start: int(at.Offset), End: int(at.Offset + at.Length), Key: key,
			Name: p[len(p)-len(below)-1], Version: string(v.Data),
		})
	})
	for i, s := range out {
		key, _, _ := strings.Cut(s.Key, "#")
		if name := renamed[key]; name != "" {
			out[i].Name = name
		}
		out[i].ID = out[i].Name
	}
	return out, err
}

// deepest is how many keys may lead to a value. Far fewer do, and some readers of
// TOML take a time that grows with the square of it.
const deepest = 64

var errDeep = fmt.Errorf("a value is more than %d keys deep", deepest)

// walk calls f for every value that is no table, with the path that leads to it.
// The error says what is wrong with the file's syntax.
func walk(content []byte, f func(path []string, v *unstable.Node, at unstable.Range)) error {
	var p unstable.Parser
	p.Reset(content)
	var table []string
	ok := true
	keys := func(under []string, it unstable.Iterator) []string {
		out := slices.Clip(under)
		for ok && it.Next() {
			out = append(out, string(it.Node().Data))
			ok = len(out) <= deepest
		}
		return out
	}
	var value func(path []string, kv *unstable.Node)
	value = func(under []string, kv *unstable.Node) {
		at := keys(under, kv.Key())
		v := kv.Value()
		if v.Kind != unstable.InlineTable {
			f(at, v, v.Raw)
			return
		}
		for it := v.Children(); ok && it.Next(); {
			if n := it.Node(); n.Kind == unstable.KeyValue {
				value(at, n)
			}
		}
	}
	for ok && p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keys(nil, e.Key())
		case unstable.KeyValue:
			value(table, e)
		}
	}
	if !ok {
		return errDeep
	}
	return p.Error()
}
