package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
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
// a third of the worker's slots, so that while Redis ends some, others run.
const maxBatch = 16

// crew is a running Worker.
type crew struct {
	Worker
	batch    int
	slots    chan struct{} // one token a running task
	handlers sync.WaitGroup
	base     context.Context // of the handlers
	mu       sync.Mutex
	held     map[*Lease]*holding
	endings  []chan *ending // by shard, to its writer
}

// holding is what the heartbeat knows of a lease.
type holding struct {
	cancel  context.CancelCauseFunc
	renewed time.Time // when the last successful renewal was sent
}

// Run works until ctx ends and then waits for what runs. Errors of Redis are
// logged and outlived. It returns an error only if the worker cannot start, or
// if the queue is Newer, Gone or Foreign: then it must not go on.
func (w Worker) Run(ctx context.Context) error {
	if w.Queue == nil || w.Handler == nil {
		return &Error{Kind: Invalid, Op: "run", Text: "a worker needs a queue and a handler"}
	}
	orDefault(&w.Concurrency, 10)
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	orDefault(&w.Log, slog.Default())
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	c := &crew{Worker: w, batch: min(maxBatch, (w.Concurrency+2)/3), slots: make(chan struct{}, w.Concurrency), base: base, held: map[*Lease]*holding{}}

	fetching, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	var fetchers, keepers, writers sync.WaitGroup
	keeping, rest := context.WithCancel(base)
	defer rest()
	for shard := range w.Queue.opt.Shards {
		c.endings = append(c.endings, make(chan *ending, w.Concurrency))
		writers.Go(func() { c.write(shard) })
		fetchers.Go(func() {
			if err := c.fetch(fetching, shard); err != nil {
				halt(err)
			}
		})
		keepers.Go(func() { c.sweep(keeping, fetching, shard) })
	}
	keepers.Go(func() { c.beat(keeping) })

	<-fetching.Done()
	fetchers.Wait()
	drain := time.AfterFunc(w.Drain, func() { stop(Shutdown) })
	c.handlers.Wait()
	drain.Stop()
	for _, ends := range c.endings {
		close(ends)
	}
	writers.Wait()
	rest()
	keepers.Wait()
	if err := context.Cause(fetching); ctx.Err() == nil {
		return err
	}
	return nil
}

// fetch leases while there is work and a free slot, and waits for a token when
// there is none. The error it returns is one that nothing here can outlive.
func (c *crew) fetch(ctx context.Context, shard int) error {
	pause := 50 * time.Millisecond
	for ctx.Err() == nil {
		n := c.acquire(ctx)
		if n == 0 {
			return nil
		}
		// through a shutdown too: a lease whose answer is thrown away would
		// only come back by its time
		lctx, stop := context.WithTimeout(context.WithoutCancel(ctx), c.Queue.opt.Lease/2)
		leases, err := c.Queue.Lease(lctx, shard, c.Name, n)
		stop()
		c.release(n - len(leases))
		for _, l := range leases {
			c.start(l)
		}
		switch {
		case isKind(err, Gone) || isKind(err, Foreign) || (isKind(err, Newer) && len(leases) == 0 && whole(err)):
			return err
		case err != nil:
			c.Log.Warn("queue: lease", "err", err)
			if len(leases) == 0 {
				wait(ctx, c.Queue.jitter(pause))
				pause = min(2*pause, time.Second)
			}
		case len(leases) == 0:
			pause = 50 * time.Millisecond
			c.idle(ctx, shard)
		}
	}
	return nil
}

// whole tells whether an error is about the queue rather than one task.
func whole(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Task == ""
}

// acquire takes a free slot, waiting for it, and more up to a batch if free.
func (c *crew) acquire(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case c.slots <- struct{}{}:
	}
	runtime.Gosched() // slots that become free together are taken together
	for n := 1; n < c.batch; n++ {
		select {
		case c.slots <- struct{}{}:
		default:
			return n
		}
	}
	return c.batch
}

func (c *crew) release(n int) {
	for range n {
		<-c.slots
	}
}

