package pnpm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// Files made to cost much are read, merged and checked as any other; a cost
// that grows with the square of their size would not let these end.
func TestHostileFilesEnd(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	const head = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.0.0\n"
	for name, text := range map[string]string{
		"peers in peers without end": head + "\nsnapshots:\n\n  a@1.0.0" + strings.Repeat("(b@1", 200_000) + strings.Repeat(")", 200_000) + ": {}\n",
		"brackets":                   head + "\nsnapshots:\n\n  a@1.0.0" + strings.Repeat("()", 200_000) + ": {}\n",
		"blank lines":                head + strings.Repeat("\n", 500_000),
		"comments":                   head + strings.Repeat("# \n", 200_000),
		"indentation":                head + many(2_000, func(i int) string { return strings.Repeat(" ", i) + "x:\n" }),
		"a chain of missing peers": head + "\npackages:\n" + many(5_000, func(i int) string {
			return fmt.Sprintf("\n  c%d@1.0.0:\n    peerDependencies:\n      p%d: '*'\n", i, i)
		}) + "\nsnapshots:\n" + many(5_000, func(i int) string {
			return fmt.Sprintf("\n  c%d@1.0.0:\n    dependencies:\n      c%d: 1.0.0\n", i, i+1)
		}),
		"one package with many dependents and peers": head + "\npackages:\n\n  c@1.0.0:\n    peerDependencies:\n" + many(5_000, func(i int) string {
			return fmt.Sprintf("      p%d: '*'\n", i)
		}) + "\nsnapshots:\n\n  c@1.0.0: {}\n" + many(5_000, func(i int) string {
			return fmt.Sprintf("\n  d%d@1.0.0:\n    dependencies:\n      c: 1.0.0\n", i)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			f := formats()[0]
			if _, err := f.Parse([]byte(text), nil); err != nil {
				return
			}
			side := func(v string) *files {
				s := strings.Replace(strings.Replace(text, "^1.0.0", "^"+v, 1), "version: 1.0.0", "version: "+v, 1)
				return treeOf(t, []*lockfile.Format{f}, map[string]string{"pnpm-lock.yaml": s}, nil)
			}
			base := side("1.0.0")
			_, _ = merge(side("1.1.0"), base, side("1.2.0"), true)
			_ = base.problems("pnpm-lock.yaml")
		})
	}
}
