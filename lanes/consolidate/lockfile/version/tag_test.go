package version_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/version"
)

func TestTags(t *testing.T) {
	const none = 9
	for _, c := range []struct {
		a, b   string
		want   int
		covers bool
	}{
		{"v3", "v4", -1, false},
		{"v4", "v4.1.2", -1, true},
		{"v4", "v4.0.0", 0, true},
		{"v4", "v5.1.2", -1, false},
		{"v9", "v10", -1, false},
		{"v4", "4", 0, false},
		{"4.1", "v4.2", -1, false},
		{"V4", "v4", 0, false},
		{"release/v1.13.0", "release/v1.9.0", 1, false},
		{"release/v1", "v1", none, false},
		{"main", "master", none, false},
		{"main", "main", 0, false},
		{"codeql-bundle-v2.1", "codeql-bundle-v2.2", -1, false},
		{"3.12-slim", "3.13-slim", -1, false},
		{"3.12-slim", "3.13-alpine", none, false},
		{"3.12", "3.13-slim", none, false},
		{"3.12-slim", "3.12.1-slim", -1, true},
		{"1.22-alpine3.18", "1.22-alpine3.19", -1, false},
		{"1.22-alpine3.19", "1.23-alpine3.19", -1, false},
		{"1.22-alpine3.19", "1.23-alpine3.18", none, false},
		{"22.04", "24.04", -1, false},
		{"bookworm-20240101-slim", "bookworm-20240210-slim", -1, false},
		{"bookworm", "trixie", none, false},
		{"1.27rc1", "1.26.6", 1, false},
		{"1.27rc1", "1.27", -1, false},
		{"1.27rc1", "1.27rc2", -1, false},
		{"1.27-beta.2", "1.27-rc.1", -1, false},
		{"1.27-rc.10", "1.27-rc.9", 1, false},
		{"3.12-alpine", "3.12-alpha", none, false},
		{"1.0.0-SNAPSHOT", "1.0.0", -1, false},
		{"007", "7", 0, false},
		{"8f4b7f8", "b4ffde6", none, false},
		{"", "", 0, false},
		{"", "v1", none, false},
	} {
		for _, s := range []struct {
			a, b string
			sign int
		}{{c.a, c.b, 1}, {c.b, c.a, -1}} {
			got, ok := version.Tags(s.a, s.b)
			if ok != (c.want != none) || ok && got != s.sign*c.want {
				t.Errorf("Tags(%q, %q) = %d, %v, want %d", s.a, s.b, got, ok, s.sign*c.want)
			}
			if got := version.Covers(s.a, s.b); got != c.covers {
				t.Errorf("Covers(%q, %q) = %v", s.a, s.b, got)
			}
		}
	}
}

func TestTagsAreOrdered(t *testing.T) {
	tag := rapid.StringMatching(`v?[0-9]{1,2}(\.[0-9]{1,2}){0,2}(rc[0-9])?(-[a-z]{1,6}[0-9]?)?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := tag.Draw(t, "a"), tag.Draw(t, "b"), tag.Draw(t, "c")
		ab, ok1 := version.Tags(a, b)
		ba, ok2 := version.Tags(b, a)
		if ok1 != ok2 || ab != -ba {
			t.Fatalf("%q and %q: %d, and %d the other way round", a, b, ab, ba)
		}
		bc, ok3 := version.Tags(b, c)
		ac, ok4 := version.Tags(a, c)
		if ok1 && ok3 && ab <= 0 && bc <= 0 && (!ok4 || ac > 0) {
			t.Fatalf("%q <= %q <= %q, but not the ends", a, b, c)
		}
		if x, ok := version.Tags(a, a); !ok || x != 0 {
			t.Fatalf("%q is not itself", a)
		}
	})
}
