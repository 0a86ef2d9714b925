package pnpm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// sketch is a lockfile 9.0 in short: what the project asks for ("swr ^2.2.4
// 2.2.4(react@18.3.1)") and how packages are installed ("swr@2.2.4(react@18.3.1):
// react=18.3.1"). Peers say which package declares which peers; "sass?" is optional.
type sketch struct {
	asks, installs []string
	peers          map[string]string
}

func (s sketch) lock() string {
	var b strings.Builder
	b.WriteString("lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n\nimporters:\n\n  .:\n    dependencies:\n")
	for _, a := range slices.Sorted(slices.Values(s.asks)) {
		f := strings.Fields(a)
		fmt.Fprintf(&b, "      %s:\n        specifier: %s\n        version: %s\n", f[0], f[1], f[2])
	}
	whats, hows := map[string]string{}, map[string]string{}
	for _, i := range s.installs {
		id, deps, _ := strings.Cut(i, ":")
		bare, suffix := cutParens(id)
		name := bare[:strings.LastIndexByte(bare, '@')]
		what := fmt.Sprintf("\n  %s:\n    resolution: {integrity: sha512-%s==}\n", bare, bare)
		meta := ""
		if p := strings.Fields(s.peers[name]); len(p) > 0 {
			what += "    peerDependencies:\n"
			for _, p := range p {
				if q, ok := strings.CutSuffix(p, "?"); ok {
					p = q
					meta += "      " + p + ":\n        optional: true\n"
				}
				what += "      " + p + ": '*'\n"
			}
			if meta != "" {
				what += "    peerDependenciesMeta:\n" + meta
			}
		}
		whats[bare] = what
		how := "\n  " + id + ":"
		passed := map[string]bool{}
		_, top, _ := dialects['9'].parts(suffix)
		for _, p := range top {
			if !slices.Contains(strings.Fields(strings.ReplaceAll(s.peers[name], "?", "")), p.name) {
				passed[p.name] = true
			}
		}
		list := strings.Fields(deps)
		if len(list)+len(passed) == 0 {
			how += " {}"
		}
		how += "\n"
		if len(list) > 0 {
			how += "    dependencies:\n"
		}
		for _, d := range list {
			n, v, _ := strings.Cut(d, "=")
			how += "      " + n + ": " + v + "\n"
		}
		if len(passed) > 0 {
			how += "    transitivePeerDependencies:\n"
			for _, p := range sorted(passed) {
				how += "      - " + p + "\n"
			}
		}
		hows[id] = how
	}
	write := func(section string, m map[string]string) {
		b.WriteString("\n" + section + ":\n")
		for _, k := range slices.Sorted(maps.Keys(m)) {
			b.WriteString(m[k])
		}
	}
	write("packages", whats)
	write("snapshots", hows)
	return b.String()
}

var declares = map[string]string{"swr": "react", "react-dom": "react", "preset": "size-limit", "foo": "react sass?", "size-limit": "jiti?"}

