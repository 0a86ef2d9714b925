// Command cmd measures the consolidation on the corpus (make corpus).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"slices"
	"time"

	"github.com/bailiff-bot/bailiff/internal/corpus"
	"github.com/bailiff-bot/bailiff/internal/corpus/measure"
	"github.com/bailiff-bot/bailiff/internal/corpus/opinion"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	var patterns []string
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.Func("case", "only cases whose ID matches this `pattern` (repeatable)", func(pattern string) error {
		patterns = append(patterns, pattern)
		_, err := path.Match(pattern, "")
		return err
	})
	bailiff := flags.String("bailiff", "bin/bailiff", "the `program`")
	quiet := flags.Bool("no-second-opinion", false, "ask no package manager")
	asJSON := flags.Bool("json", false, "print one JSON object")
	least := flags.Float64("least", 0, "fail when less than this `percentage` of the pull requests of adapted formats is merged or superseded, or a result is unsound")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := corpus.Find()
	if err != nil {
		return err
	}
	cases, err := corpus.Load(dir)
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c corpus.Case) bool {
		return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, c.ID)
			return ok && err == nil
		})
	})
	if len(cases) == 0 {
		return errors.New("no case matches: --case takes an ID, or a pattern such as 'sharkdp*'")
	}
	runner := measure.Runner{Bailiff: []string{*bailiff}, Clock: time.Now}
	if !*quiet {
		if runner.Judge, err = opinion.NewJudge(); err != nil {
			return err
		}
		runner.Judge.Remember = true
	}
	if !*asJSON {
		measure.WriteHead(w)
	}
	var rows []measure.Row
	for _, c := range cases {
		row, err := runner.Run(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if !*asJSON {
			row.Write(w)
		}
		rows = append(rows, row)
	}
	totals := measure.Sum(rows)
	if *asJSON {
		err = json.NewEncoder(w).Encode(struct {
			Cases  []measure.Row  `json:"cases"`
			Totals measure.Totals `json:"totals"`
		}{rows, totals})
		if err != nil {
			return err
		}
	} else {
		totals.Write(w)
	}
	if *least > 0 && totals.Adapted.Share() < *least {
		return fmt.Errorf("%.1f%% of the pull requests of adapted formats are merged or superseded; at least %g%% should be", totals.Adapted.Share(), *least)
	}
	if *least > 0 && totals.All.UnsoundCases > 0 {
		return fmt.Errorf("%d results are unsound", totals.All.UnsoundCases)
	}
	return nil
}
