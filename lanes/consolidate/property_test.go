package consolidate_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/git"
	"github.com/bailiff-bot/bailiff/internal/git/gittest"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// Bumps of different things come out the same whatever order the bots wrote
// them in, and all of them arrive.
func TestOrderOfDisjointBumpsDoesNotMatter(t *testing.T) {
	for _, to := range []string{"1.1.0", "2.0.0"} {
		want := ""
		for _, order := range []string{"abcde", "edcba", "cdeab", "badce"} {
			direct, base := map[string]string{}, map[string]pkg{"shared": {version: "1.0.0"}}
			for _, n := range order {
				direct[string(n)], base[string(n)] = "^1.0.0", pkg{version: "1.0.0", needs: map[string]string{"shared": "^1.0.0"}}
			}
			s := newStory(t, npmFiles(direct, base))
			for i, n := range order {
				d, l := maps.Clone(direct), maps.Clone(base)
				d[string(n)], l[string(n)] = "^"+to, pkg{version: to, needs: map[string]string{"shared": "^1.0.0"}}
				bot := gittest.Dependabot
				bot.When = git.Date{Unix: gittest.Start.Unix() + int64(i), Zone: "+0000"}
				s.bot(fmt.Sprintf("npm_and_yarn/%c-%s", n, to), fmt.Sprintf("Bump %c from 1.0.0 to %s", n, to), npmFiles(d, l), gittest.Author(bot))
			}
			r := s.run(consolidate.Options{})
			if r.Count(consolidate.Merged) != len(order) {
				t.Fatalf("%v", outcomes(r))
			}
			got := s.result("package.json") + s.result("package-lock.json")
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("in the order %s:\n%s\nwant:\n%s", order, got, want)
			}
		}
	}
}
