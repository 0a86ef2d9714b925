package yarn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

const (
	// metadata is the key of the entry that says how the file is written.
	metadata = "__metadata"
	// localVersion is what berry writes for a folder of the project.
	localVersion = "0.0.0-use.local"
	// prefixed is the first version of the file in which requirements have
	// their protocol: npm:^1.0.0.
	prefixed = 7
	// longKey is the length, in quotes, from which a key is written behind "? ".
	longKey = 1024
)

// berry is the lockfile of yarn 2 and later.
func berry(r npm.Ranges) *dialect {
	added := knownExtensions()
	return &dialect{
		name:      "yarn.lock of yarn 2 and later",
		berry:     true,
		at:        "resolution",
		keys:      berryKeys,
		line:      berryLine,
		cut:       berryCut,
		separator: ": ",
		before: ranked([]string{
			metadata, "version", "resolution", "dependencies", "peerDependencies", "dependenciesMeta", "peerDependenciesMeta", "binaries",
		}),
		group:   berryGroup,
		compare: berryCompare,
		edges:   func(e *entry) []lockfile.Edge { return append(berryEdges(e), added.edges(r, e)...) },
		origin:  berryOrigin,
		target:  berryTarget,
	}
}

func berryKeys(line string) ([]string, error) {
	if strings.HasPrefix(line, `"`) {
		s, ok := jsontext.String([]byte(line))
		if !ok || stringEnd(line) != len(line) {
			return nil, fmt.Errorf("not a key: %s", quoted(line))
		}
		line = s
	}
	keys := strings.Split(line, ",")
	for i, k := range keys {
		if keys[i] = strings.Trim(k, " "); keys[i] == "" {
			return nil, errNoDescriptor
		}
	}
	return keys, nil
}

func berryLine(keys []string) string {
	line := berryString(strings.Join(keys, ", "))
	if len(line) > longKey {
		return "? " + line + "\n:"
	}
	return line + ":"
}

// berryString writes a string, in quotes where berry uses them.
func berryString(s string) string {
	const never = ",][{}:#" // nowhere in a plain string
	if s == "" || strings.ContainsAny(s[:1], never+"-?&*!|>'\"%@` \t\r\n") ||
		strings.ContainsAny(s, never+"\r\n") || strings.HasSuffix(s, " ") || strings.HasSuffix(s, "\t") {
		return jsontext.Quote(s)
	}
	return s
}

func berryCut(line string) (field, bool, error) {
	var key, rest string
	if strings.HasPrefix(line, `"`) {
		end := stringEnd(line)
		if end < 0 {
			return field{}, false, fmt.Errorf("a string without an end: %s", quoted(line))
		}
		key, rest = line[:end], line[end:]
		if _, ok := jsontext.String([]byte(key)); !ok {
			return field{}, false, fmt.Errorf("not a string: %s", quoted(key))
		}
	} else {
		i := strings.Index(line+" ", ": ")
		if i <= 0 {
			return field{}, false, fmt.Errorf("not a line of a yarn.lock: %s", quoted(line))
		}
		key, rest = line[:i], line[i:]
	}
	if rest == ":" {
		return field{key: key}, true, nil
	}
	value, ok := strings.CutPrefix(rest, ": ")
	if value = strings.TrimLeft(value, " "); !ok || !berryScalar(value) {
		return field{}, false, fmt.Errorf("not a field of a yarn.lock: %s", quoted(line))
	}
	return field{key: key, value: value}, false, nil
}

// berryScalar reports whether a value is a plain or a quoted string. Berry
// writes nothing else of what YAML offers.
func berryScalar(v string) bool {
	if strings.HasPrefix(v, `"`) {
		_, ok := jsontext.String([]byte(v))
		return ok && stringEnd(v) == len(v)
	}
	return v != "" && !strings.ContainsAny(v[:1], ",][{}#&*!|>'%@`") && !strings.Contains(v, ": ") && !strings.Contains(v, " #")
}

func berryGroup(key string, e *entry) string {
	if e.at == "" {
		return "=" + key
	}
	return e.at
}

func berryCompare(a, b []string) int {
	if (a[0] == metadata) != (b[0] == metadata) {
		if a[0] == metadata {
			return -1
		}
		return 1
	}
	return strings.Compare(strings.Join(a, ", "), strings.Join(b, ", "))
}

func berryEdges(e *entry) []lockfile.Edge {
	var out []lockfile.Edge
	for _, p := range e.pairs("dependencies") {
		out = append(out, needs(p[0], p[1], e.at, e.prefixed())...)
	}
	return out
}