// idle blocks on the wake list. An answer only means that looking is worth it.
func (c *crew) idle(ctx context.Context, shard int) {
	err := c.Queue.client.BLPop(ctx, poll, c.Queue.keys[shard]["wake"]).Err()
	if err != nil && !isNil(err) {
		wait(ctx, c.Queue.jitter(poll/2))
	}
}

// start runs a task; its slot is free again when the handler has returned and
// its end is written.
func (c *crew) start(l *Lease) {
	ctx, cancel := context.WithCancelCause(c.base)
	c.mu.Lock()
	c.held[l] = &holding{cancel: cancel, renewed: time.Now()}
	c.mu.Unlock()
	c.handlers.Go(func() {
		out := c.handle(ctx, l)
		cause := context.Cause(ctx)
		if (errors.Is(cause, Shutdown) || errors.Is(cause, Lost)) && (out.move == moveRetry || out.move == moveFail) {
			out = Release() // the task did not fail: its worker left, or could not be heard
		}
		if errors.Is(cause, Lost) {
			c.Log.Warn("queue: lease lost", "task", l.Task.ID, "token", l.Task.Token)
		}
		state, err := c.end(l, out)
		c.mu.Lock()
		delete(c.held, l)
		c.mu.Unlock()
		cancel(nil)
		if err != nil {
			c.Log.Warn("queue: end", "task", l.Task.ID, "err", err)
			return
		}
		c.Log.Debug("queue: end", "task", l.Task.ID, "state", state)
	})
}

// ending is a run that a handler has brought to its end.
type ending struct {
	args  []any
	state State
	err   error
	done  chan struct{}
}

// end writes the end of a run and frees its slot.
func (c *crew) end(l *Lease, o Outcome) (State, error) {
	name, args, err := l.settlement(o)
	if isKind(err, Invalid) {
		return c.end(l, Fail(err))
	}
	if err != nil || name != "finish" {
		defer c.release(1)
		return l.End(c.base, o)
	}
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	e := &ending{args: args, done: make(chan struct{})}
	c.endings[l.shard] <- e
	<-e.done
	return e.state, e.err
}

// write writes the runs that end for good. Those that do while a call is under
// way go together in the next, and free their slots together: nothing waits,
// and a busy worker makes a fraction of the calls.
func (c *crew) write(shard int) {
	for e := range c.endings[shard] {
		es, args := []*ending{e}, [][]any{e.args}
		for more := true; more && len(es) < c.batch; {
			select {
			case e, ok := <-c.endings[shard]:
				if more = ok; ok {
					es, args = append(es, e), append(args, e.args)
				}
			default:
				more = false
			}
		}
		ctx, stop := context.WithTimeout(context.WithoutCancel(c.base), c.Queue.opt.Outage)
		states, errs := c.Queue.finish(ctx, shard, args)
		stop()
		c.release(len(es))
		for i, e := range es {
			e.state, e.err = states[i], errs[i]
			close(e.done)
		}
	}
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

// beat renews what is held after a third of its time, and ends the context of
// what could not be renewed in time: another worker may have it by then.
func (c *crew) beat(ctx context.Context) {
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
		due := map[int][]*Lease{}
		oldest := now
		c.mu.Lock()
		for l, h := range c.held {
			age := now.Sub(h.renewed)
			if age >= lease {
				h.cancel(Lost)
			}
			if age >= lease/3 {
				due[l.shard] = append(due[l.shard], l)
				if age < lease && h.renewed.Before(oldest) {
					oldest = h.renewed
				}
			}
		}
		c.mu.Unlock()
		for _, leases := range due {
			rctx, stop := context.WithDeadline(ctx, oldest.Add(lease))
			states, err := c.Queue.Renew(rctx, leases...)
			stop()
			if err != nil {
				if ctx.Err() == nil {
					c.Log.Warn("queue: heartbeat", "tasks", len(leases), "err", err)
				}
				continue
			}
			c.renewed(leases, states, now)
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
func (c *crew) sweep(ctx, fetching context.Context, shard int) {
	next := time.Duration(0)
	for wait(ctx, next) {
		s, err := c.Queue.Sweep(ctx, shard)
		next = tick
		if err != nil {
			if ctx.Err() == nil && fetching.Err() == nil {
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
