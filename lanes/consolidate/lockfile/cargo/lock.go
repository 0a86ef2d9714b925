// Package cargo knows Rust's files: Cargo.lock and Cargo.toml.
package cargo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"deps.dev/util/semver"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

// Ecosystem is the name users filter by.
const Ecosystem = "cargo"

// crate is a [[package]] of the lockfile.
type crate struct {
	name, version, source, checksum string
	extra                           []string // lines of keys that we do not know
	deps                            []string // keys of the crates it needs
	refs                            []string // deps as the file writes them, until they are decoded
	line                            int
}

// Formats returns Cargo's formats.
func Formats() []*lockfile.Format {
	r := version.New(semver.Cargo)
	return []*lockfile.Format{manifestFormat(r), lockFormat(r)}
}

func lockFormat(r *version.Rules) *lockfile.Format {
	return &lockfile.Format{
		Name:      "Cargo.lock",
		Ecosystem: Ecosystem,
		Lock:      true,
		Match:     func(p string, _ []byte) bool { return path.Base(p) == "Cargo.lock" },
		Parse:     func(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) { return parseLock(r, content, like) },
		Encode:    func(d *lockfile.Doc) ([]byte, error) { return encodeLock(r, d), nil },
		Compare:   func(a, b *lockfile.Node) (int, bool) { return r.Compare(a.Version, b.Version) },
		Combine: func(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
			return combine(r, before, ours, theirs)
		},
		Check: func(d *lockfile.Doc, t lockfile.Tree) []lockfile.Problem { return checkLock(r, d, t) },
	}
}

const (
	opening  = "[[package]]\n"
	metadata = "[metadata]\n"
	// Nodes of what is no package.
	headKey = "#head" // up to the first package
	tailKey = "#tail" // behind the last one: unused patches, empty lines
)

// head is the Data of the node with headKey.
type head struct {
	text string
	// full says that references are written in full and checksums stand in
	// [metadata], as in the first version of the format.
	full bool
}

// lockSyntax is how one file writes what any could write in another way.
type lockSyntax struct {
	blocks map[string]block // by key
	end    string           // of the last package's line
	meta   block            // [metadata]
	sorted bool
}

// block is a piece of a file and what we would have written for it.
type block struct {
	text, ours string
	// gap is the empty lines behind it.
	gap string
}

// as gives the file's own text for what is still the same.
func (b block) as(ours string) string {
	if b.ours == ours {
		return b.text
	}
	return ours
}

func parseLock(r *version.Rules, content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	if bytes.Contains(content, []byte("[root]\n")) {
		return nil, errors.New("written by a cargo of before 2018")
	}
	f, err := splitLock(string(content))
	if err != nil {
		return nil, err
	}
	d := lockfile.NewDoc(len(f.crates) + 2)
	syn := &lockSyntax{blocks: make(map[string]block, len(f.crates)), end: f.end, sorted: true}
	d.Syntax = syn
	t := newTable(f.crates)
	for i, c := range f.crates {
		if i > 0 && byPackage(r)(f.crates[i-1], c) > 0 {
			syn.sorted = false
		}
		if c.checksum == "" {
			c.checksum = f.sums[c.full()]
		}
		for _, ref := range c.refs {
			to, err := t.find(ref)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s %s: %w", c.line, c.name, c.version, err)
			}
			c.deps = append(c.deps, to)
		}
		n := reuse(like, c.node(t.key[c]))
		if !d.Add(n) {
			return nil, &lockfile.DuplicateError{Key: c.full(), Line: c.line}
		}
		syn.blocks[n.Key] = f.texts[i]
	}
	h := head{f.head, f.full}
	d.Add(reuse(like, &lockfile.Node{Key: headKey, Raw: fmt.Appendf(nil, "%v\x00%s", h.full, h.text), Data: h}))
	d.Add(reuse(like, &lockfile.Node{Key: tailKey, Raw: []byte(f.tail)}))
	w := newWriter(r, d)
	for key, b := range syn.blocks {
		b.ours = w.crate(d.Node(key).Data.(*crate))
		syn.blocks[key] = b
	}
	syn.meta = block{text: f.meta, ours: w.sums()}
	if !bytes.Equal(encodeLock(r, d), content) {
		return nil, errors.New("not in the order in which cargo writes a lockfile")
	}
	return d, nil
}

func reuse(like *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if like == nil {
		return n
	}
	if old := like.Node(n.Key); old != nil && bytes.Equal(old.Raw, n.Raw) {
		return old
	}
	return n
}

// full is how version 1 of the file writes a reference.
func (c *crate) full() string {
	s := c.name + " " + c.version
	if c.source != "" {
		s += " (" + c.source + ")"
	}
	return s
}

// place is the source without the commit that it is locked to.
func place(source string) string {
	s, _, _ := strings.Cut(source, "#")
	return s
}

