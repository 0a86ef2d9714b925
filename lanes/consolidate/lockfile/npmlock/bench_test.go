package npmlock

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/corpustest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// big is a real lockfile of 20,285 lines and the pull requests that change it.
const (
	bigCase = "fabriziosalmi__wildbox__2026-08-03-1f25cc2"
	bigLock = "website/package-lock.json"
)

func openBig(b *testing.B) (base *tree, forks, heads []*tree) {
	b.Helper()
	cases := corpustest.Cases(b)
	i := slices.IndexFunc(cases, func(c corpus.Case) bool { return c.ID == bigCase })
	r := repo{t: b, dir: filepath.Join(b.TempDir(), "clone"), blobs: map[string][]byte{}}
	if err := cases[i].Clone(b.Context(), r.dir); err != nil {
		b.Fatal(err)
	}
	r.load()
	formats := formats()
	base = newTree(b, formats, r.files(cases[i].MainCommit))
	for _, pr := range cases[i].PullRequests {
		if slices.Contains(pr.Files, bigLock) {
			forks = append(forks, newTree(b, formats, r.files(pr.MergeBase)))
			heads = append(heads, newTree(b, formats, r.files(pr.Commit)))
		}
	}
	return base, forks, heads
}

func BenchmarkParse(b *testing.B) {
	base, forks, heads := openBig(b)
	old := base.Doc(bigLock)
	b.Run("alone", func(b *testing.B) {
		b.SetBytes(int64(len(heads[0].files[bigLock])))
		for b.Loop() {
			parse(b, base.formats, bigLock, heads[0].files[bigLock], nil)
		}
	})
	b.Run("beside its fork", func(b *testing.B) {
		fork := forks[0].doc(bigLock, old)
		b.ReportAllocs()
		b.SetBytes(int64(len(heads[0].files[bigLock])))
		for b.Loop() {
			parse(b, base.formats, bigLock, heads[0].files[bigLock], fork)
		}
	})
}

// BenchmarkStep merges each of the heads into the base, and what comes after it.
func BenchmarkStep(b *testing.B) {
	base, forks, heads := openBig(b)
	ours := base.Doc(bigLock)
	for i, head := range heads {
		fork := forks[i].doc(bigLock, ours)
		patch := lockfile.Diff(fork, head.doc(bigLock, fork))
		after := base.with(map[string]*lockfile.Doc{"website/package.json": head.Doc("website/package.json")})
		f := ours.Format
		d, conflicts := lockfile.Apply(ours, patch, base, after, true)
		if len(conflicts) > 0 {
			b.Fatal(conflicts)
		}
		name := fmt.Sprintf("%d changes", len(patch.Changes))
		b.Run(name+"/apply", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lockfile.Apply(ours, patch, base, after, true)
			}
		})
		b.Run(name+"/check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Check(d, after)
			}
		})
		b.Run(name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Encode(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory is what 200 heads' patches hold, over one fork.
func BenchmarkMemory(b *testing.B) {
	base, _, _ := openBig(b)
	ours := base.Doc(bigLock)
	text := string(base.files[bigLock])
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		var patches []*lockfile.Patch
		for i := range 200 {
			head := strings.Replace(text, `"license": "MIT"`, fmt.Sprintf(`"license": "MIT-%d"`, i), 20)
			patches = append(patches, lockfile.Diff(ours, parse(b, base.formats, bigLock, []byte(head), ours)))
		}
		b.ReportMetric(float64(heap()-before)/1e6, "MB/200-heads")
		runtime.KeepAlive(patches)
	}
}
