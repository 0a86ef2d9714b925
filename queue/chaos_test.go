package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// Settings of the chaos test: QUEUE_SEED=7 QUEUE_SOAK=10m go test -run TestChaos ./queue
const (
	envURL   = "QUEUE_CHAOS_URL" // this process is a worker on that Redis
	envLease = "QUEUE_CHAOS_LEASE"
	envSeed  = "QUEUE_SEED"
	envSoak  = "QUEUE_SOAK"
)

// chaosOptions must be the same in all processes.
func chaosOptions(lease time.Duration) Options {
	return Options{
		Lease: lease, Attempts: 1000, MostLost: 1000, Cap: 4, Prefix: "chaos",
		Backoff: func(int) time.Duration { return 50 * time.Millisecond },
	}
}

// chaosWorker is the worker process.
func chaosWorker() int {
	lease, err := time.ParseDuration(os.Getenv(envLease))
	if err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		q, err := Open(ctx, os.Getenv(envURL), chaosOptions(lease))
		if err != nil {
			wait(ctx, 50*time.Millisecond)
			continue
		}
		defer q.Close()
		w := Worker{Queue: q, Handler: HandlerFunc(chaosTask), Concurrency: 4, Log: quiet()}
		if err := w.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// chaosTask writes what it does into the journal, step by step, and goes on
// where the last run came to.
func chaosTask(ctx context.Context, l *Lease) Outcome {
	j, err := l.Journal(ctx, 0, 0)
	if err != nil {
		return Snooze(20*time.Millisecond, err.Error())
	}
	did := map[string]int{}
	for _, r := range j {
		did[r.Kind]++
	}
	if did["end"] > 0 {
		return Done("ended before")
	}
	var onces []string
	for _, t := range l.Triggers {
		onces = append(onces, t.Once)
	}
	data, _ := json.Marshal(onces)
	kind := "begin"
	if l.Task.Lost > 0 {
		kind = "takeover" // the last run's worker was lost
	}
	if _, err := l.Append(ctx, Record{Kind: kind, Data: data}); err != nil {
		return Snooze(20*time.Millisecond, err.Error())
	}
	h := fnv.New32a()
	h.Write([]byte(l.Task.ID))
	dice := h.Sum32()
	if l.Task.Kind == "long" {
		wait(ctx, time.Hour)
		return Release()
	}
	for range 3 - min(3, did["step"]) {
		if !wait(ctx, time.Duration(dice%15)*time.Millisecond) {
			return Retry(context.Cause(ctx))
		}
		if _, err := l.Append(ctx, Record{Kind: "step"}); err != nil {
			return Snooze(20*time.Millisecond, err.Error())
		}
	}
	if n := did["begin"] + did["takeover"]; n < 3 {
		switch dice / 16 % 8 {
		case 0:
			return Park(30*time.Millisecond, "chaos", "event")
		case 1:
			return Retry(errors.New("chaos"))
		case 2:
			return Snooze(30*time.Millisecond, "chaos")
		case 3:
			if n == 0 {
				panic("chaos")
			}
		}
	}
	if _, err := l.Append(ctx, Record{Kind: "end"}); err != nil {
		return Snooze(20*time.Millisecond, err.Error())
	}
	return Done("")
}

// process is a worker process that chaos kills and starts again.
type process struct {
	t   *testing.T
	env []string
	cmd *exec.Cmd
}

func (p *process) up() {
	p.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(exe)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func seedFrom(t *testing.T) (*rand.Rand, uint64) {
	seed := uint64(1)
	if s := os.Getenv(envSeed); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	return rand.New(rand.NewPCG(seed, seed)), seed
}

// TestChaos: processes killed and stopped past their leases, Redis restarted
// and stopped, connections cut and answers lost. Every admitted task reaches
// one end, no line runs two, every trigger is in some run (G3).
func TestChaos(t *testing.T) {
	t.Parallel()
	rng, seed := seedFrom(t)
	span := 6 * time.Second
	if s := os.Getenv(envSoak); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		span = d
	}
	t.Logf("seed %d (%s), for %v (%s)", seed, envSeed, span, envSoak)
	const lease = time.Second
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	proxy := redistest.NewProxy(t, s.Addr)
	q := must[*Queue](t)(Open(context.Background(), "redis://"+proxy.Addr, chaosOptions(lease)))
	defer q.Close()
	ctx, stop := context.WithTimeout(context.Background(), span)
	defer stop()

	var workers []*process
	for range 3 {
		p := &process{t: t, env: []string{envURL + "=redis://" + proxy.Addr, envLease + "=" + lease.String()}}
		p.up()
		defer func() { p.kill() }()
		workers = append(workers, p)
	}

	// producers: each delivery is repeated until it is acknowledged
	var producers sync.WaitGroup
	var mu sync.Mutex
	acked := map[string]ID{}
	var failed, joined atomic.Int64
	for n := range 3 {
		own := rand.New(rand.NewPCG(seed, uint64(n)))
		producers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				a := Admission{Tenant: Tenant(fmt.Sprint("t", own.IntN(4))), Once: fmt.Sprintf("%d-%d", n, i)}
				spec := Spec{Group: Group(fmt.Sprint("g", own.IntN(3))), Serial: fmt.Sprint("s", own.IntN(2)), Priority: Priority(own.IntN(3) - 1)}
				if own.IntN(2) == 0 {
					spec.Key, spec.Quiet, spec.Ceiling = string(spec.Group), 40*time.Millisecond, 200*time.Millisecond
				}
				a.Tasks = []Spec{spec}
				for {
					// even after the end: what was begun is finished
					got, err := q.Admit(context.Background(), a)
					if err == nil {
						if got[0].How == Joined {
							joined.Add(1)
						}
						mu.Lock()
						acked[a.Once] = got[0].ID
						mu.Unlock()
						break
					}
					failed.Add(1)
					wait(context.Background(), 20*time.Millisecond)
				}
				wait(ctx, time.Duration(own.IntN(40))*time.Millisecond)
			}
		})
	}

	count := map[string]int{}
	for wait(ctx, time.Duration(50+rng.IntN(300))*time.Millisecond) {
		w := workers[rng.IntN(len(workers))]
		what := []string{"kill", "kill", "stop", "cut", "cut", "swallow", "swallow", "swallow", "restart", "freeze", "wake"}[rng.IntN(11)]
		count[what]++
		switch what {
		case "kill":
			w.kill()
			w.up()
		case "stop": // past its lease, while others go on
			w.cmd.Process.Signal(syscall.SIGSTOP)
			wait(ctx, lease*3/2+time.Duration(rng.IntN(500))*time.Millisecond)
			w.cmd.Process.Signal(syscall.SIGCONT)
		case "cut":
			proxy.Cut()
		case "swallow":
			proxy.Swallow()
		case "restart":
			s.Kill()
			wait(ctx, time.Duration(rng.IntN(1500))*time.Millisecond)
			s.Up()
		case "freeze":
			s.Signal(syscall.SIGSTOP)
			wait(ctx, time.Duration(rng.IntN(1500))*time.Millisecond)
			s.Signal(syscall.SIGCONT)
		case "wake":
			q.Wake(ctx, Tenant(fmt.Sprint("t", rng.IntN(4))), "event")
		}
	}
	producers.Wait()
	redistest.Until(t, 60*time.Second, "every task has ended", func() bool {
		st, err := q.Stats(context.Background())
		return err == nil && st.Count[Scheduled]+st.Count[Ready]+st.Count[Running]+st.Count[Parked] == 0
	})
	runs, records, lost := verify(t, q, acked)
	t.Logf("chaos: %v", count)
	t.Logf("%d deliveries (%d joined, %d calls failed), %d runs, %d of them for a lost worker, %d journal records", len(acked), joined.Load(), failed.Load(), runs, lost, records)
	if len(acked) == 0 || runs == 0 {
		t.Error("nothing happened")
	}
}

