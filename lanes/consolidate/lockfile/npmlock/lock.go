// Package npmlock knows npm's lockfile, package-lock.json or npm-shrinkwrap.json,
// in its three versions. All are read as one tree of packages, which package
// modules knows how to mend and to judge: version 1 nests its entries as the
// folders are, version 3 names each by its path, version 2 holds both.
package npmlock

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsondoc"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock/modules"
)

// Keys of nodes: a package has its path ("" is the project), a member of the
// file itself has '#' and its name. In version 2 the entries of the legacy tree
// are nodes of their own, without name and edges: they follow the packages.
const (
	packagesKey  = "#packages"
	legacyKey    = "#dependencies"
	legacyPrefix = legacyKey + "/"
)

// lockSyntax is what writing the file needs beside its nodes.
type lockSyntax struct {
	version int
	frame   jsondoc.Frame
	style   jsontext.Style
}

func syntax(d *lockfile.Doc) *lockSyntax { return d.Syntax.(*lockSyntax) }

// Formats returns a format for each version.
func Formats() []*lockfile.Format {
	r := npm.NewRanges()
	return []*lockfile.Format{lockFormat(r, 3), lockFormat(r, 2), lockFormat(r, 1)}
}

func lockFormat(r npm.Ranges, version int) *lockfile.Format {
	l := &lock{Ranges: r, version: version}
	f := &lockfile.Format{
		Name:      fmt.Sprintf("package-lock.json v%d", version),
		Ecosystem: npm.Ecosystem,
		Lock:      true,
		Match: func(p string, content []byte) bool {
			return isLock(p) && (content == nil || lockVersion(content) == version)
		},
		Parse:   l.parse,
		Encode:  encode,
		Compare: l.compare,
		Combine: l.combine,
		Tool:    tool,
		Less:    npm.NewLess(),
		Nested:  func(key string) bool { return modules.Depth(key) > 1 },
		Target:  modules.Target,
		Repair:  l.repair,
		Finish:  l.finish,
		Check:   l.check,
	}
	if version == 1 {
		f.Roots = roots
	}
	return f
}

// lock is the format of one lockfileVersion.
type lock struct {
	npm.Ranges
	version int
}

// isLock reports whether a path names npm's lockfile.
func isLock(p string) bool {
	b := path.Base(p)
	return b == "package-lock.json" || b == "npm-shrinkwrap.json"
}

// lockVersion reads lockfileVersion. What is neither 2 nor 3 goes to the
// parser of version 1, which refuses what it does not know.
func lockVersion(content []byte) int {
	const name = `"lockfileVersion"`
	if at := bytes.Index(content, []byte(name)); at >= 0 {
		rest := bytes.TrimLeft(content[at+len(name):], " \t\r\n:")
		for _, v := range []string{"2", "3"} {
			if after, ok := bytes.CutPrefix(rest, []byte(v)); ok && (len(after) == 0 || after[0] < '0' || after[0] > '9') {
				return int(v[0] - '0')
			}
		}
	}
	return 1
}

// parse takes a lockfile apart.
func (l *lock) parse(content []byte, like *lockfile.Doc) (*lockfile.Doc, error) {
	p, top, err := jsondoc.Open(content, like)
	if err != nil {
		return nil, err
	}
	p.Same = sameNest
	syn := &lockSyntax{version: l.version}
	found := false
	for top.Next() {
		key := string(top.Key())
		switch {
		case key == "packages" && l.version >= 2:
			found = true
			err = packages(p, top)
		case key == "dependencies" && l.version <= 2:
			err = legacy(p, top, l.version)
		default:
			m := top.Member()
			if key == "lockfileVersion" && string(m.Value()) != fmt.Sprint(l.version) {
				v := m.Value()
				return nil, fmt.Errorf("lockfileVersion %s is not known", v[:min(len(v), 20)])
			}
			err = p.Add(&lockfile.Node{Key: "#" + key, Raw: m.Raw}, m, func(n *lockfile.Node, m jsontext.Member) error {
				n.Data = &pkg{member: m}
				return nil
			})
		}
		if err != nil {
			return nil, err
		}
		if syn.style.Unit == "" {
			syn.style = jsontext.StyleOf(jsontext.Object{Members: []jsontext.Member{top.Member()}})
		}
	}
	if syn.frame, err = p.Frame(top); err != nil {
		return nil, err
	}
	if l.version >= 2 && !found {
		return nil, errors.New(`the member "packages" is missing`)
	}
	p.Doc.Syntax = syn
	return p.Doc, nil
}

// packages reads the object with one entry a path.
func packages(p *jsondoc.Parser, top *jsontext.Scanner) error {
	s, end, err := p.Object(top, packagesKey)
	if err != nil {
		return err
	}
	for s.Next() {
		key := p.Key(s.Key())
		m := s.Member()
		switch {
		case len(key) > modules.MaxPath:
			return fmt.Errorf("line %d: a path is longer than %d bytes", p.Line(m.Offset+m.KeyAt), modules.MaxPath)
		case modules.Inside(key) == len(key):
			return fmt.Errorf("line %d: a package without a name", p.Line(m.Offset+m.KeyAt))
		}
		m.Key = key
		if err := p.Add(&lockfile.Node{Key: key, Parent: packagesKey, Raw: m.Raw}, m, decode); err != nil {
			return err
		}
	}
	return end()
}

func encode(d *lockfile.Doc) ([]byte, error) { return newEncoder(d).File(syntax(d).frame), nil }

func newEncoder(d *lockfile.Doc) *jsondoc.Encoder {
	e := jsondoc.NewEncoder(d)
	e.Entry = entry
	return e
}

// repair mends a merged tree.
func (l *lock) repair(m *lockfile.Merge) {
	jsondoc.Restore(m)
	modules.Repair(m, l.judge(m.Doc, m.Tree), modules.Layout{Rekey: rekey, Behind: behind})
}

// finish renews what a lockfile derives from its packages.
func (l *lock) finish(m *lockfile.Merge) {
	if l.version < 3 {
		strand(m)
	}
	if l.version == 1 || !modules.SameGraph(m.Before, m.Doc) { // the roots of 1 are elsewhere
		modules.Sweep(m)
		renew(m)
	}
	if l.version == 2 && m.Node(legacyKey) != nil {
		l.follow(m)
	}
}

func (l *lock) judge(d *lockfile.Doc, t lockfile.Tree) modules.Judge {
	return modules.NewJudge(l.Ranges, d, t)
}
