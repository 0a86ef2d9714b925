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

type lockSyntax struct {
	head   string // up to the first package
	tail   string // behind the last one: unused patches
	v1     bool   // checksums stand in [metadata], references in full
	sorted bool
}

// Formats returns Cargo's formats.
func Formats() []*lockfile.Format {
	r := version.New(semver.Cargo)
	return []*lockfile.Format{lockFormat(r)}
}

func lockFormat(r *version.Rules) *lockfile.Format {
	return &lockfile.Format{
		Name:      "Cargo.lock",
		Ecosystem: Ecosystem,
		Lock:      true,
		Match:     func(p string, _ []byte) bool { return path.Base(p) == "Cargo.lock" },
		Parse:     parseLock,
		Encode:    func(d *lockfile.Doc) ([]byte, error) { return encodeLock(r, d) },
		Compare:   func(a, b *lockfile.Node) (int, bool) { return r.Compare(a.Version, b.Version) },
		Combine:   combine,
		Check:     checkLock,
	}
}

const (
	opening  = "[[package]]\n"
	metadata = "[metadata]\n"
)

func parseLock(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	text := string(content)
	syn := &lockSyntax{sorted: true}
	d := lockfile.NewDoc(strings.Count(text, opening) + 1)
	d.Syntax = syn
	sums := map[string]string{}
	var crates []*crate
	line := 1
	first := true
	for _, block := range splitBlocks(text) {
		at := line
		line += strings.Count(block, "\n")
		switch {
		case strings.HasPrefix(block, opening):
			c, err := parseCrate(block, at)
			if err != nil {
				return nil, err
			}
			crates = append(crates, c)
		case strings.HasPrefix(block, metadata) && strings.Contains(block, `"checksum `):
			syn.v1 = true
			if err := parseSums(block, at, sums); err != nil {
				return nil, err
			}
		case first:
			syn.head = block
		default:
			syn.tail += block
		}
		first = false
	}
	if err := plausible(syn.head); err != nil {
		return nil, err
	}
	t := newTable(crates)
	for i, c := range crates {
		if i > 0 && !inOrder(crates[i-1], c) {
			syn.sorted = false
		}
		if c.checksum == "" {
			c.checksum = sums[c.full()]
		}
		for _, ref := range c.refs {
			to, err := t.find(ref)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s %s: %w", c.line, c.name, c.version, err)
			}
			c.deps = append(c.deps, to)
		}
		n := c.node(t.key[c])
		if old := likeNode(like, n); old != nil {
			n = old
		}
		if !d.Add(n) {
			return nil, &lockfile.DuplicateError{Key: c.full(), Line: c.line}
		}
	}
	d.Add(&lockfile.Node{Key: "#head", Raw: []byte(syn.head)})
	d.Add(&lockfile.Node{Key: "#tail", Raw: []byte(syn.tail)})
	return d, nil
}

func likeNode(like *lockfile.Doc, n *lockfile.Node) *lockfile.Node {
	if like == nil {
		return nil
	}
	if old := like.Node(n.Key); old != nil && bytes.Equal(old.Raw, n.Raw) {
		return old
	}
	return nil
}

// splitBlocks cuts the file before every table.
func splitBlocks(text string) []string {
	var out []string
	start := 0
	for i := 0; i < len(text); {
		end := strings.IndexByte(text[i:], '\n')
		if end < 0 {
			break
		}
		i += end + 1
		if i < len(text) && text[i] == '[' {
			out = append(out, text[start:i])
			start = i
		}
	}
	if start == 0 && strings.HasPrefix(text, "[") {
		return append(out, text)
	}
	return append(out, text[start:])
}

func plausible(head string) error {
	for i, l := range strings.Split(head, "\n") {
		if strings.HasPrefix(l, "<<<<<<<") {
			return lockfile.ErrConflictMarkers
		}
		if l != "" && l[0] != '#' && !strings.Contains(l, "=") {
			return fmt.Errorf("line %d: not a line of a Cargo.lock: %s", i+1, strconv.Quote(l))
		}
	}
	return nil
}

func parseCrate(block string, at int) (*crate, error) {
	c := &crate{line: at}
	lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		l := lines[i]
		key, val, ok := strings.Cut(l, " = ")
		if !ok {
			if strings.HasPrefix(l, "<<<<<<<") || strings.HasPrefix(l, "=======") || strings.HasPrefix(l, ">>>>>>>") {
				return nil, lockfile.ErrConflictMarkers
			}
			return nil, fmt.Errorf("line %d: not a line of a Cargo.lock: %s", at+i, strconv.Quote(l))
		}
		if key == "dependencies" {
			list, n, err := parseList(lines[i:])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", at+i, err)
			}
			c.refs = list
			i += n - 1
			continue
		}
		s, err := strconv.Unquote(val)
		field := map[string]*string{"name": &c.name, "version": &c.version, "source": &c.source, "checksum": &c.checksum}[key]
		if field == nil || err != nil {
			c.extra = append(c.extra, l)
			continue
		}
		*field = s
	}
	if c.name == "" || c.version == "" {
		return nil, fmt.Errorf("line %d: a package without name or version", at)
	}
	return c, nil
}

