package docker_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/docker"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/locktest"
)

const (
	digestA = "@sha256:a64bf8795682c5dc2d5914331f2d492a8380adb8b16179ba84fffbdb3fc7549b"
	digestB = "@sha256:b96959a4a5a8ebc387b5e82b574c8e2b67b3794ae945b26065bf3145351894fe"
)

func dockerfile() *lockfile.Format { return docker.Formats()[0] }

func parse(t testing.TB, text string, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d, err := dockerfile().Parse([]byte(text), like)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	d.Format = dockerfile()
	return d
}

func TestMatch(t *testing.T) {
	for path, want := range map[string]bool{
		"Dockerfile":               true,
		"web/Dockerfile":           true,
		"Dockerfile.dev":           true,
		"prod.dockerfile":          true,
		"Prod.Dockerfile":          true,
		"Containerfile":            true,
		"build/Containerfile.test": true,
		"Dockerfiles":              false,
		"MyDockerfile":             false,
		"dockerfile/main.go":       false,
		"docker-compose.yml":       false,
	} {
		if got := dockerfile().Match(path, nil); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestCells(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // keys
	}{
		"a tag":                       {"FROM python:3.12-slim", []string{"python:3.12-slim"}},
		"a stage":                     {"FROM python:3.12-slim AS build\nFROM build\nFROM build as x", []string{"python:3.12-slim"}},
		"a platform":                  {"FROM --platform=$BUILDPLATFORM docker.io/golang:1.24 AS build", []string{"docker.io/golang:1.24"}},
		"a digest":                    {"FROM a/b" + digestA, []string{"a/b" + digestA}},
		"a tag with a digest":         {"FROM a/b:1" + digestA, []string{"a/b:1" + digestA}},
		"a port":                      {"FROM localhost:5000/a/b:1", []string{"localhost:5000/a/b:1"}},
		"lower case, tabs":            {"\tfrom\ta:1\tas\tb", []string{"a:1"}},
		"no tag":                      {"FROM scratch\nFROM openresty/openresty", nil},
		"a variable":                  {"ARG V=1\nFROM golang:${V}-bookworm\nFROM $IMAGE\nFROM ${I:-a:1}", nil},
		"a template":                  {`FROM alpine:{{ .Config.GetVariableValue "VERSION" }} AS x`, nil},
		"a copy":                      {"COPY --chown=1 --from=ghcr.io/astral-sh/uv:0.4.1 /uv /bin/\nCOPY --from=build /a /b\nCOPY --from=0 /a /b", []string{"ghcr.io/astral-sh/uv:0.4.1"}},
		"a comment":                   {"# FROM a:1\n  # FROM b:1", nil},
		"a line that goes on":         {"RUN a && \\\nFROM a:1\n\nFROM b:1", []string{"b:1"}},
		"comments while it goes on":   {"RUN a \\\n# x\n\n  # y\nFROM a:1\nFROM b:1", []string{"b:1"}},
		"another escape":              {"# escape=`\nRUN a `\nFROM a:1\nRUN b \\\nFROM b:1", []string{"b:1"}},
		"an escape that is too late":  {"FROM a:1\n# escape=`\nRUN a `\nFROM b:1", []string{"a:1", "b:1"}},
		"a here-document":             {"RUN <<EOF\nFROM a:1\nEOF\nFROM b:1", []string{"b:1"}},
		"two of them, quoted":         {"RUN <<\"A\" cat <<-'B'\nFROM a:1\nA\n\tFROM b:1\n\tB\nFROM c:1", []string{"c:1"}},
		"a here-document to a file":   {"COPY <<EOF /x\nFROM a:1\nEOF\nFROM b:1", []string{"b:1"}},
		"its sign in a label":         {"LABEL x=1 <<EOF\nFROM b:1", []string{"b:1"}},
		"a here-document never ended": {"RUN <<EOF\nFROM a:1", nil},
		"FROM that goes on":           {"FROM a:1 \\\n  AS b\nFROM c:1\\\n", []string{"a:1", "c:1"}},
		"FROM alone":                  {"FROM\nFROM --platform=x\n", nil},
		"the same image twice":        {"FROM a:1\nFROM a:1 AS b\nFROM a:2", []string{"a:1", "a:2"}},
	} {
		for _, end := range []string{"", "\n"} {
			t.Run(name, func(t *testing.T) {
				text := c.text + end
				d := parse(t, text, nil)
				if diff := cmp.Diff(c.want, slices.Clip(d.Keys()[1:]), cmp.Transformer("nil", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
					t.Error(diff)
				}
				if back, err := d.Format.Encode(d); err != nil || string(back) != text {
					t.Errorf("round trip: %v\n%s", err, back)
				}
			})
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"FROM a/b:3.11-slim":        "3.11-slim",
		"FROM a/b:3.11" + digestA:   "3.11 (sha256:a64bf8795682)",
		"FROM a/b" + digestA:        "sha256:a64bf8795682",
		"FROM a.io:80/b:1 AS build": "1",
	} {
		d := parse(t, text, nil)
		n := d.Node(d.Keys()[1])
		if n.Version != want || !n.Direct || n.Name != strings.TrimSuffix(n.Key, string(n.Raw)) {
			t.Errorf("%s: %q of %q", text, n.Version, n.Name)
		}
	}
}

func TestRefused(t *testing.T) {
	if _, err := dockerfile().Parse([]byte("<<<<<<< a\nFROM a:1\n=======\nFROM a:2\n>>>>>>> b\n"), nil); !errors.Is(err, lockfile.ErrConflictMarkers) {
		t.Errorf("conflict markers: %v", err)
	}
	if _, err := dockerfile().Parse([]byte("FROM a:1\x00"), nil); err == nil {
		t.Error("NUL is read")
	}
	parse(t, "RUN <<EOF\n<<<<<<< is no mark alone\nEOF\n", nil)
}

func TestCompareTags(t *testing.T) {
	const none = 9
	for _, c := range []struct {
		a, b string
		want int
	}{
		{":3.12-slim", ":3.13-slim", -1},
		{":3.12-slim", ":3.13", none},
		{":3.12" + digestA, ":3.13" + digestB, -1},
		{":3.12" + digestA, ":3.12" + digestB, none},
		{":3.12" + digestA, ":3.12.1" + digestB, none},
		{":3.12" + digestA, ":3.12" + digestA, 0},
		{":3.12" + digestA, ":3.12", 1},
		{":3.12" + digestA, ":3.11", 1},
		{":3.12" + digestA, ":3.13", none},
		{digestA, digestB, none},
		{digestA, ":3.12", none},
		{digestA, ":3.12" + digestA, none},
	} {
		for _, s := range []struct {
			a, b string
			sign int
		}{{c.a, c.b, 1}, {c.b, c.a, -1}} {
			got, ok := docker.CompareTags(s.a, s.b)
			if ok != (c.want != none) || ok && got != s.sign*c.want {
				t.Errorf("%s and %s: %d, %v, want %d", s.a, s.b, got, ok, s.sign*c.want)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		base, fork string
		heads      []string
		want       string
	}{
		"two images on neighbouring lines": {
			fork:  "FROM a:1\nFROM b:1\n",
			heads: []string{"FROM a:2\nFROM b:1\n", "FROM a:1\nFROM b:2\n"},
			want:  "FROM a:2\nFROM b:2\n",
		},
		"two bumps of one image": {
			fork:  "FROM a:3.11-slim\n",
			heads: []string{"FROM a:3.13-slim\n", "FROM a:3.12-slim\n"},
			want:  "FROM a:3.13-slim\n",
		},
		"another base system": {
			fork:  "FROM a:3.11-slim\n",
			heads: []string{"FROM a:3.13-slim\n", "FROM a:3.12-alpine\n"},
			want:  "a:3.11-slim: 3.13-slim, 3.12-alpine",
		},
		"version and system apart": {
			fork:  "FROM a:1.21-alpine3.18 AS x\nFROM b:1-alpine3.18\n",
			heads: []string{"FROM a:1.22-alpine3.18 AS x\nFROM b:1-alpine3.18\n", "FROM a:1.21-alpine3.19 AS x\nFROM b:1-alpine3.19\n"},
			want:  "a:1.21-alpine3.18: 1.22-alpine3.18, 1.21-alpine3.19",
		},
		"the digest travels with its tag": {
			fork:  "FROM a:1" + digestA + "\n",
			heads: []string{"FROM a:2" + digestB + "\n", "FROM a:1.5" + digestA + "\n"},
			want:  "FROM a:2" + digestB + "\n",
		},
		"two digests": {
			fork:  "FROM a:1\n",
			heads: []string{"FROM a:1" + digestA + "\n", "FROM a:1" + digestB + "\n"},
			want:  "a:1: 1 (sha256:a64bf8795682), 1 (sha256:b96959a4a5a8)",
		},
		"the base is further on": {
			base:  "FROM a:3\nRUN new\nFROM b:1\n",
			fork:  "FROM a:1\nFROM b:1\n",
			heads: []string{"FROM a:2\nFROM b:1\n"},
			want:  "FROM a:3\nRUN new\nFROM b:1\n",
		},
		"a stage, and the copy from its image": {
			fork:  "FROM a:1\nCOPY --from=a:1 / /\n",
			heads: []string{"FROM a:2\nCOPY --from=a:2 / /\n"},
			want:  "FROM a:2\nCOPY --from=a:2 / /\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.base == "" {
				c.base = c.fork
			}
			got := locktest.Merge(t, dockerfile(), "Dockerfile", c.base, c.fork, c.heads...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		image := rapid.SampledFrom([]string{"a", "b/c", "d.io/e"})
		tag := rapid.SampledFrom([]string{":1", ":2", ":1-slim", ":2-slim", ":3" + digestA, digestB})
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]string {
			return [2]string{image.Draw(t, "image"), tag.Draw(t, "tag")}
		}), 1, 6).Draw(t, "lines")
		render := func(label string) string {
			to := map[[2]string]string{}
			var out strings.Builder
			for _, l := range lines {
				if _, ok := to[l]; !ok {
					to[l] = l[1]
					if label != "" && rapid.Bool().Draw(t, label) {
						to[l] = tag.Draw(t, label+" to")
					}
				}
				out.WriteString("FROM " + l[0] + to[l] + "\n")
			}
			return out.String()
		}
		x, y, z := render(""), render("y"), render("z")
		merge := func(base string, heads ...string) string {
			return locktest.Merge(t, dockerfile(), "Dockerfile", base, x, heads...)
		}
		if got := merge(x, y); got != y {
			t.Fatalf("an update alone is not itself:\n%s\n%s", got, y)
		}
		if got := merge(y, y); got != y {
			t.Fatalf("an update onto itself is not itself:\n%s\n%s", got, y)
		}
		if got := merge(y, x); got != y {
			t.Fatalf("no update changes something:\n%s\n%s", got, y)
		}
		if a, b := merge(x, y, z), merge(x, z, y); a != b && strings.HasPrefix(a, "FROM") {
			t.Fatalf("the order matters:\n%s\n%s", a, b)
		}
	})
}

func TestCorpus(t *testing.T) {
	merged, all := 0, 0
	locktest.Each(t, docker.Formats, func(t *testing.T, r *locktest.Repo) {
		for _, pr := range r.Case.PullRequests {
			for _, commit := range []string{r.Case.MainCommit, pr.MergeBase, pr.Commit} {
				x := r.Tree(commit)
				for _, p := range x.Paths() {
					d := x.Doc(p)
					if got, err := d.Format.Encode(d); err != nil || !bytes.Equal(got, x.Files[p]) {
						t.Errorf("%s %s: not the same after a round trip: %v", commit, p, err)
					}
				}
			}
		}
		f := r.Fold()
		for n, c := range f.Conflicts {
			t.Errorf("#%d: %s: %q and %q", n, c[0].Key, c[0].Ours, c[0].Theirs)
		}
		merged += len(f.Merged)
		all += len(r.Case.PullRequests)
	})
	t.Logf("%d pull requests, %d merged", all, merged)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"FROM a:1 AS b\nRUN <<EOF\nFROM c:1\nEOF\nCOPY --from=d:1" + digestA + " / /\n",
		"# escape=`\nFROM `\na:1\n", "FROM a:1\\", "\n\r\nFROM  a:1\r\n", "RUN a <<-'X' <<Y\n\tX\nY\n", "COPY\nFROM",
	} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, err := dockerfile().Parse(a, nil)
		if err != nil {
			return
		}
		d.Format = dockerfile()
		if got, err := d.Format.Encode(d); err != nil || !bytes.Equal(got, a) {
			t.Fatalf("round trip: %v\n%q\n%q", err, a, got)
		}
		e, err := d.Format.Parse(b, d)
		if err != nil {
			return
		}
		tree := locktest.NewTree(t, docker.Formats(), nil)
		merged, conflicts := lockfile.Apply(d, lockfile.Diff(d, e), tree, tree, false)
		if len(conflicts) > 0 {
			return
		}
		if got, err := d.Format.Encode(merged); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("an update alone is not itself: %v\n%q\n%q", err, b, got)
		}
	})
}
