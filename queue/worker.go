package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Handler does a task's work. Its context ends when the lease is lost, the task
// is cancelled or the worker stops; context.Cause tells which (Lost, Cancelled,
// Shutdown). It must return soon after: until then it keeps its slot, and the
// worker waits for it. A panic counts as a failed attempt.
type Handler interface {
	Handle(ctx context.Context, l *Lease) Outcome
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, l *Lease) Outcome

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, l *Lease) Outcome { return f(ctx, l) }

// Worker leases tasks and hands them to its handler.
type Worker struct {
	Queue   *Queue
	Handler Handler
	// Concurrency is how many tasks run at once. Default 10.
	Concurrency int
	// Name is shown with the tasks it runs. Default host name and process ID.
	Name string
	// Drain is how long running tasks may go on after Run's context ends,
	// before their own contexts do. Zero: not at all. They are released
	// without using an attempt.
	Drain time.Duration
	Log   *slog.Logger // default slog.Default()
}

// poll is how long an idle worker waits for a token before it looks by itself:
// go-redis rounds a shorter block up to 1 s. It also bounds how long a worker
// takes to notice that it should stop.
const poll = time.Second

// tick is how often delayed work is looked for at the latest.
const tick = 500 * time.Millisecond

// maxBatch is how many tasks one call leases or ends at most. It is also at most
// half of the worker's slots, so that while Redis ends some, others run.
const maxBatch = 16

// clerks is how many goroutines a shard's ends are written by: while one reads its
// answer and hands out what it leased, Redis works on the other's call.
const clerks = 2

// crew is a running Worker.
type crew struct {
	Worker
	batch    int
	slots    chan struct{}   // one token a task in hand
	base     context.Context // of the handlers
	fetching context.Context // until no more is leased
	inbox    chan *run
	inHand   sync.WaitGroup // tasks, from their lease until their end is written
	shards   []*desk
	mu       sync.Mutex
	held     map[*Lease]*run
}

// desk is what the worker has for each shard.
type desk struct {
	over    chan *run   // runs that end for good, to the clerks
	waiting atomic.Bool // its fetcher waits for a free slot
}

// run is a task in hand.
type run struct {
	*Lease
	ctx     context.Context
	cancel  context.CancelCauseFunc
	renewed time.Time // when the last successful renewal, or the lease, was asked for
	end     []any     // its settlement
}

// Run works until ctx ends and then waits for what runs. Errors of Redis are
// logged and outlived. It returns an error only if the worker cannot start, or
// if the queue is Newer, Gone or Foreign: then it must not go on.
func (w Worker) Run(ctx context.Context) error {
	if w.Queue == nil || w.Handler == nil || w.Concurrency < 0 {
		return &Error{Kind: Invalid, Op: "run", Text: "a worker needs a queue, a handler and a positive concurrency"}
	}
	orDefault(&w.Concurrency, 10)
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	orDefault(&w.Log, slog.Default())
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	fetching, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	keeping, rest := context.WithCancel(base)
	defer rest()
	c := &crew{
		Worker: w, batch: min(maxBatch, (w.Concurrency+1)/2), slots: make(chan struct{}, w.Concurrency),
		base: base, fetching: fetching, inbox: make(chan *run, w.Concurrency), held: map[*Lease]*run{},
	}
	var fetchers, keepers, hands sync.WaitGroup
	for range w.Queue.opt.Shards {
		c.shards = append(c.shards, &desk{over: make(chan *run, w.Concurrency)})
	}
	for shard := range c.shards {
		for range clerks {
			hands.Go(func() { c.clerk(shard) })
		}
		fetchers.Go(func() {
			if err := c.fetch(shard); err != nil {
				halt(err)
			}
		})
		keepers.Go(func() { c.sweep(keeping, shard) })
		keepers.Go(func() { c.beat(keeping, shard) })
	}
	for range w.Concurrency {
		hands.Go(c.work)
	}

	<-fetching.Done()
	fetchers.Wait()
	drain := time.AfterFunc(w.Drain, func() { stop(Shutdown) })
	c.inHand.Wait()
	drain.Stop()
	close(c.inbox)
	for _, d := range c.shards {
		close(d.over)
	}
	hands.Wait()
	rest()
	keepers.Wait()
	if err := context.Cause(fetching); ctx.Err() == nil {
		return err
	}
	return nil
}

