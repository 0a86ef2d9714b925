package yarn_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// What releases of yarn wrote comes back, is sound and is needed to the last
// entry; and each entry is missed when it is gone.
func TestWrittenByYarn(t *testing.T) {
	files, err := filepath.Glob("testdata/written/*.txtar")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := map[string]string{}
			for _, f := range a.Files {
				text[f.Name] = string(f.Data)
			}
			all := formats()
			whole := newTree(all, text)
			d, err := whole.parse("yarn.lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := encodeDoc(t, d); got != text["yarn.lock"] {
				t.Error("it does not come back")
			}
			for _, p := range whole.problems() {
				t.Errorf("%s %s", p.Code, p)
			}
			d.Nodes(func(n *lockfile.Node) {
				if n.Name == "" {
					return
				}
				less := d.Clone()
				less.Delete(n.Key)
				tr := whole.with(less)
				if again, err := d.Format.Parse([]byte(tr.text["yarn.lock"]), nil); err != nil || again.Len() != less.Len() {
					t.Fatalf("without %s: %v", n.Key, err)
				}
				found := false
				for _, p := range tr.problems() {
					found = found || !p.Soft
				}
				// Yarn's own patches differ from release to release, and what a
				// resolution replaces is not looked up.
				replaced := n.Key == "debug@^2.0.0" || n.Key == "is-number@^6.0.0"
				if !found && !replaced && !strings.Contains(n.Key, "builtin<") {
					t.Errorf("nobody misses %s", n.Key)
				}
			})
		})
	}
}
