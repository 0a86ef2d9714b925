package git_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
)

// BenchmarkPlumbing is what git costs a consolidation of pull requests that each
// change three lines of one lockfile of 20,000: everything but the merging.
func BenchmarkPlumbing(b *testing.B) {
	const lines = 20_000
	lock := func(bumps ...int) []byte {
		var text bytes.Buffer
		at := map[int]bool{}
		for _, n := range bumps {
			at[n] = true
		}
		for i := range lines {
			fmt.Fprintf(&text, "      \"integrity\": \"sha512-%064x\",\n", i*7919)
			if at[i] {
				text.WriteString("      \"bumped\": true,\n")
			}
		}
		return text.Bytes()
	}
	for _, n := range []int{10, 50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := gittest.New(b)
			base := r.Commit("main", "", gittest.Files{"package-lock.json": lock(), "src/deep/down/x.js": "x"})
			var heads []git.ID
			var sum []int
			for i := range n {
				sum = append(sum, (i+1)*lines/(n+1))
				heads = append(heads, r.Commit(fmt.Sprint("dependabot/", i), string(base), gittest.Files{"package-lock.json": lock(sum[i])}))
			}
			versions := make([][]byte, n)
			for i := range n {
				versions[i] = lock(sum[:i+1]...)
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := git.Open(b.Context(), r.Dir)
				if err != nil {
					b.Fatal(err)
				}
				s, err := c.Scratch(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for _, head := range heads {
					fork, _, err := s.MergeBase(b.Context(), base, head)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Commits(b.Context(), fork, head); err != nil {
						b.Fatal(err)
					}
					changes, err := s.Diff(b.Context(), fork, head)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Blob(b.Context(), changes[0].New); err != nil {
						b.Fatal(err)
					}
				}
				im, err := s.Import(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				spec := git.CommitSpec{Parent: base, Author: gittest.Dependabot, Committer: gittest.Person, Message: "bump\n"}
				for i := range heads {
					blob, err := im.Blob(versions[i])
					if err != nil {
						b.Fatal(err)
					}
					spec.Changes = []git.FileChange{{Path: "package-lock.json", Mode: git.ModeFile, Blob: blob}}
					if spec.ParentMark, err = im.Commit(spec); err != nil {
						b.Fatal(err)
					}
					spec.Parent = ""
				}
				ids, err := im.Close()
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Install(b.Context(), ids[spec.ParentMark]); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/pull-request")
			packs, _ := filepath.Glob(filepath.Join(r.GitDir, "objects/pack/*.pack"))
			if fi, err := os.Stat(packs[0]); err == nil {
				b.ReportMetric(float64(fi.Size())/1024, "pack-KiB")
			}
		})
	}
}
