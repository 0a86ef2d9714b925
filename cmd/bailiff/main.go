// Command bailiff does a repository's chores. Each subcommand has a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bailiff-bot/bailiff/lanes/consolidate"
)

// program is what every subcommand gets of the world.
type program struct {
	ctx            context.Context //nolint:containedctx // kong hands one value to Run
	stdout, stderr io.Writer
	// terminal says that stderr is one, so that a progress line makes sense.
	terminal bool
}

// commands are the subcommands, in the order of the help.
type commands struct {
	Version kong.VersionFlag `help:"Print which build this is."`

	Consolidate consolidateCommand `cmd:"" help:"Turn the dependency branches of a clone into one that works."`
	Demo        demoCommand        `cmd:"" help:"Make a repository with a dozen dependency branches, and consolidate them."`
	Simulate    simulateCommand    `cmd:"" help:"Serve a simulated GitHub on this machine, with a repository and an App."`
	Queue       queueCommand       `cmd:"" help:"Look into the queue, and retry, cancel or pause tasks."`
}

// exit is an error that only sets the exit code: everything has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	info, err := os.Stderr.Stat()
	p := &program{
		ctx: ctx, stdout: os.Stdout, stderr: os.Stderr,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
	}
	code := run(p, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is main without the process around it.
func run(p *program, args []string) int {
	var cli commands
	done := -1 // kong asks to exit after --help
	parser, err := kong.New(&cli,
		kong.Name("bailiff"),
		kong.Description("Bailiff does a repository's chores."),
		kong.Vars{"into": consolidate.DefaultInto, "ecosystems": strings.Join(ecosystems(), ", "), "states": stateNames(), "version": version()},
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { done = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		p.complain(err)
		return 1
	}
	k, err := parser.Parse(args)
	switch {
	case done >= 0:
		return done
	case err != nil:
		p.complain(fmt.Errorf("%w\nTry: %s --help", err, asked(err)))
		return 1
	}
	err = k.Run(p)
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	p.complain(err)
	return 1
}

// version is the module's version, which for a build from a clone holds the commit,
// and Go's.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "bailiff, of an unknown build"
	}
	return "bailiff " + info.Main.Version + " " + info.GoVersion
}

// asked is the command whose arguments could not be read, as far as it is known.
func asked(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		if n := parse.Context.Selected(); n != nil {
			return n.FullPath()
		}
	}
	return "bailiff"
}

// complain says what went wrong. A message may quote anything.
func (p *program) complain(err error) {
	for line := range strings.Lines("bailiff: " + err.Error()) {
		fmt.Fprintln(p.stderr, printable(strings.TrimRight(line, "\r\n")))
	}
}
