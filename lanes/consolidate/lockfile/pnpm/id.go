package pnpm

import "strings"

// An ident is the name under which a lockfile keeps a package, taken apart.
type ident struct {
	full string // as the file writes it
	bare string // without the peers
	name string // empty where the file does not name it: a tarball, a folder, before 9.0
	// version is what stands for it; an address for what is not from a registry.
	version string
	suffix  string // the peers, as written; empty: none
}

// A dialect is how one generation of the lockfile writes identities.
type dialect struct {
	// split tells where an identity's peers begin.
	cut func(id string) (bare, suffix string)
	// prefix stands before name and version; sep stands between them.
	prefix, sep string
	// apart: the file keeps what a package is (packages) apart from how it is
	// installed (snapshots).
	apart bool
	// joined: peers are written _a@1+b@2, not (a@1)(b@2).
	joined bool
	// own: requirements stand apart from versions, in specifiers.
	own bool
	// flags: every package says whether it is for development only.
	flags bool
}

// dialects by the lockfile's major version.
var dialects = map[byte]*dialect{
	'5': {cut: cutJoined, prefix: "/", sep: "/", joined: true, own: true, flags: true},
	'6': {cut: cutParens, prefix: "/", sep: "@", flags: true},
	'9': {cut: cutParens, sep: "@", apart: true},
}

// parse takes an identity apart.
func (d *dialect) parse(id string) ident {
	x := ident{full: id}
	x.bare, x.suffix = d.cut(id)
	rest, ok := strings.CutPrefix(x.bare, d.prefix)
	if !ok {
		x.version = x.bare
		return x
	}
	rest, _ = cutPatch(rest)
	from := 0
	if strings.HasPrefix(rest, "@") {
		from = strings.IndexByte(rest, '/') + 1
	}
	if at := strings.Index(rest[from:], d.sep); at > 0 {
		x.name, x.version = rest[:from+at], rest[from+at+len(d.sep):]
	} else {
		x.version = rest
	}
	return x
}

// pkg is the identity under which the packages section keeps what is the same
// for all peers and patches.
func (x ident) pkg() string {
	bare, _ := cutPatch(x.bare)
	return bare
}

const patch = "(patch_hash="

func cutPatch(bare string) (rest, hash string) {
	if i := strings.Index(bare, patch); i > 0 && strings.HasSuffix(bare, ")") {
		return bare[:i], bare[i:]
	}
	return bare, ""
}