// parseList reads a TOML array of strings over one or more lines.
func parseList(lines []string) (list []string, used int, err error) {
	for i, l := range lines {
		if i == 0 {
			_, l, _ = strings.Cut(l, " = ")
			l = strings.TrimPrefix(l, "[")
		}
		done := strings.HasSuffix(strings.TrimSpace(l), "]")
		for _, item := range strings.Split(strings.TrimSuffix(strings.TrimSpace(l), "]"), ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			s, err := strconv.Unquote(item)
			if err != nil {
				return nil, 0, fmt.Errorf("not a dependency: %s", strconv.Quote(item))
			}
			list = append(list, s)
		}
		if done {
			return list, i + 1, nil
		}
	}
	return nil, 0, errors.New("a list without an end")
}

func parseSums(block string, at int, sums map[string]string) error {
	for i, l := range strings.Split(strings.TrimRight(block, "\n"), "\n")[1:] {
		k, v, ok := strings.Cut(l, " = ")
		key, err1 := strconv.Unquote(k)
		val, err2 := strconv.Unquote(v)
		name, isSum := strings.CutPrefix(key, "checksum ")
		if !ok || err1 != nil || err2 != nil || !isSum {
			return fmt.Errorf("line %d: not a checksum: %s", at+i+1, strconv.Quote(l))
		}
		sums[name] = val
	}
	return nil
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
		return ref + " ?", nil // a dangling reference: Check reports it
	case len(hits) > 1 && t.key[hits[0]] != t.key[hits[1]]:
		return "", fmt.Errorf("the reference %q fits %d packages", ref, len(hits))
	}
	return t.key[hits[0]], nil
}

func inOrder(a, b *crate) bool {
	if c := cmp.Compare(a.name, b.name); c != 0 {
		return c < 0
	}
	if a.version != b.version {
		return semver.Cargo.Compare(a.version, b.version) <= 0
	}
	return a.source <= b.source
}

func encodeLock(r *version.Rules, d *lockfile.Doc) ([]byte, error) {
	syn := d.Syntax.(*lockSyntax)
	var crates []*crate
	keys := map[string]*crate{}
	counts := map[string]map[string]int{}
	d.Nodes(func(n *lockfile.Node) {
		c, ok := n.Data.(*crate)
		if !ok {
			return
		}
		crates = append(crates, c)
		keys[n.Key] = c
		if counts[c.name] == nil {
			counts[c.name] = map[string]int{}
		}
		counts[c.name][c.version]++
	})
	if syn.sorted {
		slices.SortStableFunc(crates, func(a, b *crate) int {
			if c := cmp.Compare(a.name, b.name); c != 0 {
				return c
			}
			if c, ok := r.Compare(a.version, b.version); ok && c != 0 {
				return c
			}
			return cmp.Compare(a.source, b.source)
		})
	}
	var b bytes.Buffer
	b.WriteString(syn.head)
	var sums []string
	for i, c := range crates {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(opening)
		field := func(k, v string) {
			if v != "" {
				fmt.Fprintf(&b, "%s = %q\n", k, v)
			}
		}
		field("name", c.name)
		field("version", c.version)
		field("source", c.source)
		if !syn.v1 {
			field("checksum", c.checksum)
		} else if c.checksum != "" {
			sums = append(sums, fmt.Sprintf("%q = %q\n", "checksum "+c.full(), c.checksum))
		}
		for _, l := range c.extra {
			b.WriteString(l + "\n")
		}
		writeDeps(&b, c, keys, counts, syn.v1)
	}
	b.WriteString(syn.tail)
	if len(sums) > 0 {
		slices.Sort(sums)
		b.WriteString("\n" + metadata + strings.Join(sums, ""))
	}
	return b.Bytes(), nil
}

// writeDeps writes references as short as the crates in the file allow.
func writeDeps(b *bytes.Buffer, c *crate, keys map[string]*crate, counts map[string]map[string]int, full bool) {
	if len(c.deps) == 0 {
		return
	}
	refs := make([]string, 0, len(c.deps))
	for _, k := range c.deps {
		to := keys[k]
		switch {
		case to == nil:
			refs = append(refs, strings.TrimSuffix(k, " ?"))
		case full, counts[to.name][to.version] > 1:
			whole := *to
			whole.source = place(to.source)
			refs = append(refs, whole.full())
		case len(counts[to.name]) > 1:
			refs = append(refs, to.name+" "+to.version)
		default:
			refs = append(refs, to.name)
		}
	}
	slices.Sort(refs)
	b.WriteString("dependencies = [\n")
	for _, ref := range refs {
		fmt.Fprintf(b, " %q,\n", ref)
	}
	b.WriteString("]\n")
}

// combine merges two entries of one version: their edges as sets.
func combine(before, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
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
	if o.checksum != t.checksum && o.checksum == b.checksum {
		c.checksum = t.checksum
	}
	return c.node(ours.Key), true
}
