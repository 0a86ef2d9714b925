package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/corpus"
)

const (
	headFormat = "%-62s %4s %6s %6s %5s %5s %6s   %6s %5s %6s\n"
	rowFormat  = "%-62s %4d %6d %6d %5d %5s %6d   %6d %5s %6d\n"
)

// WriteHead writes the head of the table.
func WriteHead(w io.Writer) {
	fmt.Fprintf(w, "%-92s %14s\n", "", "plain git merge")
	fmt.Fprintf(w, headFormat, "case", "PRs", "merged", "super.", "left", "sound", "ms", "merged", "sound", "ms")
}

// Write writes the row, and under it what did not go well.
func (r Row) Write(w io.Writer) {
	b, g := r.Bailiff, r.Git
	fmt.Fprintf(w, rowFormat, r.Case, r.PullRequests, b.Merged, b.Superseded, b.LeftOut, b.sound(), b.Milliseconds, g.Merged, g.sound(), g.Milliseconds)
	if b.Error != "" {
		fmt.Fprintf(w, "    failed: %s\n", brief(b.Error))
	}
	for _, fate := range r.Fates {
		if fate.Done() {
			for _, line := range fate.Stale {
				fmt.Fprintf(w, "    #%d %s, but the old line is still there: %s\n", fate.Number, fate.Outcome, brief(line))
			}
			continue
		}
		note := ""
		if !fate.Adapted {
			note = " (not adapted: " + strings.Join(fate.unadapted(), ", ") + ")"
		}
		fmt.Fprintf(w, "    #%d %s %s%s: %s\n", fate.Number, fate.Outcome, fate.Code, note, brief(fate.Reason))
	}
	for _, problem := range b.Problems {
		fmt.Fprintf(w, "    unsound: %s\n", brief(problem))
	}
	for _, why := range b.Unable {
		fmt.Fprintf(w, "    cannot judge: %s\n", brief(why))
	}
	for _, file := range r.AsText {
		format := corpus.FormatOf(file)
		if format.Adapted {
			fmt.Fprintf(w, "    merged as text: %s\n", brief(file))
		}
	}
	for _, problem := range g.Problems {
		fmt.Fprintf(w, "    plain git: %s\n", brief(problem))
	}
}

// unadapted lists the formats of the pull request that are merged as text.
func (f Fate) unadapted() []string {
	return slices.DeleteFunc(slices.Clone(f.Formats), corpus.IsAdapted)
}

// brief is text fit for one line of a terminal.
func brief(s string) string {
	const most = 220
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

func (s Side) sound() string {
	switch {
	case s.Sound == nil:
		return "?"
	case *s.Sound && len(s.Unable) > 0:
		return "yes*" // by those who could tell
	case *s.Sound:
		return "yes"
	default:
		return "NO"
	}
}

// A Total sums pull requests up.
type Total struct {
	PullRequests  int `json:"pull_requests"`
	Merged        int `json:"merged"`
	Superseded    int `json:"superseded"`
	LeftOut       int `json:"left_out"`
	GitMerged     int `json:"git_merged"`
	Cases         int `json:"cases"`
	UnsoundCases  int `json:"unsound_cases"`
	GitUnsound    int `json:"git_unsound_cases"`
	WholeAndSound int `json:"whole_and_sound_cases"`
	GitWhole      int `json:"git_whole_and_sound_cases"`
}

// Share is how many of the pull requests are merged or superseded, in percent; 100
// when there are none.
func (t Total) Share() float64 { return percent(t.Merged+t.Superseded, t.PullRequests) }

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

// Totals are the sums over a run.
type Totals struct {
	All Total `json:"all"`
	// Adapted counts the pull requests that touch only adapted formats.
	Adapted     Total            `json:"adapted"`
	ByEcosystem map[string]Total `json:"by_ecosystem"`
	// Codes counts the pull requests that were left out, of adapted formats, by code.
	Codes map[string]int `json:"codes"`
	// Stale counts the pull requests whose old lines are still in the result.
	Stale int `json:"stale"`
}

// Sum sums rows up.
func Sum(rows []Row) Totals {
	t := Totals{ByEcosystem: map[string]Total{}, Codes: map[string]int{}}
	for _, row := range rows {
		seen := map[string]bool{}
		adapted := false
		for _, fate := range row.Fates {
			t.All.add(fate)
			if fate.Adapted {
				adapted = true
				t.Adapted.add(fate)
				if !fate.Done() {
					t.Codes[strings.TrimSpace(fate.Outcome+" "+fate.Code)]++
				}
			}
			if len(fate.Stale) > 0 {
				t.Stale++
			}
			for _, ecosystem := range fate.Ecosystems {
				total := t.ByEcosystem[ecosystem]
				total.add(fate)
				if !seen[ecosystem] {
					seen[ecosystem] = true
					total.addCase(row)
				}
				t.ByEcosystem[ecosystem] = total
			}
		}
		t.All.addCase(row)
		if adapted {
			t.Adapted.addCase(row)
		}
	}
	return t
}

func (t *Total) add(f Fate) {
	t.PullRequests++
	switch f.Outcome {
	case merged:
		t.Merged++
	case superseded:
		t.Superseded++
	default:
		t.LeftOut++
	}
	if f.GitMerged {
		t.GitMerged++
	}
}

func (t *Total) addCase(r Row) {
	count := func(s Side, unsound, whole *int) {
		if s.Sound != nil && !*s.Sound {
			*unsound++
		} else if s.LeftOut == 0 {
			*whole++
		}
	}
	t.Cases++
	count(r.Bailiff, &t.UnsoundCases, &t.WholeAndSound)
	count(r.Git, &t.GitUnsound, &t.GitWhole)
}

// Write writes the totals.
func (t Totals) Write(w io.Writer) {
	fmt.Fprintf(w, "\n%-16s %5s %5s %7s %6s %6s %7s %8s   %10s %7s %8s\n", "", "cases", "PRs", "merged", "super.", "left", "share", "unsound", "git merged", "share", "unsound")
	line := func(name string, t Total) {
		fmt.Fprintf(w, "%-16s %5d %5d %7d %6d %6d %6.1f%% %8d   %10d %6.1f%% %8d\n", name, t.Cases, t.PullRequests, t.Merged, t.Superseded, t.LeftOut, t.Share(),
			t.UnsoundCases, t.GitMerged, percent(t.GitMerged, t.PullRequests), t.GitUnsound)
	}
	for _, name := range slices.Sorted(maps.Keys(t.ByEcosystem)) {
		line(name, t.ByEcosystem[name])
	}
	line("all", t.All)
	line("adapted formats", t.Adapted)
	fmt.Fprintf(w, "\nwhole, and sound where somebody could tell: %d of %d cases; plain git: %d\n", t.All.WholeAndSound, t.All.Cases, t.All.GitWhole)
	if t.Stale > 0 {
		fmt.Fprintf(w, "claimed, but the old line still stands: %d pull requests\n", t.Stale)
	}
	for _, code := range slices.Sorted(maps.Keys(t.Codes)) {
		fmt.Fprintf(w, "of adapted formats, %s: %d\n", code, t.Codes[code])
	}
}