// slot is the range of versions of which Cargo locks at most one: those that
// ^ calls compatible.
func slot(v string) string {
	core, _, _ := strings.Cut(v, "+")
	core, _, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	for i, p := range parts {
		if p != "0" {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return core
}

// node gives the crate its canonical text: its references as keys, so that it
// means the same beside any other crates.
func (c *crate) node(key string) *lockfile.Node {
	slices.Sort(c.deps)
	n := &lockfile.Node{Key: key, Name: c.name, Version: c.version, Root: c.source == "", Data: c}
	n.Raw = []byte(strings.Join([]string{
		c.version, c.source, c.checksum, strings.Join(c.extra, "\n"), strings.Join(c.deps, "\n"),
	}, "\x00"))
	for _, to := range c.deps {
		name, _, _ := strings.Cut(to, " ")
		n.Edges = append(n.Edges, lockfile.Edge{Name: name, To: to})
	}
	return n
}

// table finds crates by the short references of one file.
type table struct {
	key    map[*crate]string
	byName map[string][]*crate
}

func newTable(crates []*crate) *table {
	t := &table{key: map[*crate]string{}, byName: map[string][]*crate{}}
	taken := map[string]bool{}
	for _, c := range crates {
		k := c.name + " " + slot(c.version) + " " + place(c.source)
		if taken[k] { // Cargo would not write it; keep both apart.
			k = c.name + " " + c.version + " " + place(c.source)
		}
		taken[k] = true
		t.key[c] = k
		t.byName[c.name] = append(t.byName[c.name], c)
	}
	return t
}

// find gives the key of the crate that a reference means. One that means none
// gets a key that no crate has, with a question mark: Check reports it.
func (t *table) find(ref string) (string, error) {
	name, rest, _ := strings.Cut(ref, " ")
	ver, source, _ := strings.Cut(rest, " ")
	source = strings.TrimSuffix(strings.TrimPrefix(source, "("), ")")
	var hits []*crate
	for _, c := range t.byName[name] {
		if (ver == "" || ver == c.version) && (source == "" || place(source) == place(c.source)) {
			hits = append(hits, c)
		}
	}
	switch {
	case len(hits) == 0:
		return ref + " ?", nil
	case len(hits) > 1 && t.key[hits[0]] != t.key[hits[1]]:
		return "", fmt.Errorf("the reference %s fits %d packages", strconv.Quote(ref), len(hits))
	}
	return t.key[hits[0]], nil
}

// byPackage is the order of packages: by name, version, and the kind of source.
func byPackage(r *version.Rules) func(a, b *crate) int {
	return func(a, b *crate) int {
		if c := cmp.Compare(a.name, b.name); c != 0 {
			return c
		}
		if c, ok := r.Compare(a.version, b.version); ok && c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(kind(a.source), kind(b.source)), cmp.Compare(a.source, b.source))
	}
}

// kind ranks sources as Cargo does: a folder, a registry, a git repository.
func kind(source string) int {
	switch {
	case source == "":
		return 0
	case strings.HasPrefix(source, "registry+"):
		return 1
	case strings.HasPrefix(source, "sparse+"):
		return 2
	case strings.HasPrefix(source, "git+"):
		return 4
	}
	return 3
}

// combine merges two entries of one version: their edges as sets. Where both lead
// to another crate of one name, it is one need, and the higher crate meets it: a
// published version needs what it needs, and of a folder's package this holds when
// both have moved away from one crate.
func combine(r *version.Rules, before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
	o, okO := ours.Data.(*crate)
	t, okT := theirs.Data.(*crate)
	if !okO || !okT || o.source != t.source {
		return nil, false
	}
	b := &crate{}
	if before != nil {
		b = before.Data.(*crate)
	}
	c := *o
	c.deps = nil
	for _, k := range o.deps {
		if slices.Contains(t.deps, k) || !slices.Contains(b.deps, k) {
			c.deps = append(c.deps, k)
		}
	}
	for _, k := range t.deps {
		if !slices.Contains(o.deps, k) && !slices.Contains(b.deps, k) {
			c.deps = append(c.deps, k)
		}
	}
	for _, k := range c.deps {
		name, _, _ := strings.Cut(k, " ")
		mine, other := news(name, b, o, t), news(name, b, t, o)
		if len(mine) != 1 || len(other) != 1 || o.source == "" && !left(name, b, o, t) {
			continue
		}
		// One need, met in two ways.
		order, ok := compareSlots(r, mine[0], other[0])
		if !ok {
			return nil, false
		}
		lower := other[0]
		if order < 0 {
			lower = mine[0]
		}
		c.deps = slices.DeleteFunc(slices.Clone(c.deps), func(k string) bool { return k == lower })
	}
	switch {
	case o.checksum == t.checksum || t.checksum == b.checksum:
	case o.checksum == b.checksum:
		c.checksum = t.checksum
	default:
		return nil, false // one version with two contents
	}
	return c.node(ours.Key), true
}

// news are the crates of a name that c leads to and that neither its fork nor the
// other side does.
func news(name string, before, c, other *crate) []string {
	return slices.DeleteFunc(slices.Clone(c.deps), func(k string) bool {
		n, _, _ := strings.Cut(k, " ")
		return n != name || slices.Contains(before.deps, k) || slices.Contains(other.deps, k)
	})
}

// left reports whether both sides have moved away from a crate of a name.
func left(name string, before, a, b *crate) bool {
	return slices.ContainsFunc(before.deps, func(k string) bool {
		n, _, _ := strings.Cut(k, " ")
		return n == name && !slices.Contains(a.deps, k) && !slices.Contains(b.deps, k)
	})
}

// compareSlots orders two keys of one crate.
func compareSlots(r *version.Rules, a, b string) (int, bool) {
	full := func(key string) string {
		s := strings.Split(key, " ")[1]
		return s + strings.Repeat(".0", max(0, 2-strings.Count(s, ".")))
	}
	return r.Compare(full(a), full(b))
}