// berryOrigin is the package that a patch is made for.
func berryOrigin(key string) []lockfile.Edge {
	source := patched(key)
	if source == "" {
		return nil
	}
	name, rng := descriptorOf(source)
	return []lockfile.Edge{{Name: name, Req: rng, To: name + "@" + withProtocol(rng)}}
}

// prefixed reports whether requirements have their protocol in the entry's file.
func (e *entry) prefixed() bool {
	v, _, _ := strings.Cut(e.meta, "/")
	n, err := strconv.Atoi(v)
	return err == nil && n >= prefixed
}

// patchedByYarn are the packages that yarn patches wherever they are needed.
var patchedByYarn = map[string]bool{"fsevents": true, "resolve": true, "typescript": true}

// builtins are the ways in which releases of yarn name such a patch; edges have
// the first.
var builtins = []string{"#builtin<", "#~builtin<", "#optional!builtin<"}

// needs are the edges of one requirement: to its descriptor, and to yarn's own
// patch of it, which not every project has.
func needs(name, req, by string, prefixed bool) []lockfile.Edge {
	rng := withProtocol(req)
	out := []lockfile.Edge{{Name: name, Req: req, To: name + "@" + bound(rng, by)}}
	if patchedByYarn[name] && !strings.HasPrefix(rng, "patch:") {
		source := name + "@" + req
		if prefixed {
			source = name + "@" + rng
		}
		out = append(out, lockfile.Edge{
			Name: name, Req: "*", Kind: lockfile.Optional,
			To: name + "@patch:" + patchEscape.Replace(source) + builtins[0] + "compat/" + name + ">",
		})
	}
	return out
}

var patchEscape = strings.NewReplacer("%", "%25", ":", "%3A", "#", "%23")

var patchUnescape = strings.NewReplacer("%25", "%", "%3A", ":", "%3a", ":", "%23", "#")

// berryTarget finds a descriptor in the ways in which releases of yarn write it.
func berryTarget(d *lockfile.Doc, _ *lockfile.Node, e lockfile.Edge) *lockfile.Node {
	if n := d.Node(e.To); n != nil {
		return n
	}
	if before, after, ok := strings.Cut(e.To, builtins[0]); ok {
		for _, b := range builtins[1:] {
			if n := d.Node(before + b + after); n != nil {
				return n
			}
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(e.To, e.Name+"@npm:"); ok {
		return d.Node(e.Name + "@" + rest)
	}
	return nil
}

// withProtocol is a range as berry looks it up: npm: is what has no protocol and
// is no path.
func withProtocol(rng string) string {
	if strings.ContainsAny(rng, ":/") {
		return rng
	}
	return "npm:" + rng
}

// bound adds to a range that names a path who says so, as the path is relative
// to that one's folder.
func bound(rng, by string) string {
	if by == "" || strings.Contains(rng, "::") || !relative(rng) {
		return rng
	}
	if strings.HasPrefix(rng, ".") || strings.HasPrefix(rng, "/") {
		rng = "file:" + rng
	}
	return rng + "::locator=" + escape(by)
}

func relative(rng string) bool {
	for _, p := range []string{"file:", "portal:", "link:", "exec:", "./", "../", "/"} {
		if strings.HasPrefix(rng, p) {
			return true
		}
	}
	if !strings.HasPrefix(rng, "patch:") {
		return false
	}
	_, files, _ := strings.Cut(rng, "#")
	for f := range strings.SplitSeq(files, "&") {
		f = strings.TrimPrefix(f, "optional!")
		if strings.HasPrefix(f, "~/") { // from the project's root
			continue
		}
		f = strings.TrimPrefix(f, "~")
		if f != "" && !strings.HasPrefix(f, "builtin<") && !strings.HasPrefix(f, "/") {
			return true
		}
	}
	return false
}

// patched is the descriptor that a patch descriptor is made from.
func patched(descriptor string) string {
	_, rng := descriptorOf(descriptor)
	rest, ok := strings.CutPrefix(rng, "patch:")
	if !ok {
		return ""
	}
	source, _, _ := strings.Cut(rest, "#")
	return patchUnescape.Replace(source)
}

// escape writes a locator as a parameter of a range.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("-_.!~*'()", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// workspaceOf is the folder of a workspace's entry, from the lockfile's; false
// for any other.
func workspaceOf(e *entry) (string, bool) {
	_, ref := descriptorOf(e.at)
	return strings.CutPrefix(ref, "workspace:")
}
