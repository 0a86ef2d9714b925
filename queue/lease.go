package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Lease is the right to work on a task. It ends with End, or when it is lost.
// One goroutine may use it while others read its fields.
type Lease struct {
	Task     Task // as it was when leased
	Triggers []Trigger

	q     *Queue
	shard int

	mu     sync.Mutex
	until  int64 // Redis' milliseconds
	op     int64 // appends so far
	fenced bool  // the journal knows this lease
	ended  bool
}

// Lease takes up to n ready tasks of a shard in their turn. worker is for
// people who read the list. A task whose record cannot be read is set aside
// among the dead, as it is, and reported as an error beside the others.
func (q *Queue) Lease(ctx context.Context, shard int, worker string, n int) ([]*Lease, error) {
	_, leases, err := q.turn(ctx, shard, worker, n, nil)
	return leases, err
}

// turn ends runs, of which ends are the settlements, and then leases, in one call.
// If there is no answer to the ends, it is not known whether they were written.
func (q *Queue) turn(ctx context.Context, shard int, worker string, n int, ends []any) ([]ended, []*Lease, error) {
	const op = "lease"
	args := append([]any{clean(worker, maxName), millis(q.opt.Lease), n, millis(q.opt.KeepDead)}, ends...)
	reply, err := q.call(ctx, op, shard, "", "lease", nil, args...)
	if err != nil {
		return nil, nil, err
	}
	over, reply := readEnds(ends, reply)
	var out []*Lease
	var errs []error
	for ; len(reply) >= 4; reply = reply[4:] {
		id := ID(text(reply[0]))
		if number(reply[1]) == 0 {
			errs = append(errs, refusal(op, id, []any{reply[2]}))
			continue
		}
		l, err := q.leased(ctx, shard, reply)
		if err != nil {
			// the lease is given back by time; its task is not lost
			errs = append(errs, err)
			continue
		}
		out = append(out, l)
	}
	return over, out, errors.Join(errs...)
}

// leased reads one task of the script's answer.
func (q *Queue) leased(ctx context.Context, shard int, reply []any) (*Lease, error) {
	h, err := decodeHead("lease", ID(text(reply[0])), text(reply[2]))
	if err != nil {
		return nil, err
	}
	l := &Lease{Task: h.task(), q: q, shard: shard, until: number(reply[1])}
	l.Triggers = []Trigger{{Once: delivery(h.Once), At: h.Created.time(), Payload: []byte(text(reply[3]))}}
	if h.N > 1 {
		more, err := q.triggers(ctx, shard, h)
		if err != nil {
			return nil, err
		}
		l.Triggers = append(l.Triggers, more...)
	}
	return l, nil
}

// triggers reads those that joined; once a task was leased, no more can.
func (q *Queue) triggers(ctx context.Context, shard int, h head) ([]Trigger, error) {
	fields := make([]string, 0, h.N-1)
	for i := 2; i <= h.N; i++ {
		fields = append(fields, fmt.Sprintf("%s|%d", h.ID, i))
	}
	vals, err := q.client.HMGet(ctx, q.keys[shard]["trig"], fields...).Result()
	if err != nil {
		return nil, wrap("triggers", h.ID, err)
	}
	out := make([]Trigger, 0, len(vals))
	for _, v := range vals {
		at, rest, ok := strings.Cut(text(v), "|")
		once, payload, ok2 := strings.Cut(rest, "|")
		if !ok || !ok2 {
			return nil, &Error{Kind: Corrupt, Op: "triggers", Task: h.ID, Text: "a trigger cannot be read"}
		}
		out = append(out, Trigger{Once: delivery(once), At: ms(number(at)).time(), Payload: []byte(payload)})
	}
	return out, nil
}

// delivery gives the name that the caller knows a delivery by.
func delivery(once string) string {
	s, ok := strings.CutPrefix(once, "once/")
	if !ok {
		return ""
	}
	return unescape(s)
}

