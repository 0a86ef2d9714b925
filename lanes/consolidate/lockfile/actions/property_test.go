package actions_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

// use is a step: an action at a version.
type use struct{ name, ref string }

func render(uses []use) string {
	var lines []string
	for i, u := range uses {
		lines = append(lines, u.name+"@"+u.ref, fmt.Sprintf("+run: step %d", i))
	}
	return steps(lines...)
}

func genUses(t *rapid.T) []use {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) use {
		return use{
			rapid.SampledFrom([]string{"a/b", "a/b/sub", "c/d", "e/f"}).Draw(t, "name"),
			rapid.SampledFrom([]string{"v1", "v1.2", "v2", shaA + " # v1", shaB + " # v2.0.1"}).Draw(t, "ref"),
		}
	}), 1, 8).Draw(t, "uses")
}

// bump moves every occurrence of some references, as a bot does.
func bump(t *rapid.T, uses []use, label string) []use {
	to := map[use]string{}
	out := make([]use, len(uses))
	for i, u := range uses {
		if _, ok := to[u]; !ok {
			to[u] = u.ref
			if rapid.Bool().Draw(t, label) {
				to[u] = rapid.SampledFrom([]string{"v3", "v3.1", "v4", shaC + " # v5"}).Draw(t, label+" to")
			}
		}
		out[i] = use{u.name, to[u]}
	}
	return out
}

func merge(t *rapid.T, base, fork string, heads ...string) string {
	return locktest.Merge(t, workflow(), "w.yml", base, fork, heads...)
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uses := genUses(t)
		x, y := render(uses), render(bump(t, uses, "y"))
		if got := merge(t, x, x, y); got != y {
			t.Fatalf("an update alone is not itself:\n%s\n%s", got, y)
		}
		if got := merge(t, y, x, y); got != y {
			t.Fatalf("an update onto itself is not itself:\n%s\n%s", got, y)
		}
		if got := merge(t, y, x, x); got != y {
			t.Fatalf("no update changes something:\n%s\n%s", got, y)
		}
		z := render(bump(t, uses, "z"))
		ab, ba := merge(t, x, x, y, z), merge(t, x, x, z, y)
		if ab != ba && strings.HasPrefix(ab, "on:") {
			t.Fatalf("the order matters:\n%s\n%s", ab, ba)
		}
	})
}

// Whatever the text around, and wherever the base stands: a reference that both
// the fork and the base have is moved, and nothing goes down.
func TestNothingGoesDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fork := genUses(t)
		head := bump(t, fork, "head")
		base := bump(t, fork, "base")
		if rapid.Bool().Draw(t, "other text") {
			base = append(base, genUses(t)...)
		}
		text := render(base)
		got := merge(t, text, render(fork), render(head))
		if !strings.HasPrefix(got, "on:") {
			return // a conflict
		}
		was, now := refs(text), refs(got)
		if len(was) != len(now) {
			t.Fatalf("%d references became %d:\n%s", len(was), len(now), got)
		}
		for i := range was {
			if was[i].name != now[i].name {
				t.Fatalf("%v became %v", was[i], now[i])
			}
			a, b := &lockfile.Node{Raw: []byte("@" + was[i].ref)}, &lockfile.Node{Raw: []byte("@" + now[i].ref)}
			if c, ok := workflow().Compare(a, b); ok && c > 0 {
				t.Fatalf("%s went down from %s to %s", was[i].name, was[i].ref, now[i].ref)
			}
		}
	})
}

func refs(text string) []use {
	var out []use
	for _, l := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(l, "    - uses: "); ok {
			name, ref, _ := strings.Cut(rest, "@")
			out = append(out, use{name, ref})
		}
	}
	return out
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", steps("a/b@v1", "+run: |\n        uses: c/d@v2", "c/d@"+shaA+" # v3"), "{a: &b [*b, ? x : y], <<: *b}",
		"jobs: {a: {container: 'x:1', services: {b: {image: y:2}}}}", "a: \"\\x41/b@v1\"\nuses: !!str a/b@v1\n",
		"\r\n\ruses: a/b@v1 # v1\u2028uses: a/b@v1", "%YAML 1.1\n---\n- uses: a/b@v1\n...\n",
	} {
		f.Add([]byte(s), []byte(s))
	}
	if real, err := os.ReadFile("../../../../.github/workflows/ci.yml"); err == nil {
		f.Add(real, real)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, f := range []*lockfile.Format{workflow()} {
			d, err := f.Parse(a, nil)
			if err != nil {
				continue
			}
			d.Format = f
			if got, err := f.Encode(d); err != nil || !bytes.Equal(got, a) {
				t.Fatalf("round trip: %v\n%q\n%q", err, a, got)
			}
			e, err := f.Parse(b, d)
			if err != nil {
				continue
			}
			e.Format = f
			if got, err := f.Encode(e); err != nil || !bytes.Equal(got, b) {
				t.Fatalf("round trip beside a relative: %v\n%q\n%q", err, b, got)
			}
			tree := locktest.NewTree(t, []*lockfile.Format{f}, nil)
			p := lockfile.Diff(d, e)
			merged, conflicts := lockfile.Apply(d, p, tree, tree, false)
			if len(conflicts) > 0 {
				return
			}
			if got, err := f.Encode(merged); err != nil || !bytes.Equal(got, b) {
				t.Fatalf("an update alone is not itself: %v\n%q\n%q", err, b, got)
			}
		}
	})
}
