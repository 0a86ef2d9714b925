package npmlock

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
)

// legacyTree writes every entry of a file's legacy tree anew, and compares it
// with the one that npm wrote.
func legacyTree(t *testing.T, x *tree, p string) (entries int) {
	t.Helper()
	d := x.Doc(p)
	l := &lock{Ranges: npm.NewRanges(), version: 2}
	w := &shadowWriter{Judge: l.judge(d, x), doc: d, less: npm.NewLess()}
	want := shadows(d)
	d.Nodes(func(n *lockfile.Node) {
		if _, ok := want.by[n.Key]; !ok && strings.HasPrefix(n.Key, legacyPrefix) {
			t.Errorf("%s: %s comes from no package", p, n.Key)
		}
	})
	for _, key := range want.order {
		old := d.Node(key)
		if old == nil {
			t.Errorf("%s: there is no %s", p, key)
			continue
		}
		if got := w.write(key, want.by[key]); !bytes.Equal(got.Raw, old.Raw) || got.Parent != old.Parent {
			t.Errorf("%s: %s in %s\n got %s\nwant %s", p, key, got.Parent, got.Raw, old.Raw)
		}
	}
	return len(want.order)
}

// everyLegacyTree: the legacy trees of all version 2 files of a case, which npm
// wrote, come out of their packages byte for byte.
func everyLegacyTree(t *testing.T, formats []*lockfile.Format, c corpus.Case, r repo) {
	files, entries := 0, 0
	seen := map[string]bool{}
	revs := []string{c.MainCommit}
	for _, pr := range c.PullRequests {
		revs = append(revs, pr.Commit)
	}
	for _, rev := range revs {
		for p, id := range r.list(rev) {
			if !isLock(p) || seen[id] || lockVersion(r.blob(id)) != 2 {
				continue
			}
			seen[id] = true
			files++
			entries += legacyTree(t, newTree(t, formats, r.files(rev)), p)
		}
	}
	t.Logf("%d files, %d entries", files, entries)
}

// Workspaces, links, aliases, overrides and bundled packages: npm 11 wrote it.
func TestLegacyTreeOfWorkspaces(t *testing.T) {
	x := newTree(t, formats(), folder(t, "testdata/workspaces"))
	if n := legacyTree(t, x, "package-lock.json"); n < 40 {
		t.Errorf("only %d entries", n)
	}
}

// folder reads all files of a folder.
func folder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out[p], err = fs.ReadFile(fsys, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
