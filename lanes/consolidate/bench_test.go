package consolidate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// bigLock makes a project with a package-lock.json of at least 20,000 lines
// (real ones have about 13 a package), in which every second package is asked
// for by the manifest, so that neighbours of a bump stay as they are and git
// merges all bumps without a conflict.
func bigLock(packages int, bumped map[int]bool) (manifest, lock string) {
	var m, l strings.Builder
	m.WriteString("{\n  \"name\": \"bench\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {\n")
	l.WriteString("{\n  \"name\": \"bench\",\n  \"version\": \"1.0.0\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": {\n    \"\": {\n      \"name\": \"bench\",\n      \"version\": \"1.0.0\",\n      \"dependencies\": {\n")
	comma := func(i int) string {
		if i == packages-2 {
			return ""
		}
		return ","
	}
	minor := func(i int) int {
		if bumped[i] {
			return 1
		}
		return 0
	}
	for i := 0; i < packages; i += 2 {
		fmt.Fprintf(&m, "    \"pkg-%04d\": \"^1.%d.0\"%s\n", i, minor(i), comma(i))
		fmt.Fprintf(&l, "        \"pkg-%04d\": \"^1.%d.0\"%s\n", i, minor(i), comma(i))
	}
	m.WriteString("  }\n}\n")
	l.WriteString("      }\n    },\n")
	for i := range packages {
		end := ","
		if i == packages-1 {
			end = ""
		}
		sum := fmt.Sprintf("%040x%046x", i*7919+minor(i), i*104729+minor(i))
		fmt.Fprintf(&l, "    \"node_modules/pkg-%04d\": {\n      \"version\": \"1.%d.0\",\n      \"resolved\": \"https://registry.npmjs.org/pkg-%04d/-/pkg-%04d-1.%d.0.tgz\",\n      \"integrity\": \"sha512-%s==\",\n      \"license\": \"MIT\",\n", i, minor(i), i, i, minor(i), sum)
		if i+3 < packages {
			fmt.Fprintf(&l, "      \"dependencies\": {\n        \"pkg-%04d\": \"^1.0.0\",\n        \"pkg-%04d\": \"^1.0.0\"\n      },\n", i+1, i+3)
		}
		fmt.Fprintf(&l, "      \"engines\": {\n        \"node\": \">=18\"\n      }\n    }%s\n", end)
	}
	l.WriteString("  }\n}\n")
	return m.String(), l.String()
}

const bigPackages = 1500

// bigRepo makes a repository with n pull requests over one big lockfile.
func bigRepo(tb testing.TB, n int) *gittest.Repo {
	r := gittest.New(tb)
	manifest, lock := bigLock(bigPackages, nil)
	if lines := strings.Count(lock, "\n"); lines < 19_000 {
		tb.Fatalf("the lockfile has %d lines", lines)
	}
	r.Commit("main", "", gittest.Files{"package.json": manifest, "package-lock.json": lock})
	for i := range n {
		// Four entries apart: in the manifest's list two lines stand between.
		at := (i * 6) % bigPackages
		manifest, lock := bigLock(bigPackages, map[int]bool{at: true})
		r.Commit(fmt.Sprintf("dependabot/npm_and_yarn/pkg-%04d-1.1.0", at), "main",
			gittest.Files{"package.json": manifest, "package-lock.json": lock},
			gittest.Author(gittest.Dependabot), gittest.Message(fmt.Sprintf("Bump pkg-%04d from 1.0.0 to 1.1.0\n", at)))
	}
	return r
}

// BenchmarkConsolidate measures n pull requests over one lockfile of 20,000
// lines, and what git needs to merge the same branches one after the other
// without a conflict. Compare within one run.
func BenchmarkConsolidate(b *testing.B) {
	for _, n := range []int{10, 50, 200} {
		b.Run(fmt.Sprintf("bailiff/%d", n), func(b *testing.B) {
			dir := bigRepo(b, n).Dir
			for b.Loop() {
				res, err := consolidate.Run(b.Context(), dir, consolidate.Options{DryRun: true})
				if err != nil || res.Count(consolidate.Merged) != n {
					b.Fatal(err, res)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*n), "ms/pr")
		})
		b.Run(fmt.Sprintf("git/%d", n), func(b *testing.B) {
			r := bigRepo(b, n)
			r.Checkout()
			branches := strings.Fields(r.Git("for-each-ref", "--format=%(refname)", "refs/heads/dependabot"))
			for b.Loop() {
				r.Git("checkout", "-q", "--detach", "main")
				for _, branch := range branches {
					r.Git("merge", "-q", "--no-edit", branch)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*n), "ms/pr")
		})
	}
}

// BenchmarkPeak reports the largest resident memory of the command over 200
// pull requests, in a process of its own.
func BenchmarkPeak(b *testing.B) {
	exe := filepath.Join(b.TempDir(), "bailiff")
	build := exec.Command("go", "build", "-o", exe, "github.com/bailiff-bot/bailiff/cmd/bailiff")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		b.Fatal(err)
	}
	dir := bigRepo(b, 200).Dir
	var peak int64
	for b.Loop() {
		c := exec.Command(exe, "consolidate", "--dry-run", "--quiet", dir)
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		peak = max(peak, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(peak)/1024, "MB-peak")
}
