package golang_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
)

var formats = golang.Formats()

// files is a lockfile.Tree of texts.
type files map[string]string

func (f files) Read(path string) ([]byte, bool) {
	text, ok := f[path]
	return []byte(text), ok
}

func (f files) Doc(path string) *lockfile.Doc {
	text, ok := f[path]
	if !ok || formatOf(path) == nil {
		return nil
	}
	d, err := parseAs(path, text, nil)
	if err != nil {
		return nil
	}
	return d
}

func (f files) Paths() []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(f)) {
		if formatOf(p) != nil {
			out = append(out, p)
		}
	}
	return out
}

func formatOf(path string) *lockfile.Format {
	for _, f := range formats {
		if f.Match(path, nil) {
			return f
		}
	}
	return nil
}

func parseAs(path, text string, like *lockfile.Doc) (*lockfile.Doc, error) {
	f := formatOf(path)
	d, err := f.Parse([]byte(text), like)
	if err != nil {
		return nil, err
	}
	d.Format, d.Path = f, path
	return d, nil
}

// parse parses what must parse, and be written as it was.
func parse(t testing.TB, path, text string, like *lockfile.Doc) *lockfile.Doc {
	t.Helper()
	d, err := parseAs(path, text, like)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	if got := encode(t, d); got != text {
		t.Fatalf("%s is written as\n%s\nand was\n%s", path, got, text)
	}
	return d
}

func encode(t testing.TB, d *lockfile.Doc) string {
	t.Helper()
	out, err := d.Format.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// update is what one head makes of its fork.
type update struct {
	name       string
	fork, head files
}

func (u update) changed() []string {
	var out []string
	for p := range u.head {
		if u.head[p] != u.fork[p] && formatOf(p) != nil {
			out = append(out, p)
		}
	}
	// Manifests first, as the lockfiles are merged by them.
	slices.SortFunc(out, func(a, b string) int {
		if formatOf(a).Lock != formatOf(b).Lock {
			if formatOf(b).Lock {
				return -1
			}
			return 1
		}
		return bytes.Compare([]byte(a), []byte(b))
	})
	return out
}

// merged is a base with some updates.
type merged struct {
	files
	updates   []update
	conflicts map[string][]lockfile.Conflict // by update
	notes     map[string][]string            // by path
}

// fold merges updates one after the other.
func fold(t testing.TB, base files, updates []update) *merged {
	t.Helper()
	patches := map[string][]*lockfile.Patch{}
	of := map[string]*lockfile.Patch{}
	for _, u := range updates {
		for _, p := range u.changed() {
			fork := parse(t, p, u.fork[p], nil)
			patch := lockfile.Diff(fork, parse(t, p, u.head[p], fork))
			patches[p] = append(patches[p], patch)
			of[u.name+" "+p] = patch
		}
	}
	for _, list := range patches {
		lockfile.Agree(list)
	}
	m := &merged{files: maps.Clone(base), conflicts: map[string][]lockfile.Conflict{}, notes: map[string][]string{}}
	joined := map[string][]*lockfile.Patch{}
	for _, u := range updates {
		now := maps.Clone(m.files)
		var conflicts []lockfile.Conflict
		for _, p := range u.changed() {
			d, c := lockfile.Apply(parse(t, p, now[p], nil), of[u.name+" "+p], m.files, now, len(patches[p]) > 1)
			if conflicts = append(conflicts, c...); len(c) == 0 {
				now[p] = encode(t, d)
			}
		}
		if len(conflicts) > 0 {
			m.conflicts[u.name] = conflicts
			continue
		}
		for _, p := range u.changed() {
			if d := parse(t, p, now[p], nil); d.Format.Settle != nil {
				now[p] = encode(t, d.Format.Settle(d, of[u.name+" "+p], m.files, now))
			}
		}
		for _, p := range u.changed() {
			joined[p] = append(joined[p], of[u.name+" "+p])
		}
		m.files = now
		m.updates = append(m.updates, u)
	}
	for p, list := range joined {
		d := parse(t, p, m.files[p], nil)
		if notes := d.Format.Notes; notes != nil {
			m.notes[p] = notes(d, list)
		}
	}
	return m
}

// problems are what is wrong with a tree, by ID.
func problems(f files) map[string]lockfile.Problem {
	out := map[string]lockfile.Problem{}
	for _, p := range f.Paths() {
		d := f.Doc(p)
		if d == nil {
			out[p] = lockfile.Problem{Code: lockfile.Unparsable, Path: p}
			continue
		}
		if d.Format.Check == nil {
			continue
		}
		for _, x := range d.Format.Check(d, f) {
			out[x.ID()] = x
		}
	}
	return out
}

// fresh are the hard problems that neither the base nor an update alone has.
func (m *merged) fresh(base files) []lockfile.Problem {
	known := problems(base)
	for _, u := range m.updates {
		maps.Copy(known, problems(u.head))
	}
	var out []lockfile.Problem
	for id, p := range problems(m.files) {
		if _, ok := known[id]; !ok && !p.Soft {
			out = append(out, p)
		}
	}
	return out
}
