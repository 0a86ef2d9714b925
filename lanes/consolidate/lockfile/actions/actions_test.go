package actions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/actions"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

const (
	shaA   = "8f4b7f84864484a7bf31766abe9204da3cbe65b3"
	shaB   = "b4ffde65f46336ab88eb53be808477a3936bae11"
	shaC   = "0ad4b8fadaa221de15dcec353f45205ec38ea70b"
	digest = "@sha256:a64bf8795682c5dc2d5914331f2d492a8380adb8b16179ba84fffbdb3fc7549b"
)

func workflow() *lockfile.Format { return actions.Formats()[0] }

func parse(t testing.TB, text string, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d, err := workflow().Parse([]byte(text), like)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	d.Format = workflow()
	return d
}

func TestMatch(t *testing.T) {
	for path, want := range map[string]string{
		".github/workflows/ci.yml":          "workflow",
		".github/workflows/ci.yaml":         "workflow",
		"tools/.github/workflows/ci.yml":    "workflow",
		".github/workflows/more/ci.yml":     "",
		".github/workflows/ci.yml.bak":      "",
		"x.github/workflows/ci.yml":         "",
		"action.yml":                        "action",
		".github/actions/setup/action.yaml": "action",
		"my-action.yml":                     "",
	} {
		got := ""
		for _, f := range actions.Formats() {
			if f.Match(path, nil) {
				got = f.Name
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// One line of a step, and what of it is a cell: its key, name and version.
func TestCells(t *testing.T) {
	type found struct{ Key, Name, Version string }
	one := func(key, name, version string) []found { return []found{{key, name, version}} }
	for name, c := range map[string]struct {
		step string
		want []found
	}{
		"a tag":                     {`uses: actions/checkout@v3`, one("actions/checkout@v3", "actions/checkout", "v3")},
		"a branch":                  {`uses: pypa/gh-action-pypi-publish@release/v1`, one("pypa/gh-action-pypi-publish@release/v1", "pypa/gh-action-pypi-publish", "release/v1")},
		"in double quotes":          {`uses: "actions/checkout@v3"`, one("actions/checkout@v3", "actions/checkout", "v3")},
		"in single quotes":          {`uses: 'actions/checkout@v3'`, one("actions/checkout@v3", "actions/checkout", "v3")},
		"a quoted key":              {`"uses": actions/checkout@v3`, one("actions/checkout@v3", "actions/checkout", "v3")},
		"a flow mapping":            {`{name: a, uses: actions/checkout@v3}`, one("actions/checkout@v3", "actions/checkout", "v3")},
		"behind an anchor":          {`uses: &x actions/checkout@v3`, nil},
		"a path in the repository":  {`uses: github/codeql-action/init@v2`, one("github/codeql-action/init@v2", "github/codeql-action/init", "v2")},
		"a reusable workflow":       {`uses: o/r/.github/workflows/x.yml@v2`, one("o/r/.github/workflows/x.yml@v2", "o/r/.github/workflows/x.yml", "v2")},
		"a remark behind a tag":     {`uses: actions/setup-node@v3 # bin/bump-version needs npm`, one("actions/setup-node@v3", "actions/setup-node", "v3")},
		"a bare commit":             {`uses: a/b@` + shaA, one("a/b@"+shaA, "a/b", "8f4b7f8")},
		"a commit with its version": {`uses: a/b@` + shaA + ` # v4.1.2`, one("a/b@"+shaA+" # v4.1.2", "a/b", "v4.1.2 (8f4b7f8)")},
		"no space before it":        {`uses: a/b@` + shaA + `  #v4.1.2`, one("a/b@"+shaA+"  #v4.1.2", "a/b", "v4.1.2 (8f4b7f8)")},
		"quoted, with its version":  {`uses: "a/b@` + shaA + `" # v4`, one("a/b@"+shaA+`" # v4`, "a/b", "v4 (8f4b7f8)")},
		"pin@":                      {`uses: a/b@` + shaA + ` # pin@v4`, one("a/b@"+shaA+" # pin@v4", "a/b", "v4 (8f4b7f8)")},
		"tag=":                      {`uses: a/b@` + shaA + ` # tag=v3`, one("a/b@"+shaA+" # tag=v3", "a/b", "v3 (8f4b7f8)")},
		"renovate: tag=":            {`uses: a/b@` + shaA + ` # renovate: tag=v3`, one("a/b@"+shaA+" # renovate: tag=v3", "a/b", "v3 (8f4b7f8)")},
		"ratchet:":                  {`uses: a/b@` + shaA + ` # ratchet:a/b@v3.1`, one("a/b@"+shaA+" # ratchet:a/b@v3.1", "a/b", "v3.1 (8f4b7f8)")},
		"a branch and a version":    {`uses: a/b@` + shaA + ` # release/v1.13.0`, one("a/b@"+shaA+" # release/v1.13.0", "a/b", "release/v1.13.0 (8f4b7f8)")},
		"a version and a remark":    {`uses: a/b@` + shaA + ` # v4.1.2, the last one for node 16`, one("a/b@"+shaA+" # v4.1.2", "a/b", "v4.1.2 (8f4b7f8)")},
		"a remark and a version":    {`uses: a/b@` + shaA + ` # this is 4.1.2`, one("a/b@"+shaA+" # this is 4.1.2", "a/b", "4.1.2 (8f4b7f8)")},
		"a remark without one":      {`uses: a/b@` + shaA + ` # do not touch`, one("a/b@"+shaA, "a/b", "8f4b7f8")},
		"an image":                  {`uses: docker://ghcr.io/o/i:3.8`, one("docker://ghcr.io/o/i:3.8", "ghcr.io/o/i", "3.8")},
		"an image by its digest":    {`uses: docker://o/i:3.8` + digest, one("docker://o/i:3.8"+digest, "o/i", "3.8 (sha256:a64bf8795682)")},
		"a local action":            {`uses: ./.github/actions/x`, nil},
		"an expression":             {`uses: actions/checkout@${{ matrix.ref }}`, one("actions/checkout@${{", "", "")[:0]},
		"no reference":              {`uses: actions/checkout`, nil},
		"a script":                  {"run: |\n        uses: actions/checkout@v3\n        - uses: actions/checkout@v3", nil},
		"a folded script":           {"run: >-\n        x\n        uses: actions/checkout@v3", nil},
		"a quoted script":           {"run: \"\n        uses: actions/checkout@v3\"", nil},
		"a comment":                 {"run: x\n      # uses: actions/checkout@v3", nil},
		"a block as a reference":    {"uses: >-\n        actions/checkout@v3", nil},
		"an image of an input":      {"with:\n        image: python:3.11", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := "on: push\njobs:\n  a:\n    steps:\n    - " + c.step + "\n"
			d := parse(t, text, nil)
			var got []found
			d.Nodes(func(n *lockfile.Node) {
				if n.Name != "" {
					got = append(got, found{n.Key, n.Name, n.Version})
				}
			})
			if len(c.want) == 0 {
				c.want = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if back, err := d.Format.Encode(d); err != nil || string(back) != text {
				t.Errorf("round trip: %v\n%s", err, back)
			}
		})
	}
}

func TestImages(t *testing.T) {
	d := parse(t, `
jobs:
  a:
    container: node:18-alpine
    services:
      db: {image: "postgres:16.1"}
      image:
        image: redis:7
  b:
    container:
      image: node:20
      env: {image: node:1}
    strategy:
      matrix: {image: [node:1], x: [{image: node:1}]}
`, nil)
	want := []string{"#text", "node:18-alpine", "postgres:16.1", "redis:7", "node:20"}
	if diff := cmp.Diff(want, d.Keys()); diff != "" {
		t.Error(diff)
	}
	action := actions.Formats()[1]
	d, err := action.Parse([]byte("runs:\n  using: docker\n  image: docker://debian:12.1\n"), nil)
	if err != nil || d.Node("docker://debian:12.1") == nil {
		t.Errorf("%v, %v", d.Keys(), err)
	}
}

func TestOddFiles(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             "",
		"no final newline":  "jobs: {a: {uses: o/r/.github/workflows/x.yml@v1}}",
		"stray CR":          "jobs:\n  a: {x: \"1\r2\"} # x\r  b:\n    uses: a/b@v1\n",
		"two documents":     "a: 1\n---\nuses: a/b@v1\n---\n",
		"beyond ASCII":      "# ünï\njobs: {ä: {uses: \"a/b@v1\"}, b: {uses: a/b@v1}}\n",
		"odd ends of lines": "a: \"x\u2028\u0085\"\nb:\n  uses: a/b@v1\n",
		"comments only":     "# nothing\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text, nil)
			if back, err := d.Format.Encode(d); err != nil || string(back) != text {
				t.Errorf("round trip: %v\n%q", err, back)
			}
			if strings.Contains(text, "a/b@v1") && d.Node("a/b@v1") == nil {
				t.Error("its reference is not found")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"not YAML":   "jobs:\n\t- x: [\n",
		"NUL":        "a: 1\n# \x00\n",
		"not closed": "a: {b: 1\n",
	} {
		if d, err := workflow().Parse([]byte(text), nil); err == nil {
			t.Errorf("%s: parsed as %v", name, d.Keys())
		}
	}
	marked := "jobs:\n<<<<<<< HEAD\n  a: 1\n=======\n  a: 2\n>>>>>>> x\n"
	if _, err := workflow().Parse([]byte(marked), nil); !errors.Is(err, lockfile.ErrConflictMarkers) {
		t.Errorf("conflict markers: %v", err)
	}
}

// steps makes a workflow of lines; "+" before one makes it other text.
func steps(lines ...string) string {
	out := "on: push\njobs:\n  a:\n    steps:\n"
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "+"); ok {
			out += "    - " + rest + "\n"
		} else {
			out += "    - uses: " + l + "\n"
		}
	}
	return out
}

func TestMerge(t *testing.T) {
	pin := func(sha, v string) string { return "a/b@" + sha + " # " + v }
	for name, c := range map[string]struct {
		base, fork string // base is fork if empty
		heads      []string
		want       string
	}{
		"neighbouring lines, which conflict as text": {
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("a/b@v2", "c/d@v1"), steps("a/b@v1", "c/d@v2")},
			want:  steps("a/b@v2", "c/d@v2"),
		},
		"two bumps of one action": {
			fork:  steps("a/b@v1"),
			heads: []string{steps("a/b@v3"), steps("a/b@v2")},
			want:  steps("a/b@v3"),
		},
		"every occurrence": {
			fork:  steps("a/b@v1", "+run: x", "a/b@v1"),
			heads: []string{steps("a/b@v2", "+run: x", "a/b@v2")},
			want:  steps("a/b@v2", "+run: x", "a/b@v2"),
		},
		"commit and comment together": {
			fork:  steps(pin(shaA, "v4.1.1")),
			heads: []string{steps(pin(shaB, "v4.1.2")), steps(pin(shaC, "v4.2.0"))},
			want:  steps(pin(shaC, "v4.2.0")),
		},
		"two commits without a version": {
			fork:  steps("a/b@" + shaA),
			heads: []string{steps("a/b@" + shaB), steps("a/b@" + shaC)},
			want:  "a/b@" + shaA + ": b4ffde6, 0ad4b8f",
		},
		"two commits of one line": {
			fork:  steps(pin(shaA, "v3")),
			heads: []string{steps(pin(shaB, "v4")), steps(pin(shaC, "v4.1.2"))},
			want:  "a/b@" + shaA + " # v3: v4 (b4ffde6), v4.1.2 (0ad4b8f)",
		},
		"one commit moves under its comment": {
			fork:  steps(pin(shaA, "v3.29.5")),
			heads: []string{steps(pin(shaB, "v3.29.5"))},
			want:  steps(pin(shaB, "v3.29.5")),
		},
		"a pin is not given up": {
			base:  steps(pin(shaA, "v3")),
			fork:  steps("a/b@v3"),
			heads: []string{steps("a/b@v4")},
			want:  "a/b@" + shaA + " # v3: v3 (8f4b7f8), v4",
		},
		"a pin stays when it is the higher": {
			base:  steps(pin(shaA, "v4.4.3")),
			fork:  steps("a/b@v3"),
			heads: []string{steps("a/b@v4")},
			want:  steps(pin(shaA, "v4.4.3")),
		},
		"pinning all beside a bump of another": {
			fork:  steps("a/b@v3", "c/d@v1"),
			heads: []string{steps(pin(shaA, "v3"), "c/d@"+shaB+" # v1"), steps("a/b@v3", "c/d@v2")},
			want:  "c/d@v1: v1 (b4ffde6), v2",
		},
		"the base is further on": {
			base:  steps("a/b@v4", "c/d@v1"),
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("a/b@v3", "c/d@v1")},
			want:  steps("a/b@v4", "c/d@v1"),
		},
		"the base is further on, but not as far": {
			base:  steps("a/b@v2", "+run: new", "c/d@v1"),
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("a/b@v3", "c/d@v1")},
			want:  steps("a/b@v3", "+run: new", "c/d@v1"),
		},
		"the base is partly further on": {
			base:  steps("a/b@v4", "+run: new", "a/b@v1"),
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v3", "a/b@v3")},
			want:  steps("a/b@v4", "+run: new", "a/b@v3"),
		},
		"the base is partly further on, the text is the same": {
			base:  steps("a/b@v2", "a/b@v1"),
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v3", "a/b@v3")},
			want:  steps("a/b@v3", "a/b@v3"),
		},
		"the base has one ref where there were two": {
			base:  steps("a/b@v4", "a/b@v4"),
			fork:  steps("a/b@v1", "a/b@v2"),
			heads: []string{steps("a/b@v5", "a/b@v5")},
			want:  steps("a/b@v5", "a/b@v5"),
		},
		"the base has dropped the action": {
			base:  steps("c/d@v1"),
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("a/b@v3", "c/d@v1")},
			want:  steps("c/d@v1"),
		},
		"the base gains the same action": {
			base:  steps("a/b@v1", "+run: x", "a/b@v1"),
			fork:  steps("a/b@v1"),
			heads: []string{steps("a/b@v2")},
			want:  steps("a/b@v2", "+run: x", "a/b@v2"),
		},
		"a head drops what another bumps": {
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("a/b@v2", "c/d@v1"), steps("c/d@v1")},
			want:  "a/b@v1: v2, ",
		},
		"a head bumps what another dropped": {
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("c/d@v1"), steps("a/b@v2", "c/d@v1")},
			want:  steps("c/d@v1"),
		},
		"a head replaces an action, another bumps its neighbour": {
			fork:  steps("a/b@v1", "c/d@v1"),
			heads: []string{steps("x/b@v1", "c/d@v1"), steps("a/b@v1", "c/d@v2")},
			want:  steps("x/b@v1", "c/d@v2"),
		},
		"a head splits a reference": {
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v1", "a/b@v2")},
			want:  steps("a/b@v1", "a/b@v2"),
		},
		"a head splits a reference in two new ones": {
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v3", "a/b@v2")},
			want:  steps("a/b@v3", "a/b@v2"),
		},
		"split, then bumped": {
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v1", "a/b@v2"), steps("a/b@v3", "a/b@v3")},
			want:  "a/b@v2: v2, v3",
		},
		"bumped, then split": {
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v3", "a/b@v3"), steps("a/b@v1", "a/b@v2")},
			want:  "a/b@v1: v3, v2",
		},
		"split onto a reference that is there": {
			fork:  steps("a/b@v1", "a/b@v1", "a/b@v2"),
			heads: []string{steps("a/b@v1", "a/b@v2", "a/b@v2"), steps("a/b@v1", "a/b@v1", "a/b@v3")},
			want:  steps("a/b@v1", "a/b@v2", "a/b@v3"),
		},
		"the same split twice": {
			fork:  steps("a/b@v1", "a/b@v1"),
			heads: []string{steps("a/b@v1", "a/b@v2"), steps("a/b@v1", "a/b@v2")},
			want:  steps("a/b@v1", "a/b@v2"),
		},
		"quotes change, and the value": {
			fork:  steps("a/b@"+shaA+" # v1", "c/d@v1"),
			heads: []string{steps(`"a/b@`+shaA+`" # v1`, "c/d@v1"), steps("a/b@"+shaB+" # v2", "c/d@v1")},
			want:  "#text",
		},
		"text on both sides": {
			base:  steps("a/b@v1", "+run: ours"),
			fork:  steps("a/b@v1"),
			heads: []string{steps("+run: theirs", "a/b@v1")},
			want:  "#text",
		},
		"text on one side, a value on the other": {
			base:  steps("+run: ours", "a/b@v1"),
			fork:  steps("a/b@v1"),
			heads: []string{steps("a/b@v2")},
			want:  steps("+run: ours", "a/b@v2"),
		},
		"the bumped one is gone, another was left as it is": {
			base:  steps("a/b@v2", "+run: ours"),
			fork:  steps("a/b@v1", "a/b@v2"),
			heads: []string{steps("a/b@v3", "a/b@v2")},
			want:  steps("a/b@v2", "+run: ours"),
		},
		"the base joined two, of which one is bumped": {
			base:  steps("a/b@v3", "a/b@v3"),
			fork:  steps("a/b@v1", "a/b@v2"),
			heads: []string{steps("a/b@v1", "a/b@v4")},
			want:  "a/b@v2: v3, v4",
		},
		"images": {
			fork:  steps("docker://alpine:3.8", "docker://alpine:3.8"+digest),
			heads: []string{steps("docker://alpine:3.9", "docker://alpine:3.8"+digest), steps("docker://alpine:3.10", "docker://alpine:3.8"+digest)},
			want:  steps("docker://alpine:3.10", "docker://alpine:3.8"+digest),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.base == "" {
				c.base = c.fork
			}
			got := locktest.Merge(t, workflow(), ".github/workflows/x.yml", c.base, c.fork, c.heads...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	node := func(raw string) *lockfile.Node { return &lockfile.Node{Raw: []byte(raw)} }
	for _, c := range []struct {
		a, b string
		want int // 9: no order
	}{
		{"@v4", "@v4.1.2", -1},
		{"@v10", "@v9", 1},
		{"@main", "@v1", 9},
		{"@main", "@main", 0},
		{"@release/v1", "@release/v2", -1},
		{"@" + shaA, "@" + shaB, 9},
		{"@" + shaA + " # v1", "@" + shaB, 9},
		{"@" + shaA + " # v1", "@" + shaB + " # v1.0.1", 9},
		{"@" + shaA + " # v1.0.0", "@" + shaB + " # v1.0.1", -1},
		{"@" + shaA + " # tag=v1.0.0", "@" + shaB + " # v1.0.1", -1},
		{"@" + shaA + " # v1", "@" + shaB + " # v1", 9},
		{"@v2", "@" + shaB + " # v1", 9},
		{"@v2", "@" + shaB + " # v2", -1},
		{"@" + shaB + " # v3", "@v2", 1},
		{":3.8", "@v2", 9},
		{":3.8", ":3.10", -1},
	} {
		for _, f := range []struct {
			a, b string
			sign int
		}{{c.a, c.b, 1}, {c.b, c.a, -1}} {
			got, ok := workflow().Compare(node(f.a), node(f.b))
			if ok != (c.want != 9) || ok && got != f.sign*c.want {
				t.Errorf("%s and %s: %d, %v, want %d", f.a, f.b, got, ok, f.sign*c.want)
			}
		}
	}
}
