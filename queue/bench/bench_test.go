// Package bench measures the queue beside asynq 0.26 in one run on one Redis.
// It is a module of its own so that asynq does not become a dependency.
//
//	go test -v -run . -count 1
package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/bailiff-bot/bailiff/queue"
	"github.com/bailiff-bot/bailiff/queue/redistest"
)

func open(t testing.TB, s *redistest.Server, o queue.Options) *queue.Queue {
	t.Helper()
	q, err := queue.Open(context.Background(), s.URL(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// run starts a worker and gives the function that stops it.
func run(t testing.TB, q *queue.Queue, n int, h queue.HandlerFunc) func() {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	w := queue.Worker{Queue: q, Handler: h, Concurrency: n, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	go func() { over <- w.Run(ctx) }()
	return func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}

func admit(t testing.TB, q *queue.Queue, tenant string, s queue.Spec) {
	if _, err := q.Admit(context.Background(), queue.Admission{Tenant: queue.Tenant(tenant), Tasks: []queue.Spec{s}}); err != nil {
		t.Error(err)
	}
}

type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(...any) {}

// runAsynq starts an asynq server; check of zero is its default.
func runAsynq(t testing.TB, s *redistest.Server, n int, check time.Duration, h asynq.HandlerFunc) (*asynq.Client, func()) {
	opt := asynq.RedisClientOpt{Addr: s.Addr}
	srv := asynq.NewServer(opt, asynq.Config{Concurrency: n, TaskCheckInterval: check, Logger: silent{}})
	if err := srv.Start(h); err != nil {
		t.Fatal(err)
	}
	c := asynq.NewClient(opt)
	return c, func() { c.Close(); srv.Shutdown() }
}

func quantiles(d []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(d)
	return d[len(d)/2], d[len(d)*99/100]
}

// roundTrip is the median of a PING, as often as tasks come: a processor that
// slept between two of them answers later than one that is kept busy.
func roundTrip(s *redistest.Server, gap time.Duration) time.Duration {
	c := s.Client()
	defer c.Close()
	tick := time.NewTicker(gap)
	defer tick.Stop()
	var d []time.Duration
	for range 150 {
		<-tick.C
		t0 := time.Now()
		c.Ping(context.Background())
		d = append(d, time.Since(t0))
	}
	p50, _ := quantiles(d)
	return p50
}

// TestEnqueueToStart: 50 a second, one idle worker pool of 10.
func TestEnqueueToStart(t *testing.T) {
	const n, gap = 250, 20 * time.Millisecond
	s := redistest.Start(t)
	rtt := roundTrip(s, gap)
	t.Logf("round trip (PING, median): %v", rtt)

	measure := func(name string, enqueue func(i int), started <-chan time.Time) time.Duration {
		var d []time.Duration
		tick := time.NewTicker(gap)
		defer tick.Stop()
		sent := make([]time.Time, n)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range n {
				d = append(d, 0)
				at := <-started
				d[len(d)-1] = at.Sub(sent[len(d)-1])
			}
		})
		for i := range n {
			<-tick.C
			sent[i] = time.Now()
			enqueue(i)
		}
		wg.Wait()
		p50, p99 := quantiles(d)
		t.Logf("%-24s p50 %v p99 %v", name, p50, p99)
		return p50
	}

	started := make(chan time.Time, n)
	q := open(t, s, queue.Options{})
	stop := run(t, q, 10, func(context.Context, *queue.Lease) queue.Outcome {
		started <- time.Now()
		return queue.Done("")
	})
	ours := measure("bailiff", func(i int) { admit(t, q, "t", queue.Spec{Kind: "k"}) }, started)
	stop()
	if ours > 5*rtt {
		t.Errorf("enqueue to start takes %v, more than five round trips of %v", ours, rtt)
	}
	for _, c := range []struct {
		name  string
		check time.Duration
	}{{"asynq", 0}, {"asynq, check 20 ms", 20 * time.Millisecond}} {
		client, stop := runAsynq(t, s, 10, c.check, func(context.Context, *asynq.Task) error {
			started <- time.Now()
			return nil
		})
		measure(c.name, func(int) {
			if _, err := client.Enqueue(asynq.NewTask("k", nil)); err != nil {
				t.Error(err)
			}
		}, started)
		stop()
	}
}

// TestThroughput: 10 workers, empty handlers, tasks waiting beforehand.
func TestThroughput(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		name string
		args []string
	}{{"no persistence", nil}, {"appendfsync always", []string{"--appendonly", "yes", "--appendfsync", "always"}}} {
		t.Run(c.name, func(t *testing.T) {
			n := n
			if len(c.args) > 0 {
				n /= 4
			}
			var ours, theirs []float64
			for range 3 {
				ours = append(ours, throughput(t, n, c.args))
				theirs = append(theirs, throughputAsynq(t, n, c.args))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			t.Logf("tasks a second: bailiff %.0f, asynq %.0f (medians of 3)", ours[1], theirs[1])
			if ours[1] < theirs[1] {
				t.Errorf("bailiff is slower than asynq")
			}
		})
	}
}

func throughput(t *testing.T, n int, args []string) float64 {
	s := redistest.Start(t, args...)
	defer s.Kill()
	q := open(t, s, queue.Options{Cap: 10})
	var wg sync.WaitGroup
	t0 := time.Now()
	for p := range 8 {
		wg.Go(func() {
			for i := range n / 8 {
				admit(t, q, fmt.Sprint("t", i%50), queue.Spec{Group: queue.Group(fmt.Sprint(p, i%7)), Kind: "k", Payload: []byte("payload")})
			}
		})
	}
	wg.Wait()
	enqueue := float64(n/8*8) / time.Since(t0).Seconds()
	cpu := cpuTime(t, s)
	var left atomic.Int64
	left.Store(int64(n / 8 * 8))
	over := make(chan struct{})
	t0 = time.Now()
	stop := run(t, q, 10, func(context.Context, *queue.Lease) queue.Outcome {
		if left.Add(-1) == 0 {
			close(over)
		}
		return queue.Done("")
	})
	<-over
	stop()
	rate := float64(n/8*8) / time.Since(t0).Seconds()
	t.Logf("bailiff: enqueue (8 producers) %.0f/s, process %.0f/s, %v of Redis' CPU a task", enqueue, rate, (cpuTime(t, s)-cpu)/time.Duration(n))
	return rate
}

func throughputAsynq(t *testing.T, n int, args []string) float64 {
	s := redistest.Start(t, args...)
	defer s.Kill()
	opt := asynq.RedisClientOpt{Addr: s.Addr}
	client := asynq.NewClient(opt)
	defer client.Close()
	var wg sync.WaitGroup
	t0 := time.Now()
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				if _, err := client.Enqueue(asynq.NewTask("k", []byte("payload"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	enqueue := float64(n/8*8) / time.Since(t0).Seconds()
	cpu := cpuTime(t, s)
	var left atomic.Int64
	left.Store(int64(n / 8 * 8))
	over := make(chan struct{})
	t0 = time.Now()
	_, stop := runAsynq(t, s, 10, 0, func(context.Context, *asynq.Task) error {
		if left.Add(-1) == 0 {
			close(over)
		}
		return nil
	})
	<-over
	rate := float64(n/8*8) / time.Since(t0).Seconds()
	stop()
	t.Logf("asynq: enqueue (8 producers) %.0f/s, process %.0f/s, %v of Redis' CPU a task", enqueue, rate, (cpuTime(t, s)-cpu)/time.Duration(n))
	return rate
}

// TestFairness: 2,000 noisy jobs of 20 ms beside 20 quiet tenants.
func TestFairness(t *testing.T) {
	const job, noisy, quiet = 20 * time.Millisecond, 2000, 20
	s := redistest.Start(t)
	q := open(t, s, queue.Options{Cap: 10})
	for range noisy {
		admit(t, q, "noisy", queue.Spec{Kind: "noisy"})
	}
	sent := map[queue.Tenant]time.Time{}
	waits := make(chan time.Duration, quiet)
	begin := make(chan struct{})
	stop := run(t, q, 10, func(ctx context.Context, l *queue.Lease) queue.Outcome {
		if l.Task.Kind == "quiet" {
			<-begin
			waits <- l.Task.Started.Sub(l.Task.Ready)
		}
		time.Sleep(job)
		return queue.Done("")
	})
	time.Sleep(5 * job)
	for i := range quiet {
		tenant := fmt.Sprint("quiet", i)
		sent[queue.Tenant(tenant)] = time.Now()
		admit(t, q, tenant, queue.Spec{Kind: "quiet"})
	}
	close(begin)
	var d []time.Duration
	for range quiet {
		d = append(d, <-waits)
	}
	stop()
	p50, p99 := quantiles(d)
	t.Logf("quiet tenants wait: p50 %v, p99 %v (job %v)", p50, p99, job)
	if p50 > 2*job {
		t.Errorf("the median wait %v is over two job lengths", p50)
	}
}

// TestLeaseCost: tenants with one task each, and capped ones with more.
func TestLeaseCost(t *testing.T) {
	ctx := context.Background()
	cost := func(tenants, capped int) time.Duration {
		s := redistest.Start(t)
		defer s.Kill()
		q := open(t, s, queue.Options{Cap: 1})
		fill := func(prefix string, n, each int) {
			var wg sync.WaitGroup
			for w := range 8 {
				wg.Go(func() {
					for i := w; i < n; i += 8 {
						for range each {
							admit(t, q, fmt.Sprint(prefix, i), queue.Spec{Kind: "k"})
						}
					}
				})
			}
			wg.Wait()
		}
		fill("capped", capped, 2)
		for n := 0; n < capped; n += 16 { // now each runs one, waits with one
			if _, err := q.Lease(ctx, 0, "w", min(16, capped-n)); err != nil {
				t.Fatal(err)
			}
		}
		fill("tenant", tenants, 1)
		c := s.Client()
		defer c.Close()
		before := evalTime(t, c)
		const rounds = 1000
		for range rounds {
			if _, err := q.Lease(ctx, 0, "w", 1); err != nil {
				t.Fatal(err)
			}
		}
		return (evalTime(t, c) - before) / rounds
	}
	cost(1000, 0)
	for _, c := range []struct{ tenants, capped int }{{1000, 0}, {10_000, 0}, {1000, 1000}, {1000, 10_000}, {10_000, 10_000}} {
		t.Logf("%6d tenants with a task, %6d capped: a lease costs Redis %v", c.tenants, c.capped, cost(c.tenants, c.capped))
	}
}

// evalTime is how long the server has spent in scripts.
func evalTime(t *testing.T, c *redis.Client) time.Duration {
	s, err := c.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var usec int64
	for line := range linesWith(s, "cmdstat_evalsha:") {
		var calls int64
		fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d", &calls, &usec)
	}
	return time.Duration(usec) * time.Microsecond
}
