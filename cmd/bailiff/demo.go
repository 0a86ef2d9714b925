package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bailiff-bot/bailiff/internal/demo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

type demoCommand struct {
	Dir string `arg:"" optional:"" help:"Folder for the repository, empty or not there yet. Default: a new temporary one."`
}

// Run makes a repository with dependency branches, shows what plain git makes of
// them, and consolidates them.
func (c *demoCommand) Run(p *program) (err error) {
	scratch, err := os.MkdirTemp("", "bailiff-demo-")
	if err != nil {
		return err
	}
	dir := c.Dir
	if dir == "" {
		dir = filepath.Join(scratch, "lighthouse")
	}
	rival := filepath.Join(scratch, "plain-git")
	defer func() {
		// The repository stays, for a look at it; the rest goes.
		err = errors.Join(err, os.RemoveAll(rival))
		if c.Dir != "" {
			err = errors.Join(err, os.RemoveAll(scratch))
		}
	}()
	branches, err := demo.Write(p.ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "A repository with %d dependency branches is in\n  %s\n\n", len(branches), printable(dir))
	merged, err := demo.MergeInTurn(p.ctx, dir, branches, rival)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "git merge, one branch after the other, gets %d of them in; %d conflict.\n", len(merged), len(branches)-len(merged))
	fmt.Fprintf(p.stdout, "bailiff consolidate:\n\n")
	// That something was left out, which its exit code tells a script, is no failure
	// of the demo.
	err = (&consolidateCommand{Dir: dir, Into: consolidate.DefaultInto}).Run(p)
	if code := exit(0); err != nil && !errors.As(err, &code) {
		return err
	}
	fmt.Fprintf(p.stdout, "\nLook at it:\n")
	for _, command := range []string{"log --stat main.." + consolidate.DefaultInto, "diff main " + consolidate.DefaultInto} {
		fmt.Fprintf(p.stdout, "  git -C %s %s\n", printable(dir), command)
	}
	return nil
}