// verify checks what must hold of all that was acknowledged.
func verify(t *testing.T, q *Queue, acked map[string]ID) (runs, records, lost int) {
	t.Helper()
	ctx := context.Background()
	type span struct {
		token    int64
		from, to time.Time
	}
	lines := map[string]map[int64]*span{}
	answered := map[string]int{}
	for f := (Filter{Limit: 1000}); ; {
		p := must[Page](t)(q.List(ctx, f))
		for _, task := range p.Tasks {
			if task.State != Ended {
				t.Errorf("%s ended %s: %s", task.ID, task.State, task.Reason)
			}
			j := must[[]Record](t)(q.Journal(ctx, task.ID, 0, 0))
			records += len(j)
			ends, last := 0, int64(0)
			k := fmt.Sprint(task.Tenant, "|", task.Group, "|", task.Serial)
			if lines[k] == nil {
				lines[k] = map[int64]*span{}
			}
			onces := map[string]bool{}
			for _, r := range j {
				if r.Token < last {
					t.Errorf("%s: record %d is of lease %d, after one of %d", task.ID, r.Seq, r.Token, last)
				}
				last = r.Token
				if s := lines[k][r.Token]; s != nil {
					s.to = r.At
				} else {
					lines[k][r.Token] = &span{r.Token, r.At, r.At}
				}
				switch r.Kind {
				case "begin", "takeover":
					runs++
					if r.Kind == "takeover" {
						lost++
					}
					var list []string
					if err := json.Unmarshal(r.Data, &list); err != nil {
						t.Error(err)
					}
					for _, o := range list {
						onces[o] = true
					}
				case "end":
					ends++
				}
			}
			for o := range onces {
				answered[o]++
			}
			if ends != 1 || j[len(j)-1].Kind != "end" {
				t.Errorf("%s has %d ends: %v", task.ID, ends, j)
			}
		}
		if f.After = p.Next; p.Next == "" {
			break
		}
	}
	for once, id := range acked {
		if answered[once] != 1 {
			t.Errorf("delivery %s (task %s) is in %d tasks' runs", once, id, answered[once])
		}
	}
	for k, spans := range lines {
		var all []*span
		for _, s := range spans {
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b *span) int { return int(a.token - b.token) })
		for i := 1; i < len(all); i++ {
			if all[i].from.Before(all[i-1].to) {
				t.Errorf("line %s: lease %d writes at %v, before %d's last record at %v", k, all[i].token, all[i].from, all[i-1].token, all[i-1].to)
			}
		}
	}
	return runs, records, lost
}

// TestKilledWorker: with the default lease, the task of a killed worker runs
// again within 15 seconds (G3).
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := chaosOptions(10 * time.Second)
	q := must[*Queue](t)(Open(context.Background(), s.URL(), o))
	defer q.Close()
	id := admit(t, q, one("i", Spec{Kind: "long"}))[0].ID
	env := []string{envURL + "=" + s.URL(), envLease + "=10s"}
	first := &process{t: t, env: env}
	first.up()
	begun := func(n int) func() bool {
		return func() bool {
			j, err := q.Journal(context.Background(), id, 0, 0)
			return err == nil && len(j) >= n
		}
	}
	redistest.Until(t, 20*time.Second, "the task runs", begun(1))
	second := &process{t: t, env: env}
	second.up()
	defer second.kill()
	first.kill()
	at := time.Now()
	redistest.Until(t, 15*time.Second, "the task runs again", begun(2))
	t.Logf("a killed worker's task runs again after %v", time.Since(at).Round(10*time.Millisecond))
	if got := get(t, q, id); got.Attempt != 0 || got.Lost != 1 {
		t.Errorf("%+v", got)
	}
}
