package jsondoc_test

import (
	"errors"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsondoc"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// format has the members of "in" as nodes of their own.
func format() *lockfile.Format {
	keep := func(n *lockfile.Node, m jsontext.Member) error { n.Data = m; return nil }
	return &lockfile.Format{
		Parse: func(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
			p, top, err := jsondoc.Open(content, like)
			if err != nil {
				return nil, err
			}
			for top.Next() {
				if key := string(top.Key()); key != "in" {
					m := top.Member()
					if err := p.Add(&lockfile.Node{Key: "#" + key, Raw: m.Raw}, m, keep); err != nil {
						return nil, err
					}
					continue
				}
				s, end, err := p.Object(top, "#in")
				if err != nil {
					return nil, err
				}
				for s.Next() {
					m := s.Member()
					if err := p.Add(&lockfile.Node{Key: p.Key(s.Key()), Parent: "#in", Raw: m.Raw}, m, keep); err != nil {
						return nil, err
					}
				}
				if err := end(); err != nil {
					return nil, err
				}
			}
			p.Doc.Syntax, err = p.Frame(top)
			return p.Doc, err
		},
		Encode: func(d *lockfile.Doc) ([]byte, error) {
			return jsondoc.NewEncoder(d).File(d.Syntax.(jsondoc.Frame)), nil
		},
		Less:   func(a, b string) bool { return a[0] != '#' && b[0] != '#' && a < b },
		Repair: jsondoc.Restore,
	}
}

func parse(t *testing.T, f *lockfile.Format, text string, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d, err := f.Parse([]byte(text), like)
	if err != nil {
		t.Fatal(err)
	}
	d.Format = f
	return d
}

func encode(t *testing.T, d *lockfile.Doc) string {
	t.Helper()
	b, err := d.Format.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryByteComesBack(t *testing.T) {
	f := format()
	for _, text := range []string{
		`{}`, " { } \n", `{"a":1}`, "{\n\t\"in\": {},\n\t\"b\": [1]\n}\n", `{"in":{"x":1,"y":{"z":2}}}`,
		"{ \"in\" : { \"x\" : 1 , \"y\" : 2 } , \"b\" : 3 }", "{\"in\": { }\n}",
	} {
		d := parse(t, f, text, nil)
		if got := encode(t, d); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
		again := parse(t, f, text, d)
		if got := encode(t, again); got != text {
			t.Errorf("%q came back as %q beside itself", text, got)
		}
		for _, k := range again.Keys() {
			if k != "#in" && again.Node(k) != d.Node(k) {
				t.Errorf("%q: %s is not taken from its likeness", text, k)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	f := format()
	for name, c := range map[string]struct{ fork, one, two, want string }{
		"the last one goes, another comes": {
			"{\n  \"in\": {\n    \"x\": 1\n  },\n  \"z\": 0\n}", "{\n  \"z\": 0\n}", "{\n  \"in\": {\n    \"x\": 1,\n    \"y\": 2\n  },\n  \"z\": 0\n}",
			"{\n  \"in\": {\n    \"y\": 2\n  },\n  \"z\": 0\n}",
		},
		"the first ones": {
			"{\n  \"in\": {}\n}", "{\n  \"in\": {\n    \"y\": 1\n  }\n}", "{\n  \"in\": {\n    \"x\": 1\n  }\n}",
			"{\n  \"in\": {\n    \"x\": 1,\n    \"y\": 1\n  }\n}",
		},
		"on one line": {`{"in":{"x":1}}`, `{"in":{}}`, `{"in":{"x":1,"y":2}}`, `{"in":{"y":2}}`},
	} {
		for _, order := range [][2]string{{c.one, c.two}, {c.two, c.one}} {
			fork := parse(t, f, c.fork, nil)
			ours := parse(t, f, c.fork, fork)
			for _, h := range order {
				d, conflicts := lockfile.Apply(ours, lockfile.Diff(fork, parse(t, f, h, fork)), nil, nil, true)
				if len(conflicts) > 0 {
					t.Fatal(name, conflicts)
				}
				ours = d
			}
			if got := encode(t, ours); got != c.want {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	f := format()
	_, err := f.Parse([]byte("{\n<<<<<<< HEAD\n}"), nil)
	if !errors.Is(err, lockfile.ErrConflictMarkers) {
		t.Error(err)
	}
	var dup *lockfile.DuplicateError
	if _, err = f.Parse([]byte("{\"in\": {\"x\": 1,\n\"x\": 2}}"), nil); !errors.As(err, &dup) || dup.Line != 2 {
		t.Error(err)
	}
	if _, err = f.Parse([]byte(`{"in":[]}`), nil); err == nil {
		t.Error("a list is taken for an object")
	}
}