func TestPeers(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		base, ours, head, want sketch
		tool                   string // part of the reason to ask pnpm
	}{
		{
			name: "one bumps the package, the other its peer: the right key is on no side",
			base: sketch{asks: []string{"react ^18.3.1 18.3.1", "swr ^2.2.4 2.2.4(react@18.3.1)"},
				installs: []string{"react@18.3.1:", "swr@2.2.4(react@18.3.1): react=18.3.1"}},
			ours: sketch{asks: []string{"react ^18.3.1 18.3.1", "swr ^2.2.5 2.2.5(react@18.3.1)"},
				installs: []string{"react@18.3.1:", "swr@2.2.5(react@18.3.1): react=18.3.1"}},
			head: sketch{asks: []string{"react ^19.0.0 19.0.0", "swr ^2.2.4 2.2.4(react@19.0.0)"},
				installs: []string{"react@19.0.0:", "swr@2.2.4(react@19.0.0): react=19.0.0"}},
			want: sketch{asks: []string{"react ^19.0.0 19.0.0", "swr ^2.2.5 2.2.5(react@19.0.0)"},
				installs: []string{"react@19.0.0:", "swr@2.2.5(react@19.0.0): react=19.0.0"}},
		},
		{
			name: "peers of peers, and both sides bump react",
			base: sketch{asks: []string{"react ^18.3.1 18.3.1", "react-dom ^18.3.1 18.3.1(react@18.3.1)", "ui ^1.0.0 1.0.0(react-dom@18.3.1(react@18.3.1))"},
				installs: []string{"react@18.3.1:", "react-dom@18.3.1(react@18.3.1): react=18.3.1", "inner@1.0.0(react-dom@18.3.1(react@18.3.1)): react-dom=18.3.1(react@18.3.1)",
					"ui@1.0.0(react-dom@18.3.1(react@18.3.1)): inner=1.0.0(react-dom@18.3.1(react@18.3.1))"}},
			ours: sketch{asks: []string{"react ^18.3.2 18.3.2", "react-dom ^18.3.1 18.3.1(react@18.3.2)", "ui ^1.1.0 1.1.0(react-dom@18.3.1(react@18.3.2))"},
				installs: []string{"react@18.3.2:", "react-dom@18.3.1(react@18.3.2): react=18.3.2", "inner@1.0.0(react-dom@18.3.1(react@18.3.2)): react-dom=18.3.1(react@18.3.2)",
					"ui@1.1.0(react-dom@18.3.1(react@18.3.2)): inner=1.0.0(react-dom@18.3.1(react@18.3.2))"}},
			head: sketch{asks: []string{"react ^19.0.0 19.0.0", "react-dom ^19.0.0 19.0.0(react@19.0.0)", "ui ^1.0.0 1.0.0(react-dom@19.0.0(react@19.0.0))"},
				installs: []string{"react@19.0.0:", "react-dom@19.0.0(react@19.0.0): react=19.0.0", "inner@1.0.0(react-dom@19.0.0(react@19.0.0)): react-dom=19.0.0(react@19.0.0)",
					"ui@1.0.0(react-dom@19.0.0(react@19.0.0)): inner=1.0.0(react-dom@19.0.0(react@19.0.0))"}},
			want: sketch{asks: []string{"react ^19.0.0 19.0.0", "react-dom ^19.0.0 19.0.0(react@19.0.0)", "ui ^1.1.0 1.1.0(react-dom@19.0.0(react@19.0.0))"},
				installs: []string{"react@19.0.0:", "react-dom@19.0.0(react@19.0.0): react=19.0.0", "inner@1.0.0(react-dom@19.0.0(react@19.0.0)): react-dom=19.0.0(react@19.0.0)",
					"ui@1.1.0(react-dom@19.0.0(react@19.0.0)): inner=1.0.0(react-dom@19.0.0(react@19.0.0))"}},
		},
		{
			name: "the bumped peer has no peers of its own any more (prompt-area#202, #203)",
			base: sketch{asks: []string{"jiti ^2.7.0 2.7.0", "size-limit ^12.1.0 12.1.0(jiti@2.7.0)", "preset ^12.1.0 12.1.0(size-limit@12.1.0(jiti@2.7.0))"},
				installs: []string{"jiti@2.7.0:", "size-limit@12.1.0(jiti@2.7.0): jiti=2.7.0", "preset@12.1.0(size-limit@12.1.0(jiti@2.7.0)): size-limit=12.1.0(jiti@2.7.0)"}},
			ours: sketch{asks: []string{"jiti ^2.7.0 2.7.0", "size-limit ^13.0.1 13.0.1", "preset ^12.1.0 12.1.0(size-limit@13.0.1)"},
				installs: []string{"jiti@2.7.0:", "size-limit@13.0.1:", "preset@12.1.0(size-limit@13.0.1): size-limit=13.0.1"}, peers: map[string]string{"preset": "size-limit"}},
			head: sketch{asks: []string{"jiti ^2.7.0 2.7.0", "size-limit ^12.1.0 12.1.0(jiti@2.7.0)", "preset ^13.0.1 13.0.1(size-limit@12.1.0(jiti@2.7.0))"},
				installs: []string{"jiti@2.7.0:", "size-limit@12.1.0(jiti@2.7.0): jiti=2.7.0", "preset@13.0.1(size-limit@12.1.0(jiti@2.7.0)): size-limit=12.1.0(jiti@2.7.0)"}},
			want: sketch{asks: []string{"jiti ^2.7.0 2.7.0", "size-limit ^13.0.1 13.0.1", "preset ^13.0.1 13.0.1(size-limit@13.0.1)"},
				installs: []string{"jiti@2.7.0:", "size-limit@13.0.1:", "preset@13.0.1(size-limit@13.0.1): size-limit=13.0.1"}, peers: map[string]string{"preset": "size-limit"}},
		},
		{
			name: "one side gives a package a peer, the other bumps who needs the package",
			base: sketch{asks: []string{"bar ^1.0.0 1.0.0(react@18.3.1)", "react ^18.3.1 18.3.1"},
				installs: []string{"react@18.3.1:", "bar@1.0.0(react@18.3.1): foo=1.0.0(react@18.3.1)", "foo@1.0.0(react@18.3.1): react=18.3.1"}},
			ours: sketch{asks: []string{"bar ^1.0.0 1.0.0(react@18.3.1)(sass@1.0.0)", "react ^18.3.1 18.3.1", "sass ^1.0.0 1.0.0"},
				installs: []string{"react@18.3.1:", "sass@1.0.0:", "bar@1.0.0(react@18.3.1)(sass@1.0.0): foo=1.0.0(react@18.3.1)(sass@1.0.0)", "foo@1.0.0(react@18.3.1)(sass@1.0.0): react=18.3.1 sass=1.0.0"}},
			head: sketch{asks: []string{"bar ^1.1.0 1.1.0(react@18.3.1)", "react ^18.3.1 18.3.1"},
				installs: []string{"react@18.3.1:", "bar@1.1.0(react@18.3.1): foo=1.0.0(react@18.3.1)", "foo@1.0.0(react@18.3.1): react=18.3.1"}},
			tool: "only pnpm",
		},
		{
			name: "one side adds an optional peer, the other a package that takes it",
			base: sketch{asks: []string{"bar ^1.0.0 1.0.0", "react ^18.3.1 18.3.1"}, installs: []string{"react@18.3.1:", "bar@1.0.0:"}},
			ours: sketch{asks: []string{"bar ^1.0.0 1.0.0", "react ^18.3.1 18.3.1", "sass ^1.0.0 1.0.0"}, installs: []string{"react@18.3.1:", "sass@1.0.0:", "bar@1.0.0:"}},
			head: sketch{asks: []string{"bar ^1.0.0 1.0.0", "foo ^1.0.0 1.0.0(react@18.3.1)", "react ^18.3.1 18.3.1"},
				installs: []string{"react@18.3.1:", "bar@1.0.0:", "foo@1.0.0(react@18.3.1): react=18.3.1"}},
			tool: "foo@1.0.0 is locked without its peer sass",
		},
		{
			name: "a digest hides the peer that moves",
			base: sketch{asks: []string{"react ^18.3.1 18.3.1", "swr ^2.2.4 2.2.4(0123456789abcdef0123456789abcdef)"},
				installs: []string{"react@18.3.1:", "swr@2.2.4(0123456789abcdef0123456789abcdef): react=18.3.1"}},
			ours: sketch{asks: []string{"react ^19.0.0 19.0.0", "swr ^2.2.4 2.2.4(fedcba9876543210fedcba9876543210)"},
				installs: []string{"react@19.0.0:", "swr@2.2.4(fedcba9876543210fedcba9876543210): react=19.0.0"}},
			head: sketch{asks: []string{"react ^18.3.1 18.3.1", "swr ^2.2.5 2.2.5(00000000000000000000000000000000)"},
				installs: []string{"react@18.3.1:", "swr@2.2.5(00000000000000000000000000000000): react=18.3.1"}},
			tool: "under a digest of its peers",
		},
		{
			name: "a digest that does not concern the other side stays",
			base: sketch{asks: []string{"ms ^2.0.0 2.0.0", "react ^18.3.1 18.3.1", "swr ^2.2.4 2.2.4(0123456789abcdef0123456789abcdef)"},
				installs: []string{"ms@2.0.0:", "react@18.3.1:", "swr@2.2.4(0123456789abcdef0123456789abcdef): react=18.3.1"}},
			ours: sketch{asks: []string{"ms ^2.1.0 2.1.0", "react ^18.3.1 18.3.1", "swr ^2.2.4 2.2.4(0123456789abcdef0123456789abcdef)"},
				installs: []string{"ms@2.1.0:", "react@18.3.1:", "swr@2.2.4(0123456789abcdef0123456789abcdef): react=18.3.1"}},
			head: sketch{asks: []string{"ms ^2.0.0 2.0.0", "react ^18.3.1 18.3.1", "swr ^2.2.5 2.2.5(00000000000000000000000000000000)"},
				installs: []string{"ms@2.0.0:", "react@18.3.1:", "swr@2.2.5(00000000000000000000000000000000): react=18.3.1"}},
			want: sketch{asks: []string{"ms ^2.1.0 2.1.0", "react ^18.3.1 18.3.1", "swr ^2.2.5 2.2.5(00000000000000000000000000000000)"},
				installs: []string{"ms@2.1.0:", "react@18.3.1:", "swr@2.2.5(00000000000000000000000000000000): react=18.3.1"}},
		},
		{
			name: "two reacts, of which one moves; the package that is bumped tells which is its",
			base: sketch{asks: []string{"old ^1.0.0 1.0.0", "react ^18.3.1 18.3.1", "swr ^2.2.4 2.2.4(react@18.3.1)"},
				installs: []string{"react@18.3.1:", "old@1.0.0: foo=1.0.0(react@18.3.1) react=18.3.1", "foo@1.0.0(react@18.3.1): react=18.3.1", "swr@2.2.4(react@18.3.1): react=18.3.1"}},
			ours: sketch{asks: []string{"old ^1.0.0 1.0.0", "react ^19.0.0 19.0.0", "swr ^2.2.4 2.2.4(react@19.0.0)"},
				installs: []string{"react@18.3.1:", "react@19.0.0:", "old@1.0.0: foo=1.0.0(react@18.3.1) react=18.3.1", "foo@1.0.0(react@18.3.1): react=18.3.1", "swr@2.2.4(react@19.0.0): react=19.0.0"}},
			head: sketch{asks: []string{"old ^1.0.0 1.0.0", "react ^18.3.1 18.3.1", "swr ^2.2.5 2.2.5(react@18.3.1)"},
				installs: []string{"react@18.3.1:", "old@1.0.0: foo=1.0.0(react@18.3.1) react=18.3.1", "foo@1.0.0(react@18.3.1): react=18.3.1", "swr@2.2.5(react@18.3.1): react=18.3.1"}},
			want: sketch{asks: []string{"old ^1.0.0 1.0.0", "react ^19.0.0 19.0.0", "swr ^2.2.5 2.2.5(react@19.0.0)"},
				installs: []string{"react@18.3.1:", "react@19.0.0:", "old@1.0.0: foo=1.0.0(react@18.3.1) react=18.3.1", "foo@1.0.0(react@18.3.1): react=18.3.1", "swr@2.2.5(react@19.0.0): react=19.0.0"}},
		},
		{
			name: "a bumped dependent keeps the other side's bump of what it needs",
			base: sketch{asks: []string{"lib ^1.0.0 1.0.0"}, installs: []string{"lib@1.0.0: ms=2.0.0", "ms@2.0.0:"}},
			ours: sketch{asks: []string{"lib ^1.0.0 1.0.0"}, installs: []string{"lib@1.0.0: ms=2.1.3", "ms@2.1.3:"}},
			head: sketch{asks: []string{"lib ^1.1.0 1.1.0"}, installs: []string{"lib@1.1.0: ms=2.0.0", "ms@2.0.0:"}},
			want: sketch{asks: []string{"lib ^1.1.0 1.1.0"}, installs: []string{"lib@1.1.0: ms=2.1.3", "ms@2.1.3:"}},
		},
		{
			name: "lion-reader#1501, breeze#3407: both sides come to need one package, which stands once",
			base: sketch{asks: []string{"a ^1.0.0 1.0.0", "z ^1.0.0 1.0.0"}, installs: []string{"a@1.0.0:", "z@1.0.0:"}},
			ours: sketch{asks: []string{"a ^2.0.0 2.0.0", "z ^1.0.0 1.0.0"}, installs: []string{"a@2.0.0: ms=2.1.3", "ms@2.1.3:", "z@1.0.0:"}},
			head: sketch{asks: []string{"a ^1.0.0 1.0.0", "z ^2.0.0 2.0.0"}, installs: []string{"a@1.0.0:", "ms@2.1.3:", "z@2.0.0: ms=2.1.3"}},
			want: sketch{asks: []string{"a ^2.0.0 2.0.0", "z ^2.0.0 2.0.0"}, installs: []string{"a@2.0.0: ms=2.1.3", "ms@2.1.3:", "z@2.0.0: ms=2.1.3"}},
		},
		{
			name: "a package that one side drops and the other newly needs comes back",
			base: sketch{asks: []string{"a ^1.0.0 1.0.0", "b ^1.0.0 1.0.0"}, installs: []string{"a@1.0.0: ms=2.0.0", "b@1.0.0:", "ms@2.0.0:"}},
			ours: sketch{asks: []string{"a ^2.0.0 2.0.0", "b ^1.0.0 1.0.0"}, installs: []string{"a@2.0.0:", "b@1.0.0:"}},
			head: sketch{asks: []string{"a ^1.0.0 1.0.0", "b ^2.0.0 2.0.0"}, installs: []string{"a@1.0.0: ms=2.0.0", "b@2.0.0: ms=2.0.0", "ms@2.0.0:"}},
			want: sketch{asks: []string{"a ^2.0.0 2.0.0", "b ^2.0.0 2.0.0"}, installs: []string{"a@2.0.0:", "b@2.0.0: ms=2.0.0", "ms@2.0.0:"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := formats()
			load := func(s sketch, like *files) *files {
				if s.peers == nil {
					s.peers = declares
				}
				return treeOf(t, all, map[string]string{"pnpm-lock.yaml": s.lock()}, like)
			}
			base := load(tt.base, nil)
			ours, head := load(tt.ours, base), load(tt.head, base)
			for side, f := range map[string]*files{"base": base, "ours": ours, "head": head} {
				for _, p := range f.problems("pnpm-lock.yaml") {
					t.Errorf("%s is unsound: %s", side, p)
				}
			}
			for dir, in := range map[string][2]*files{"head into ours": {ours, head}, "ours into head": {head, ours}} {
				got, conflicts := merge(in[0], base, in[1], true)
				if tt.tool != "" {
					if !slices.ContainsFunc(conflicts, func(c lockfile.Conflict) bool { return strings.Contains(c.Tool, tt.tool) }) {
						t.Errorf("%s: conflicts %+v, want one that says %q", dir, conflicts, tt.tool)
					}
					continue
				}
				if len(conflicts) > 0 {
					t.Errorf("%s: %+v", dir, conflicts)
					continue
				}
				want := tt.want
				if want.peers == nil {
					want.peers = declares
				}
				if got := text(t, got, "pnpm-lock.yaml"); got != want.lock() {
					t.Errorf("%s:\n%s\nwant\n%s", dir, got, want.lock())
				}
			}
		})
	}
}
