package npm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

func TestAlias(t *testing.T) {
	for req, want := range map[string][2]string{
		"^1.0.0":            {"", "^1.0.0"},
		"npm:a@^1.0.0":      {"a", "^1.0.0"},
		"npm:@s/a@1":        {"@s/a", "1"},
		"npm:@s/a":          {"@s/a", "*"},
		"npm:a":             {"a", "*"},
		"npm:^1.0.0":        {"", "^1.0.0"}, // yarn berry
		"github:x/y#semver": {"", "github:x/y#semver"},
	} {
		if name, rng := npm.Alias(req); name != want[0] || rng != want[1] {
			t.Errorf("Alias(%q) = %q, %q", req, name, rng)
		}
	}
}

func TestMeets(t *testing.T) {
	r := npm.NewRanges()
	for _, c := range []struct {
		req, name, version string
		want               bool
	}{
		{"^1.2.0", "", "1.3.0", true},
		{"^1.2.0", "", "2.0.0", false},
		{" ^1.2.0 ", "", "1.2.0", true},
		{"^1 || ^2", "", "2.5.0", true},
		{"1.x", "", "1.9.9", true},
		{">=1.0.0 <2", "", "2.0.0-rc.1", false},
		{"^1.0.0", "", "1.1.0-rc.1", false},
		{"^1.1.0-rc.0", "", "1.1.0-rc.1", true},
		{"*", "", "anything", true},
		{"", "", "0.0.1", true},
		{"latest", "", "1.0.0", true},
		{"file:../a", "", "1.0.0", true},
		{"x/y#main", "", "1.0.0", true},
		{"npm:b@^1.0.0", "b", "1.5.0", true},
		{"npm:b@^1.0.0", "b", "2.0.0", false},
		{"npm:b@^1.0.0", "c", "1.5.0", false},
		{"npm:b@^1.0.0", "", "1.5.0", true},
	} {
		if got := r.Meets("a", c.req, c.name, c.version); got != c.want {
			t.Errorf("%s@%s meets %q: %v", c.name, c.version, c.req, got)
		}
	}
}

func TestCompareReqs(t *testing.T) {
	r := npm.NewRanges()
	for _, c := range []struct {
		a, b string
		want string
	}{
		{"^1.0.0", "^1.1.0", "-1"},
		{"2.0.0", "^1.9.0", "1"},
		{"~1.0.0", "^1.0.0", "0"},
		{"npm:a@1.0.0", "npm:a@1.1.0", "-1"},
		{"npm:a@1.0.0", "npm:b@1.1.0", "none"},
		{"npm:a@1.0.0", "1.1.0", "none"},
		{"latest", "1.0.0", "none"},
		{"github:x/y", "github:x/z", "none"},
	} {
		got := "none"
		if n, ok := r.CompareReqs(c.a, c.b); ok {
			got = fmt.Sprint(n)
		}
		if got != c.want {
			t.Errorf("CompareReqs(%q, %q) = %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

const manifest = `{
  "name": "x",
  "version": "1.0.0",
  "peerDependencies": {"p": "1", "d": "0"},
  "dependencies": {"d": "1", "both": "1", "": "1", "odd": 1},
  "optionalDependencies": {"o": "1", "both": "2"},
  "devDependencies": {"v": "1"},
  "overrides": {"a": "1", "b@^2": {".": "2", "@s/c": "3"}},
  "resolutions": {"d/**/e": "1"}
}`

func parse(t *testing.T) *lockfile.Doc {
	t.Helper()
	f := npm.Formats()[0]
	d, err := f.Parse([]byte(manifest), nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Format = f
	return d
}

// Of a name in two sections the later one counts.
func TestNeeds(t *testing.T) {
	var got []string
	for _, e := range npm.Needs(parse(t)) {
		got = append(got, fmt.Sprintf("%s@%s %d", e.Name, e.Req, e.Kind))
	}
	want := []string{
		fmt.Sprintf("p@1 %d", lockfile.Peer), fmt.Sprintf("d@1 %d", lockfile.Required),
		fmt.Sprintf("both@2 %d", lockfile.Optional), fmt.Sprintf("o@1 %d", lockfile.Optional), fmt.Sprintf("v@1 %d", lockfile.Dev),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMemberAndOverridden(t *testing.T) {
	d := parse(t)
	if got := string(npm.Member(d, "version")); got != `"1.0.0"` {
		t.Errorf("version is %s", got)
	}
	if npm.Member(d, "dependencies") != nil || npm.Member(d, "none") != nil {
		t.Error("a section, or nothing, is taken for a member")
	}
	over := npm.Overridden(d)
	for _, name := range []string{"a", "b", "@s/c", "e"} {
		if !over[name] {
			t.Errorf("%s is not overridden", name)
		}
	}
	if over["d"] {
		t.Error("d is overridden")
	}
}
