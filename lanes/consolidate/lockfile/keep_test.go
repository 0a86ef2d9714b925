package lockfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// words is a format of one word a line: "parent/key=version".
var words = &lockfile.Format{
	Keep: func(n *lockfile.Node) bool { return n.Key != "free" },
	Decide: func(_, ours, theirs *lockfile.Node) (*lockfile.Node, bool) {
		if theirs.Version == "never" {
			return nil, false
		}
		return ours, true
	},
}

func parse(text string) *lockfile.Doc {
	d := lockfile.NewDoc(0)
	d.Format = words
	for _, w := range strings.Fields(text) {
		parent, rest, _ := strings.Cut(w, "/")
		key, version, _ := strings.Cut(rest, "=")
		d.Add(&lockfile.Node{Key: key, Parent: parent, Version: version, Raw: []byte(version)})
	}
	return d
}

func encode(d *lockfile.Doc) string {
	var out []string
	d.Nodes(func(n *lockfile.Node) { out = append(out, n.Parent+"/"+n.Key+"="+n.Version) })
	return strings.Join(out, " ")
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		fork, ours, head string
		others           []string // heads of the same fork that change the file, too
		want             string   // empty: a conflict
	}{
		"one head alone removes": {fork: "/a /b", ours: "/a /b", head: "/a", want: "/a="},
		"a removal that others might miss": {
			fork: "/a /b", ours: "/a /b /c", head: "/a", others: []string{"/a /b /c"}, want: "/a= /b= /c=",
		},
		"a removal that all agree on": {
			fork: "/a /b", ours: "/a /b /c", head: "/a", others: []string{"/a /c"}, want: "/a= /c=",
		},
		"a removal that needs no keeping": {
			fork: "/a /free", ours: "/a /free /c", head: "/a", others: []string{"/a /free /c"}, want: "/a= /c=",
		},
		"both changed, and the format decides": {fork: "/a=1", ours: "/a=2", head: "/a=3", want: "/a=2"},
		"both changed, and it does not":        {fork: "/a=1", ours: "/a=2", head: "/a=never"},
		"moved to another parent": {
			fork: "x/x x/a x/b y/y y/c", ours: "x/x x/a x/b y/y y/c", head: "x/x x/b y/y y/c y/a",
			want: "x/x= x/b= y/y= y/c= y/a=",
		},
		"behind a neighbour that ours lost": {
			fork: "/a /b /c", ours: "/a /c", head: "/a /b /new /c", want: "/a= /new= /c=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fork := parse(c.fork)
			patches := []*lockfile.Patch{lockfile.Diff(fork, parse(c.head))}
			for _, o := range c.others {
				patches = append(patches, lockfile.Diff(fork, parse(o)))
			}
			lockfile.Agree(patches)
			got, conflicts := lockfile.Apply(parse(c.ours), patches[0], nil, nil, len(patches) > 1)
			if c.want == "" {
				if len(conflicts) != 1 {
					t.Errorf("conflicts: %v", conflicts)
				}
				return
			}
			if len(conflicts) > 0 {
				t.Fatal(conflicts)
			}
			if encode(got) != c.want {
				t.Errorf("got  %s\nwant %s", encode(got), c.want)
			}
			if head := patches[0].Head(); !slices.Equal(head.Keys(), parse(c.head).Keys()) {
				t.Errorf("the head made again has the order %v", head.Keys())
			}
		})
	}
}