// Renew is the heartbeat: it renews the leases, which are of one shard, and
// tells for each whether it is still held (nil), Lost or Cancelled. A cancelled
// one is renewed too: its holder has to end it.
func (q *Queue) Renew(ctx context.Context, leases ...*Lease) ([]error, error) {
	const op = "renew"
	if len(leases) == 0 {
		return nil, nil
	}
	args := []any{millis(q.opt.Lease)}
	for _, l := range leases {
		args = append(args, string(l.Task.ID), l.Task.Token)
	}
	reply, err := q.call(ctx, op, leases[0].shard, "", "renew", nil, args...)
	if err != nil {
		return nil, err
	}
	out := make([]error, len(leases))
	for i, l := range leases {
		until, reason := number(reply[3*i]), text(reply[3*i+1])
		switch {
		case until == 0:
			out[i] = &Error{Kind: Lost, Op: op, Task: l.Task.ID, Text: answers["lost"].text}
		case reason != "":
			out[i] = &Error{Kind: Cancelled, Op: op, Task: l.Task.ID, Text: reason}
		}
		if until > 0 {
			l.mu.Lock()
			l.until = max(l.until, until)
			l.mu.Unlock()
		}
	}
	return out, nil
}

// Outcome is how a run ended. Done, Retry, Fail, Snooze, Park and Release make
// one; the zero value is Done("").
type Outcome struct {
	move   move
	text   string // reason, or result
	delay  time.Duration
	events []string
}

type move int

const (
	moveDone move = iota
	moveFail
	moveRetry
	moveSnooze
	moveRelease
	movePark
)

// Done ends the task. result is shown with it, cut at Options.MaxResult.
func Done(result string) Outcome { return Outcome{move: moveDone, text: result} }

// Retry uses an attempt; the next comes after a backoff, if one is left.
func Retry(why error) Outcome { return Outcome{move: moveRetry, text: why.Error()} }

// Fail makes the task dead at once: another attempt would not help.
func Fail(why error) Outcome { return Outcome{move: moveFail, text: why.Error()} }

// Snooze tries again after d and uses no attempt.
func Snooze(d time.Duration, why string) Outcome {
	return Outcome{move: moveSnooze, text: why, delay: d}
}

// Release gives the task back at once and uses no attempt.
func Release() Outcome { return Outcome{move: moveRelease} }

// Park waits without a worker for an event, an input, or d; zero means no
// deadline. An event that came during the run, after Lease.Expect, counts.
func Park(d time.Duration, why string, events ...string) Outcome {
	return Outcome{move: movePark, text: why, delay: d, events: events}
}

// End ends the run and gives the task's new state. It goes on through
// cancellation of ctx and through an outage of Redis, for Options.Outage. A
// task that was cancelled ends whatever o says. Errors: Lost (somebody else
// has the task: nothing was written), Invalid, Unavailable.
func (l *Lease) End(ctx context.Context, o Outcome) (State, error) {
	script, args, err := l.settlement(o)
	if err != nil {
		return "", err
	}
	if !l.close() {
		return "", &Error{Kind: Lost, Op: "end", Task: l.Task.ID, Text: answers["settled"].text}
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), l.q.opt.Outage)
	defer stop()
	if script == "finish" {
		over, err := l.q.finish(ctx, l.shard, args)
		if err != nil {
			return "", err
		}
		return over[0].state, over[0].err
	}
	reply, err := l.q.persist(ctx, l.shard, l.Task.ID, script, args)
	if err == nil {
		return State(text(reply[0])), nil
	}
	if len(reply) > 2 && text(reply[0]) == "settled" {
		return State(text(reply[2])), nil // by this lease: the answer had been lost
	}
	return "", err
}

// close notes that the lease is over, and tells whether it was not before.
func (l *Lease) close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.ended
	l.ended = true
	return !was
}

