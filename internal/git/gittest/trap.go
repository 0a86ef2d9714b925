package gittest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Trap is one way in which a repository (or what surrounds it) names a program
// for git to run.
type Trap struct {
	Name string
	// Serial: it sets environment variables, so its test may not be parallel.
	Serial bool
	// beside names the set of traps that it may be armed with: none of them keeps
	// another from springing without springing itself. Empty: it stays alone.
	beside string
	since  [2]int // version of git that first falls for it; zero means all
	set    func(b *bait)
	// fire has plain git do what springs the trap.
	fire func(b *bait)
}

// Set is some traps that can be armed in one repository at a time.
type Set struct {
	Name   string
	Serial bool // see Trap
	Traps  []Trap
}

// Sets deals all [Traps] out, so that few repositories do for a test that runs
// something slow past each of them.
func Sets() []Set {
	var sets []Set
	at := map[string]int{}
	for _, tr := range Traps() {
		i, ok := at[tr.beside]
		if !ok || tr.beside == "" {
			i = len(sets)
			at[tr.beside] = i
			sets = append(sets, Set{Name: cmp.Or(tr.beside, tr.Name)})
		}
		sets[i].Traps = append(sets[i].Traps, tr)
		sets[i].Serial = sets[i].Serial || tr.Serial
	}
	return sets
}

// Arm arms them all, and answers how to get the names of those that sprang.
func (s Set) Arm(t *testing.T, r *Repo) (sprung func() []string) {
	t.Helper()
	armed := map[string]func() bool{}
	for _, tr := range s.Traps {
		armed[tr.Name] = tr.Arm(t, r)
	}
	return func() []string {
		var names []string
		for name, sprang := range armed {
			if sprang() {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
}

// Attributes is a .gitattributes file that leads every path to the traps' merge
// driver, filter and diff driver.
const Attributes = "* merge=bait filter=bait diff=bait\n"

// Bait makes the repository that traps are proved on: branches main and bump
// that conflict, with [Attributes] in their trees and a working tree.
func Bait(t testing.TB) *Repo {
	t.Helper()
	return BaitIn(t, filepath.Join(t.TempDir(), "repo"))
}

// BaitIn is Bait in a folder of choice, with flags for git init.
func BaitIn(t testing.TB, dir string, flags ...string) *Repo {
	t.Helper()
	r := NewIn(t, dir, flags...)
	root := r.Commit("main", "", Files{".gitattributes": Attributes, "f": "1\n2\n3\n"})
	r.Commit("main", "main", Files{"f": "1\nmain\n3\n"}, Header("gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n"))
	r.Commit("bump", string(root), Files{"f": "1\nbump\n3\n"}, Author(Dependabot))
	r.Checkout()
	return r
}

// Prove shows that the trap works: that plain git, in a repository made by
// [Bait], runs what it names. It skips the test where git is too old to fall
// for it.
func (tr Trap) Prove(t *testing.T) {
	t.Helper()
	r := Bait(t)
	if v := version(r); v[0] < tr.since[0] || v[0] == tr.since[0] && v[1] < tr.since[1] {
		t.Skipf("git %d.%d does not know it", v[0], v[1])
	}
	b := tr.arm(t, r)
	tr.fire(b)
	if !b.sprung() {
		t.Fatal("plain git does not spring the trap, so it proves nothing")
	}
}

// Arm sets the trap in a repository, and answers how to see whether it sprang
// since. What runs git in the repository may spring it, methods of r included.
func (tr Trap) Arm(t *testing.T, r *Repo) (sprung func() bool) {
	t.Helper()
	return tr.arm(t, r).sprung
}

func (tr Trap) arm(t *testing.T, r *Repo) *bait {
	t.Helper()
	dir := t.TempDir()
	b := &bait{Repo: r, t: t, dir: dir, marker: filepath.Join(dir, "sprung"), script: filepath.Join(dir, "bait.sh")}
	b.write(b.script, "#!/bin/sh\n: >'"+b.marker+"'\n", 0o755)
	tr.set(b)
	return b
}

// bait is a repository with a trap.
type bait struct {
	*Repo
	t      *testing.T
	dir    string // outside of the repository
	script string // leaves the marker
	marker string
}

func (b *bait) sprung() bool {
	_, err := os.Stat(b.marker)
	return err == nil
}

func (b *bait) write(path, text string, mode os.FileMode) {
	b.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// local sets configuration of the repository, "key=value", without running git.
func (b *bait) local(settings ...string) {
	b.t.Helper()
	path := filepath.Join(b.GitDir, "config")
	old, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(path, string(old)+config(settings), 0o644)
}

// person sets configuration of the person who runs the test.
func (b *bait) person(settings ...string) {
	b.t.Helper()
	old, _ := os.ReadFile(b.global) // of another trap of the set
	b.global = filepath.Join(b.dir, "gitconfig")
	b.write(b.global, string(old)+config(settings), 0o644)
	b.t.Setenv("GIT_CONFIG_GLOBAL", b.global)
}

// config writes settings as a file: "section.sub.key=value".
func config(settings []string) string {
	var out strings.Builder
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
		section := key[:first]
		if first != last {
			section += " " + strconv.Quote(key[first+1:last])
		}
		fmt.Fprintf(&out, "[%s]\n\t%s = %s\n", section, key[last+1:], strconv.Quote(value))
	}
	return out.String()
}

// run has plain git do something that may well fail.
func (b *bait) run(args ...string) {
	b.t.Helper()
	out, err := b.Command(args...).CombinedOutput()
	b.t.Logf("git %q: %v\n%s", args, err, out)
}

var number = regexp.MustCompile(`(\d+)\.(\d+)`)

func version(r *Repo) (v [2]int) {
	m := number.FindStringSubmatch(r.Git("version"))
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1])
	}
	return v
}