// fetch leases while there is work and a free slot, and waits for a token when
// there is none. The error it returns is one that nothing here can outlive.
func (c *crew) fetch(shard int) error {
	pause := 50 * time.Millisecond
	for {
		n := c.acquire(shard)
		if n == 0 {
			return nil
		}
		// through a shutdown too: a lease whose answer is thrown away would
		// only come back by its time
		_, got, err := c.turn(shard, n, nil)
		c.release(n - got)
		switch {
		case isKind(err, Gone) || isKind(err, Foreign) || (isKind(err, Newer) && got == 0 && whole(err)):
			return err
		case err != nil:
			c.Log.Warn("queue: lease", "err", err)
			if got == 0 {
				wait(c.fetching, c.Queue.jitter(pause))
				pause = min(2*pause, time.Second)
			}
		case got == 0:
			pause = 50 * time.Millisecond
			c.idle(shard)
		}
	}
}

// turn ends runs, leases up to n tasks, for which the caller has slots, and starts
// them. It tells how many.
func (c *crew) turn(shard, n int, ends []any) ([]ended, int, error) {
	limit := c.Queue.opt.Lease / 2
	if len(ends) > 0 {
		limit = c.Queue.patience()
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.base), limit)
	defer stop()
	asked := time.Now()
	over, leases, err := c.Queue.turn(ctx, shard, c.Name, n, ends)
	for _, l := range leases {
		c.start(l, asked)
	}
	return over, len(leases), err
}

// whole tells whether an error is about the queue rather than one task.
func whole(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Task == ""
}

// acquire takes a free slot, waiting for it, and more up to a batch if free; none
// if no more is to be leased.
func (c *crew) acquire(shard int) int {
	c.shards[shard].waiting.Store(true)
	defer c.shards[shard].waiting.Store(false)
	select {
	case <-c.fetching.Done():
		return 0
	case c.slots <- struct{}{}:
	}
	n := 1
	for more := true; more && n < c.batch; {
		select {
		case c.slots <- struct{}{}:
			n++
		default:
			more = false
		}
	}
	if c.fetching.Err() != nil {
		c.release(n)
		return 0
	}
	return n
}

// pass tells whether the slots of runs that end go on to tasks of their shard:
// if more may be leased, and no other shard waits for a slot.
func (c *crew) pass(shard int) bool {
	for i, d := range c.shards {
		if i != shard && d.waiting.Load() {
			return false
		}
	}
	return c.fetching.Err() == nil
}

func (c *crew) release(n int) {
	for range n {
		<-c.slots
	}
}

// idle blocks on the wake list. An answer only means that looking is worth it.
func (c *crew) idle(shard int) {
	err := c.Queue.client.BLPop(c.fetching, poll, c.Queue.keys[shard]["wake"]).Err()
	if err != nil && !isNil(err) {
		wait(c.fetching, c.Queue.jitter(poll/2))
	}
}

// start takes a task in hand. Its lease lives from when it was asked for, at least.
func (c *crew) start(l *Lease, asked time.Time) {
	ctx, cancel := context.WithCancelCause(c.base)
	r := &run{Lease: l, ctx: ctx, cancel: cancel, renewed: asked}
	c.mu.Lock()
	c.held[l] = r
	c.mu.Unlock()
	c.inHand.Add(1)
	c.inbox <- r // has room: a task in hand has a slot
}

// work runs one task after the other.
func (c *crew) work() {
	for r := range c.inbox {
		out := c.handle(r.ctx, r.Lease)
		cause := context.Cause(r.ctx)
		if (errors.Is(cause, Shutdown) || errors.Is(cause, Lost)) && (out.move == moveRetry || out.move == moveFail) {
			out = Release() // the task did not fail: its worker left, or could not be heard
		}
		if errors.Is(cause, Lost) {
			c.Log.Warn("queue: lease lost", "task", r.Task.ID, "token", r.Task.Token)
		}
		c.end(r, out)
	}
}

// end writes the end of a run, or has a clerk do so.
func (c *crew) end(r *run, o Outcome) {
	name, args, err := r.settlement(o)
	if isKind(err, Invalid) || isKind(err, TooLarge) {
		o = Fail(err)
		name, args, err = r.settlement(o)
	}
	if err == nil && name == "finish" {
		r.close()
		r.end = args
		c.shards[r.shard].over <- r // has room, as above
		return
	}
	state, err := r.End(c.base, o)
	c.release(1)
	c.done(r, ended{state, err})
}

