package main

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/bailiff-bot/bailiff/internal/demo"
	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

type simulateCommand struct {
	Dir     string `arg:"" optional:"" help:"Folder for the repositories and the App's key, empty or not there yet. Default: a temporary one, removed at the end."`
	Addr    string `default:"127.0.0.1:8100" help:"Loopback address to serve on; port 0 takes a free one."`
	Webhook string `help:"Where the App's webhooks go. Default: nowhere."`
	Secret  string `env:"BAILIFF_SIMULATE_SECRET" help:"Secret of the webhooks. Default: a random one, printed."`
}

// Names of the stage that is set.
const (
	simulatedOrg    = "harbour"
	simulatedRepo   = simulatedOrg + "/lighthouse"
	simulatedPerson = "keeper"
	simulatedBot    = "dependabot[bot]"
)

// simulated is a stage with a repository, its open pull requests and an App.
type simulated struct {
	*fakegithub.Server
	app          fakegithub.App
	installation int64
	secret       string
	key          string // path
	pulls        int
}

// Run serves a simulated GitHub until it is interrupted.
func (c *simulateCommand) Run(p *program) (err error) {
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "bailiff-simulate-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return fmt.Errorf("%s is not empty: name a folder that is, or that does not exist", printable(dir))
	}
	s, err := c.stage(p.ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	t := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"pages", s.URL()},
		{"repository", s.URL() + "/" + simulatedRepo + fmt.Sprintf(" (%d pull requests)", s.pulls)},
		{"git", s.URL() + "/" + simulatedRepo + ".git"},
		{"REST", s.APIURL()},
		{"GraphQL", s.GraphQLURL()},
		{"App", fmt.Sprintf("%d (%s)", s.app.ID, s.app.Slug)},
		{"its key", s.key},
		{"installation", fmt.Sprint(s.installation)},
		{"webhooks to", c.Webhook},
		{"their secret", s.secret},
	} {
		if line[1] == "" {
			line[1] = "nowhere: give --webhook"
		}
		fmt.Fprintf(t, "%s\t%s\n", line[0], printable(line[1]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, "\nA simulated GitHub, until Ctrl-C.")
	<-p.ctx.Done()
	return nil
}

// stage starts the server and sets it: the demo's repository, one pull request for each
// of its branches, and an App that is installed.
func (c *simulateCommand) stage(ctx context.Context, dir string) (_ *simulated, err error) {
	random := make([]byte, 28)
	if _, err := crand.Read(random); err != nil {
		return nil, err
	}
	server, err := fakegithub.New(fakegithub.Options{
		Dir: filepath.Join(dir, "repositories"), Addr: c.Addr, Seed: binary.LittleEndian.Uint64(random),
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Close())
		}
	}()
	s := &simulated{Server: server, secret: c.Secret, key: filepath.Join(dir, "app.pem")}
	if s.secret == "" {
		s.secret = hex.EncodeToString(random[8:])
	}
	source := filepath.Join(dir, "lighthouse")
	branches, err := demo.Write(ctx, source)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(server.Organization(simulatedOrg, simulatedPerson), server.User(simulatedBot), server.User("octocat")); err != nil {
		return nil, err
	}
	err = server.Repository(fakegithub.RepositorySpec{
		Name: simulatedRepo, From: source, Roles: map[string]string{simulatedPerson: "admin", "octocat": "read"},
	})
	if err != nil {
		return nil, err
	}
	s.app, err = server.App(fakegithub.AppSpec{
		Name: "Bailiff", Owner: simulatedOrg, HookURL: c.Webhook, Secret: s.secret, Events: simulatedEvents, Permissions: simulatedPermissions(),
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.key, s.app.Key, 0o600); err != nil {
		return nil, err
	}
	if s.installation, err = server.Install(s.app.ID, simulatedOrg); err != nil {
		return nil, err
	}
	for _, b := range branches {
		_, err := server.OpenPullRequest(simulatedRepo, fakegithub.PullSpec{
			As: simulatedBot, Head: b.Name, Title: b.Title, Body: b.Title + ".", Labels: []string{"dependencies"},
		})
		if err != nil {
			return nil, err
		}
		s.pulls++
	}
	return s, nil
}

var simulatedEvents = []string{
	"check_run", "check_suite", "issue_comment", "issues", "pull_request", "pull_request_review", "push", "repository", "status",
}

func simulatedPermissions() map[string]string {
	return map[string]string{
		"checks": "write", "contents": "write", "issues": "write", "metadata": "read", "pull_requests": "write", "statuses": "read", "workflows": "write",
		"administration": "read",
	}
}
