package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/bailiff-bot/bailiff/queue"
)

// queueCommand looks into the queue and gives it orders.
type queueCommand struct {
	Redis string `env:"REDIS_URL" placeholder:"URL" help:"The queue's Redis, as the workers have it."`
	JSON  bool   `name:"json" help:"Print JSON."`

	Stats  queueStats  `cmd:"" help:"Count tasks by state, and say how long they wait."`
	List   queueList   `cmd:"" help:"List tasks, newest first."`
	Show   queueShow   `cmd:"" help:"Show a task with its journal and ledger."`
	Retry  queueRetry  `cmd:"" help:"Run dead tasks again."`
	Cancel queueCancel `cmd:"" help:"Cancel tasks."`
	Pause  queuePause  `cmd:"" help:"Start no tasks of a tenant, or of anybody, until resumed."`
}

// open joins the queue that the workers made.
func (c *queueCommand) open(p *program) (*queue.Queue, error) {
	if c.Redis == "" {
		return nil, errors.New("set REDIS_URL, or give --redis: without it a queue lives in the memory of its own process, and nothing else can see it")
	}
	logging.Disable() // the client's own lines; what matters comes as an error
	return queue.Open(p.ctx, c.Redis, queue.Options{Attach: true})
}

// use opens the queue for f.
func (c *queueCommand) use(p *program, f func(q *queue.Queue) error) error {
	q, err := c.open(p)
	if err != nil {
		return err
	}
	return errors.Join(f(q), q.Close())
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

type queueStats struct{}

// Run prints counts and ages.
func (*queueStats) Run(p *program, c *queueCommand) error {
	return c.use(p, func(q *queue.Queue) error {
		s, err := q.Stats(p.ctx)
		if err != nil {
			return err
		}
		warnings, err := q.Check(p.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(p.stdout, struct {
				queue.Stats
				Warnings []queue.Warning `json:"warnings"`
			}{s, warnings})
		}
		for _, state := range queue.States() {
			fmt.Fprintf(p.stdout, "%-10s %d\n", state, s.Count[state])
		}
		fmt.Fprintf(p.stdout, "\noldest ready task waits for %v; scheduled tasks are late by %v; %d tenants can start a task\n",
			s.OldestReady.Round(time.Millisecond), s.Late.Round(time.Millisecond), s.Startable)
		if s.Paused {
			fmt.Fprintln(p.stdout, "everything is paused: bailiff queue pause --all --resume")
		}
		for _, t := range s.PausedBy {
			fmt.Fprintf(p.stdout, "paused: %s\n", printable(string(t)))
		}
		for _, w := range warnings {
			fmt.Fprintf(p.stdout, "warning: %s: %s\n", w.Server, w.Text)
		}
		return nil
	})
}

type queueList struct {
	Tenant string        `placeholder:"TENANT" help:"Only this tenant's (an installation)."`
	Group  string        `placeholder:"GROUP" help:"Only this group's (a repository)."`
	Kind   string        `placeholder:"KIND" help:"Only of this kind (a chore)."`
	State  string        `placeholder:"STATE" help:"Only in this state: ${states}."`
	Since  time.Duration `help:"Only admitted within this time, such as 24h."`
	After  string        `placeholder:"ID" help:"Continue after this task: the cursor of the page before."`
	Limit  int           `default:"50" help:"Tasks in a page, at most 1000."`
}

// Run prints a page.
func (l *queueList) Run(p *program, c *queueCommand) error {
	if !slices.Contains(append(queue.States(), ""), queue.State(l.State)) {
		return fmt.Errorf("%q is no state; --state takes %s", l.State, stateNames())
	}
	return c.use(p, func(q *queue.Queue) error {
		f := queue.Filter{
			Tenant: queue.Tenant(l.Tenant), Group: queue.Group(l.Group), Kind: l.Kind, State: queue.State(l.State),
			After: queue.ID(l.After), Limit: l.Limit,
		}
		if l.Since > 0 {
			f.Since = time.Now().Add(-l.Since)
		}
		page, err := q.List(p.ctx, f)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(p.stdout, page)
		}
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TASK\tSTATE\tKIND\tTENANT\tGROUP\tATTEMPT\tADMITTED\tREASON")
		for _, t := range page.Tasks {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", t.ID, state(t), printable(t.Kind), printable(string(t.Tenant)),
				printable(string(t.Group)), t.Attempt, t.Attempts, t.Created.Format(time.DateTime), printable(t.Reason))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, id := range page.Unreadable {
			fmt.Fprintf(p.stdout, "%s cannot be read: it is broken, or of a newer version\n", printable(string(id)))
		}
		if page.Next != "" {
			fmt.Fprintf(p.stdout, "more: --after %s\n", page.Next)
		}
		return nil
	})
}

