package pnpm

import (
	"cmp"
	"crypto/md5" //nolint:gosec // pnpm's choice of name, not a protection
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Where the peers in a name would be long, pnpm writes a digest of them. A
// digest cannot be renamed, so it is read as what it stands for: the peers
// that the entry itself and what it needs tell of, if their digest is the one
// that is written. Writing the file makes digests again.

// A recipe makes digests: by generations of pnpm.
type recipe struct {
	size  int // of the digest
	limit int // longer peers get one; in bytes, without brackets
	make  func(peers string) string
}

// standard is the recipe of a lockfile version that only one was ever used for.
func standard(version string) *recipe {
	switch version {
	case "5.4":
		return recipes[0]
	case "5.3":
		return recipes[1]
	}
	return nil
}

var recipes = []*recipe{
	{26, 26, func(s string) string { // pnpm 7, and pnpm 9 with another limit
		sum := md5.Sum([]byte(s)) //nolint:gosec // pnpm's choice of name, not a protection
		return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	}},
	{32, 32, func(s string) string { // before pnpm 7
		sum := md5.Sum([]byte(s)) //nolint:gosec // pnpm's choice of name, not a protection
		return hex.EncodeToString(sum[:])
	}},
	{32, longestPeers, func(s string) string { // pnpm 10
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])[:32]
	}},
}

// longestPeers is the limit since pnpm 9, where the settings name no other.
const longestPeers = 1000

// limit is how long a file's peers may be before they become a digest; 0 when
// they never do, as with pnpm 8.
func (s *syntax) limit(doc *lockfile.Doc) int {
	most := longestPeers
	switch {
	case s.recipe != nil:
		most = s.recipe.limit
	case !s.apart:
		return 0
	}
	if n := doc.Node(keyOf("settings", "peersSuffixMaxLength")); n != nil {
		if v, err := strconv.Atoi(n.Version); err == nil && v > 0 {
			most = v
		}
	}
	for _, x := range idents(doc) { // a file that has longer ones has its own limit
		most = max(most, len(s.join(s.list(x.suffix))))
	}
	return most
}

// reader finds out what the digests of a file stand for.
type reader struct {
	graph
	recipe *recipe
	plain  map[string]string   // identities with digests, written out
	seen   map[string][]string // peers of identities, as written; nil: unknown
}

// expand writes the digests of a file out, as far as they can be read.
func expand(d, like *lockfile.Doc) *lockfile.Doc {
	if syntaxOf(d).longest == 0 {
		return d
	}
	r := &reader{graph: graphOf(d), plain: map[string]string{}, seen: map[string][]string{}}
	d.Nodes(func(n *lockfile.Node) {
		if x := packOf(n); x != nil && r.installed(n) {
			if digest(x.suffix) != "" {
				r.peers(x)
			}
		}
	})
	if len(r.plain) == 0 {
		return d
	}
	r.unfold()
	out, was := (&renaming{dialect: r.dialect, whole: r.plain}).doc(d)
	for k := range was.then {
		packOf(out.Node(k)).recipe = r.recipe // the node is new
	}
	if like != nil {
		for _, k := range out.Keys() {
			if old := like.Node(k); lockfile.Same(old, out.Node(k)) {
				out.Set(old, "")
			}
		}
	}
	return out
}

// peers are those of a package as its name writes them, or would.
func (r *reader) peers(x *pack) []string {
	if list, ok := r.seen[x.full]; ok {
		return list
	}
	r.seen[x.full] = nil // a ring cannot be read
	want := digest(x.suffix)
	if want == "" {
		list := r.list(x.suffix)
		r.seen[x.full] = list
		return list
	}
	var list []string
	own := map[string]bool{x.ident.name: true}
	for _, dp := range x.deps {
		own[dp.name] = true
	}
	declared := peersOf(r.Doc, x)
	for _, dp := range x.deps {
		n, y := r.pack(dp)
		if n == nil {
			continue
		}
		if _, ok := declared[dp.name]; ok {
			if r.joined {
				list = append(list, y.ident.name+"@"+y.ident.version)
			} else {
				list = append(list, strings.TrimPrefix(y.full, r.prefix))
			}
			continue
		}
		for _, p := range r.peers(y) {
			if q, ok := partOf(p); ok && !own[q.name] {
				list = append(list, p)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	text := r.join(list)
	if len(text) <= r.longest || len(text) > longestName { // it would be written out, or nobody wrote it
		return nil
	}
	for _, c := range recipes {
		if c.size == len(want) && c.make(text) == want {
			r.recipe = c
			r.plain[x.full] = x.ident.bare + r.wrap(text)
			r.seen[x.full] = list
			return list
		}
	}
	return nil
}

// unfold writes out the digests that stand in what digests stand for, unless
// that gets too long to work with.
func (r *reader) unfold() {
	const most = 16 * longestPeers
	by := &renaming{dialect: r.dialect, whole: r.plain}
	for _, id := range slices.SortedFunc(maps.Keys(r.plain), func(a, b string) int { return len(r.plain[a]) - len(r.plain[b]) }) {
		bare, suffix := r.cut(r.plain[id])
		if to := bare + by.suffix(id, suffix, true); len(to) <= most {
			r.plain[id] = to
		} else {
			delete(r.plain, id)
		}
	}
}

// digest is the digest that a suffix consists of; empty: it is none.
func digest(suffix string) string {
	if s := strings.Trim(suffix, "_()"); hashed(s) && len(suffix) <= len(s)+2 {
		return s
	}
	return ""
}

// list takes the peers of a name apart, as they are written.
func (d *dialect) list(suffix string) []string {
	var out []string
	d.rename(suffix, func(peer string) string {
		out = append(out, peer)
		return peer
	})
	return out
}

// join writes peers side by side, as digests are made of.
func (d *dialect) join(peers []string) string {
	if d.joined {
		out := make([]string, len(peers))
		for i, p := range peers {
			out[i] = strings.Replace(p, "/", "+", 1)
		}
		slices.Sort(out)
		return strings.Join(out, "+")
	}
	return strings.Join(peers, ")(")
}

// wrap is the end of a name that has these peers.
func (d *dialect) wrap(joined string) string {
	if d.joined {
		return "_" + joined
	}
	return "(" + joined + ")"
}

// shorten makes digests of what is too long to be written; unknown are the
// identities for which the file does not show how.
func shorten(d *lockfile.Doc) (out *lockfile.Doc, unknown []string) {
	syn := syntaxOf(d)
	if syn.longest == 0 {
		return d, nil
	}
	var long []ident
	for _, x := range idents(d) {
		if len(x.suffix) > syn.longest {
			long = append(long, x)
		}
	}
	if len(long) == 0 {
		return d, nil
	}
	how := syn.recipe
	d.Nodes(func(n *lockfile.Node) {
		if x := packOf(n); x != nil && x.recipe != nil {
			how = x.recipe
		}
	})
	short := map[string]string{}
	r := &renaming{dialect: syn.dialect, whole: short}
	// From the shortest: a name is longer than those that stand in it.
	slices.SortFunc(long, func(a, b ident) int { return cmp.Or(len(a.full)-len(b.full), cmp.Compare(a.full, b.full)) })
	for _, x := range long {
		_, suffix := syn.cut(r.id(x.full))
		text := syn.join(syn.list(suffix))
		switch {
		case digest(suffix) != "", len(text) <= syn.longest:
		case how == nil:
			unknown = append(unknown, x.full)
		default:
			short[x.full] = x.bare + syn.wrap(how.make(text))
		}
	}
	if len(short) == 0 {
		return d, unknown
	}
	out, _ = r.doc(d)
	return out, unknown
}