// done lets go of a task.
func (c *crew) done(r *run, e ended) {
	c.mu.Lock()
	delete(c.held, r.Lease)
	c.mu.Unlock()
	r.cancel(nil)
	if e.err != nil {
		c.Log.Warn("queue: end", "task", r.Task.ID, "err", e.err)
	} else {
		c.Log.Debug("queue: end", "task", r.Task.ID, "state", e.state)
	}
	c.inHand.Done()
}

// clerk writes the runs that end for good, and leases in the same call what takes
// their slots. Those that end while a call is under way go together in the next:
// nothing waits, and a busy worker makes a fraction of the calls.
func (c *crew) clerk(shard int) {
	inbox := c.shards[shard].over
	for r := range inbox {
		runs, ends := []*run{r}, r.end
		for more := true; more && len(runs) < c.batch; {
			select {
			case r, ok := <-inbox:
				if more = ok; ok {
					runs, ends = append(runs, r), append(ends, r.end...)
				}
			default:
				more = false
			}
		}
		for i, e := range c.write(shard, ends, len(runs)) {
			c.done(runs[i], e)
		}
	}
}

// write ends n runs, and frees their slots or passes them on.
func (c *crew) write(shard int, ends []any, n int) []ended {
	if c.pass(shard) {
		over, got, err := c.turn(shard, n, ends)
		if len(over) == n {
			c.release(n - got)
			if err != nil {
				c.Log.Warn("queue: lease", "err", err)
			}
			return over
		}
		// unheard, perhaps written: finish tells, and goes on through an outage
	}
	defer c.release(n)
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.base), c.Queue.opt.Outage)
	defer stop()
	over, err := c.Queue.finish(ctx, shard, ends)
	for len(over) < n {
		over = append(over, ended{err: err})
	}
	return over
}

// handle calls the handler and turns a panic into a failed attempt.
func (c *crew) handle(ctx context.Context, l *Lease) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			c.Log.Error("queue: handler panicked", "task", l.Task.ID, "panic", p, "stack", string(debug.Stack()))
			out = Retry(fmt.Errorf("panic: %v", p))
		}
	}()
	return c.Handler.Handle(ctx, l)
}

// beat renews what is held of a shard after a third of its time, and ends the
// context of what could not be renewed in time: another worker may have it by then.
func (c *crew) beat(ctx context.Context, shard int) {
	lease := c.Queue.opt.Lease
	t := time.NewTicker(max(10*time.Millisecond, min(lease/10, time.Second)))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		var due []*Lease
		// no longer than until the next lease ends, or another one is due
		patience := lease / 3
		c.mu.Lock()
		for l, r := range c.held {
			age := now.Sub(r.renewed)
			if l.shard != shard || age < lease/3 {
				continue
			}
			due = append(due, l)
			if age >= lease {
				r.cancel(Lost)
			} else {
				patience = min(patience, lease-age)
			}
		}
		c.mu.Unlock()
		if len(due) == 0 {
			continue
		}
		rctx, stop := context.WithTimeout(ctx, patience)
		states, err := c.Queue.Renew(rctx, due...)
		stop()
		if err == nil {
			c.renewed(due, states, now)
		} else if ctx.Err() == nil {
			c.Log.Warn("queue: heartbeat", "tasks", len(due), "err", err)
		}
	}
}

func (c *crew) renewed(leases []*Lease, states []error, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, l := range leases {
		h, ok := c.held[l]
		switch {
		case !ok: // it ended meanwhile
		case isKind(states[i], Lost):
			h.cancel(Lost)
		case isKind(states[i], Cancelled):
			h.renewed = sent
			h.cancel(Cancelled)
		default:
			h.renewed = sent
		}
	}
}

// sweep does what time asks for, as soon as something is due.
func (c *crew) sweep(ctx context.Context, shard int) {
	next := time.Duration(0)
	for wait(ctx, next) {
		s, err := c.Queue.Sweep(ctx, shard)
		next = tick
		if err != nil {
			if ctx.Err() == nil && c.fetching.Err() == nil {
				c.Log.Warn("queue: sweep", "err", err)
			}
			continue
		}
		if s.Next >= 0 {
			next = min(next, max(s.Next, time.Millisecond))
		}
		if s.Expired > 0 || s.Unreadable > 0 {
			c.Log.Warn("queue: sweep", "expired", s.Expired, "unreadable", s.Unreadable)
		}
	}
}