// cutParens cuts the groups in parentheses off the end, but for a patch's.
func cutParens(id string) (bare, suffix string) {
	at, depth := len(id), 0
	for i := len(id) - 1; i > 0; i-- {
		switch id[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth < 0 || depth == 0 && id[i] != '(' {
			break
		}
		if depth == 0 {
			at = i
		}
	}
	if depth > 0 {
		at = len(id)
	}
	if strings.HasPrefix(id[at:], patch) {
		at += strings.IndexByte(id[at:], ')') + 1
	}
	return id[:at], id[at:]
}

// cutJoined cuts at the underscore in the last part.
func cutJoined(id string) (bare, suffix string) {
	last := strings.LastIndexByte(id, '/') + 1
	i := strings.IndexByte(id[last:], '_')
	if i < 0 {
		return id, ""
	}
	if s := id[last+i+1:]; !strings.Contains(s, "@") && !hashed(s) {
		return id, ""
	}
	return id[:last+i], id[last+i:]
}

// hashed reports whether a suffix is a digest: 26 characters in base 32, or 32
// in base 16. pnpm writes one where the suffix would be long.
func hashed(s string) bool {
	if len(s) != 26 && len(s) != 32 {
		return false
	}
	return strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// A part is one peer in a suffix.
type part struct{ name, version string }

// Names that pnpm writes are far from these. Longer or deeper ones are taken
// for a digest: left as they are, at no cost.
const (
	deepest     = 32
	longestName = 1 << 16 // bytes
)

// sane reports whether a suffix can be worked with.
func sane(suffix string) bool {
	if len(suffix) > longestName {
		return false
	}
	depth := 0
	for i := range len(suffix) {
		switch suffix[i] {
		case '(':
			if depth++; depth > deepest {
				return false
			}
		case ')':
			depth--
		}
	}
	return true
}

// parts are the peers of a suffix at all depths; top are those of the package
// itself. Opaque: some of the suffix is a digest.
func (d *dialect) parts(suffix string) (all, top []part, opaque bool) {
	if !sane(suffix) {
		return nil, nil, true
	}
	if d.joined {
		list, ok := joined(suffix)
		return list, list, !ok
	}
	depth := 0
	for i := 0; i < len(suffix); i++ {
		switch suffix[i] {
		case ')':
			depth--
		case '(':
			depth++
			tok := token(suffix[i+1:])
			if strings.HasPrefix(suffix[i:], patch) {
				continue
			}
			p, ok := partOf(tok)
			if !ok {
				opaque = true
				continue
			}
			all = append(all, p)
			if depth == 1 {
				top = append(top, p)
			}
		}
	}
	return all, top, opaque
}

func token(s string) string {
	if i := strings.IndexAny(s, "()"); i >= 0 {
		return s[:i]
	}
	return s
}

func partOf(tok string) (part, bool) {
	if at := strings.Index(tok[min(1, len(tok)):], "@"); at >= 0 {
		return part{tok[:at+1], tok[at+2:]}, true
	}
	return part{}, false
}

// joined takes _a@1+@s+b@2 apart, where a scope's slash is a plus too.
func joined(suffix string) ([]part, bool) {
	if suffix == "" {
		return nil, true
	}
	var out []part
	pieces := strings.Split(suffix[1:], "+")
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		if strings.HasPrefix(p, "@") && !strings.Contains(p[1:], "@") && i+1 < len(pieces) {
			i++
			p += "/" + pieces[i]
		}
		x, ok := partOf(p)
		if !ok {
			return nil, false
		}
		out = append(out, x)
	}
	return out, true
}

// rename writes every peer of a suffix anew. f gets a peer as it is written:
// with its own peers, if it has some.
func (d *dialect) rename(suffix string, f func(peer string) string) string {
	if suffix == "" || !sane(suffix) {
		return suffix
	}
	var b strings.Builder
	b.Grow(len(suffix))
	if d.joined {
		list, ok := joined(suffix)
		if !ok {
			return suffix
		}
		for i, p := range list {
			b.WriteByte("_+"[min(i, 1)])
			b.WriteString(strings.ReplaceAll(f(p.name+"@"+p.version), "/", "+"))
		}
		return b.String()
	}
	depth, start := 0, 0
	for i := 0; i < len(suffix); i++ {
		switch suffix[i] {
		case '(':
			if depth == 0 {
				start = i + 1
			}
			depth++
		case ')':
			depth--
			if depth == 0 {
				b.WriteString("(" + f(suffix[start:i]) + ")")
			}
		}
	}
	return b.String()
}

// target is the identity that a dependency's value leads to; empty for what
// is not in the lockfile: a linked folder.
func (d *dialect) target(name, ref string) string {
	if strings.HasPrefix(ref, "link:") || ref == "" {
		return ""
	}
	bare, _ := d.cut(ref)
	switch {
	case d.apart:
		at, colon := strings.Index(bare, "@"), strings.IndexByte(bare, ':')
		if at == 0 || at > 0 && (colon < 0 || at < colon) {
			return ref
		}
	case strings.HasPrefix(bare, "file:"), strings.Contains(bare, "/"):
		return ref
	}
	return d.prefix + name + d.sep + ref
}

// ref is the inverse: how a dependent that calls the package name writes it.
func (d *dialect) ref(name, id string) string {
	if rest, ok := strings.CutPrefix(id, d.prefix+name+d.sep); ok && d.target(name, rest) == id {
		return rest
	}
	return id
}