// persist calls a script until it answers or ctx ends: through an outage. It gives
// up on an answer, and asks again, within the half of a lease that sweep grants
// after one: the client underneath may wait for longer than that.
func (q *Queue) persist(ctx context.Context, shard int, id ID, script string, args []any) ([]any, error) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second, q.opt.Lease/10) {
		once, stop := context.WithTimeout(ctx, q.patience())
		reply, err := q.call(once, "end", shard, id, script, nil, args...)
		stop()
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary() || !wait(ctx, q.jitter(pause)) {
			return reply, err
		}
	}
}

// patience is how long one call that ends a run may take.
func (q *Queue) patience() time.Duration { return max(q.opt.Lease/5, 50*time.Millisecond) }

// ended is what became of a run.
type ended struct {
	state State
	err   error
}

// finish ends several runs of a shard in one call; ends are their settlements.
func (q *Queue) finish(ctx context.Context, shard int, ends []any) ([]ended, error) {
	reply, err := q.persist(ctx, shard, "", "finish", ends)
	if err != nil {
		return nil, err
	}
	over, _ := readEnds(ends, reply)
	return over, nil
}

// endArgs is how many arguments the settlement of a run that ends for good has.
const endArgs = 6

// readEnds reads what a script answers to settlements, and gives the rest.
func readEnds(ends, reply []any) ([]ended, []any) {
	out := make([]ended, 0, len(ends)/endArgs)
	for ; len(ends) >= endArgs && len(reply) >= 2; ends, reply = ends[endArgs:], reply[2:] {
		e := ended{state: State(text(reply[0]))}
		if e.state == "" {
			e.err = refusal("end", ID(text(ends[0])), []any{reply[1]})
		}
		out = append(out, e)
	}
	return out, reply
}

// settlement chooses the script for an outcome.
func (l *Lease) settlement(o Outcome) (string, []any, error) {
	opt := l.q.opt
	args := []any{string(l.Task.ID), l.Task.Token}
	why := clean(o.text, 1024)
	keep, dead := millis(opt.KeepDone), millis(opt.KeepDead)
	switch o.move {
	case moveDone:
		return "finish", append(args, string(Ended), "", clean(o.text, opt.MaxResult), keep), nil
	case moveFail:
		return "finish", append(args, string(Dead), why, "", dead), nil
	case moveRetry:
		d := l.q.jitter(opt.Backoff(l.Task.Attempt + 1))
		return "delay", append(args, "retry", millis(d), why, keep, dead), nil
	case moveSnooze:
		return "delay", append(args, "snooze", millis(o.delay), why, keep, dead), nil
	case moveRelease:
		return "delay", append(args, "release", 0, "", keep, dead), nil
	case movePark:
		args = append(args, millis(o.delay), why, keep)
		events, err := eventNames("end", l.Task.Tenant, o.events)
		return "park", append(args, events...), err
	}
	return "", nil, &Error{Kind: Invalid, Op: "end", Task: l.Task.ID, Text: "unknown outcome"}
}

// eventNames makes events the tenant's own: another's tasks must not hear them.
func eventNames(op string, t Tenant, events []string) ([]any, error) {
	out := make([]any, len(events))
	for i, e := range events {
		s, err := name(op, "the event", e, true)
		if err != nil {
			return nil, err
		}
		out[i] = escape(string(t)) + "!" + s
	}
	return out, nil
}

// Expect names events that this run will park for, before it does what brings
// them about: one that comes before Park is then not missed.
func (l *Lease) Expect(ctx context.Context, events ...string) error {
	names, err := eventNames("expect", l.Task.Tenant, events)
	if err != nil {
		return err
	}
	_, err = l.q.call(ctx, "expect", l.shard, l.Task.ID, "expect", nil,
		append([]any{string(l.Task.ID), l.Task.Token}, names...)...)
	return err
}

// wait waits for d and tells whether ctx still lives.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