// stateNames are what --state takes.
func stateNames() string {
	var out []string
	for _, s := range queue.States() {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

// state says how a task that was cancelled ended.
func state(t queue.Task) string {
	if t.Canceled != "" {
		return "cancelled"
	}
	return string(t.State)
}

type queueShow struct {
	ID string `arg:"" name:"task" help:"The task's ID."`
}

// shown is a task with all that belongs to it. What is JSON stays readable.
type shown struct {
	queue.Task
	Inputs  []shownInput  `json:"ledger"`
	Journal []shownRecord `json:"journal"`
}

type shownInput struct {
	queue.Input
	Payload any `json:"payload"`
}

type shownRecord struct {
	queue.Record
	Data any `json:"data"`
}

// readable gives JSON as it is and anything else as text.
func readable(b []byte) any {
	if json.Valid(b) {
		return json.RawMessage(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// Run prints a task.
func (s *queueShow) Run(p *program, c *queueCommand) error {
	return c.use(p, func(q *queue.Queue) error {
		id := queue.ID(s.ID)
		t, err := q.Get(p.ctx, id)
		if err != nil {
			return err
		}
		out := shown{Task: t, Inputs: []shownInput{}, Journal: []shownRecord{}}
		inputs, err := q.Inputs(p.ctx, id)
		if err != nil {
			return err
		}
		for _, in := range inputs {
			out.Inputs = append(out.Inputs, shownInput{in, readable(in.Payload)})
		}
		for after := int64(0); ; {
			records, err := q.Journal(p.ctx, id, after, 0)
			for _, r := range records {
				out.Journal = append(out.Journal, shownRecord{r, readable(r.Data)})
				after = r.Seq
			}
			if err != nil {
				return err
			}
			if len(records) == 0 {
				break
			}
		}
		if c.JSON {
			return printJSON(p.stdout, out)
		}
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		for _, f := range []struct {
			name  string
			value any
		}{
			{"task", t.ID}, {"state", state(t)}, {"kind", t.Kind}, {"tenant", t.Tenant}, {"group", t.Group}, {"serial", t.Serial},
			{"admitted", t.Created}, {"due", t.Due}, {"started", t.Started}, {"ended", t.Ended},
			{"attempts", fmt.Sprintf("%d of %d failed, %d workers lost in a row", t.Attempt, t.Attempts, t.Lost)},
			{"worker", t.Worker}, {"triggers", t.Triggers}, {"waits for", strings.Join(t.Events, ", ")},
			{"reason", t.Reason}, {"result", t.Result}, {"cancelled", t.Canceled},
		} {
			if at, ok := f.value.(time.Time); ok && at.IsZero() || f.value == "" {
				continue
			}
			fmt.Fprintf(w, "%s\t%s\n", f.name, printable(fmt.Sprint(f.value)))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, in := range out.Inputs {
			fmt.Fprintf(p.stdout, "input   %d %s %s %s %s\n", in.Seq, in.At.Format(time.RFC3339), in.Status, printable(in.Key), printable(in.Note))
		}
		for _, r := range out.Journal {
			fmt.Fprintf(p.stdout, "journal %d %s %s %s\n", r.Seq, r.At.Format(time.RFC3339), printable(r.Kind), printable(string(r.Record.Data)))
		}
		return nil
	})
}

// done is one line of an order's answer.
type done struct {
	Task  string `json:"task"`
	State string `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// order does something with each task, goes on after an error, and ends with
// exit code 1 if there was one.
func (c *queueCommand) order(p *program, ids []string, f func(q *queue.Queue, id queue.ID) (string, error)) error {
	return c.use(p, func(q *queue.Queue) error {
		out := make([]done, 0, len(ids))
		for _, id := range ids {
			s, err := f(q, queue.ID(id))
			d := done{Task: id, State: s}
			if err != nil {
				d.Error = err.Error()
			}
			out = append(out, d)
		}
		if c.JSON {
			if err := printJSON(p.stdout, out); err != nil {
				return err
			}
		}
		for _, d := range out {
			switch {
			case c.JSON:
			case d.Error != "":
				fmt.Fprintln(p.stderr, "bailiff:", printable(d.Error))
			default:
				fmt.Fprintf(p.stdout, "%s %s\n", d.Task, d.State)
			}
		}
		if slices.ContainsFunc(out, func(d done) bool { return d.Error != "" }) {
			return exit(1)
		}
		return nil
	})
}

type queueRetry struct {
	IDs []string `arg:"" name:"task" help:"The dead tasks' IDs."`
}

// Run makes dead tasks ready.
func (r *queueRetry) Run(p *program, c *queueCommand) error {
	return c.order(p, r.IDs, func(q *queue.Queue, id queue.ID) (string, error) {
		return string(queue.Ready), q.Retry(p.ctx, id)
	})
}

type queueCancel struct {
	IDs    []string `arg:"" name:"task" help:"The tasks' IDs."`
	Reason string   `default:"cancelled by an operator" help:"Shown with the tasks."`
}

// Run cancels tasks; one that runs is asked to stop.
func (r *queueCancel) Run(p *program, c *queueCommand) error {
	return c.order(p, r.IDs, func(q *queue.Queue, id queue.ID) (string, error) {
		s, err := q.Cancel(p.ctx, id, r.Reason)
		if s == queue.Running {
			return "is asked to stop", err
		}
		return "cancelled", err
	})
}

type queuePause struct {
	Tenant string `arg:"" optional:"" help:"The tenant (an installation)."`
	All    bool   `help:"Everybody."`
	Resume bool   `help:"Go on instead."`
}

// Run pauses or resumes.
func (r *queuePause) Run(p *program, c *queueCommand) error {
	if r.All == (r.Tenant != "") {
		return errors.New("name a tenant, or give --all")
	}
	return c.use(p, func(q *queue.Queue) error {
		var err error
		if r.All {
			err = q.PauseAll(p.ctx, !r.Resume)
		} else {
			err = q.Pause(p.ctx, queue.Tenant(r.Tenant), !r.Resume)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(p.stdout, map[string]any{"tenant": r.Tenant, "all": r.All, "paused": !r.Resume})
		}
		what := "paused; what runs goes on"
		if r.Resume {
			what = "goes on"
		}
		who := printable(r.Tenant)
		if r.All {
			who = "everybody"
		}
		fmt.Fprintf(p.stdout, "%s: %s\n", who, what)
		return nil
	})
}
