package queue

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// slotGuard fails the test when a script's keys lie in more than one slot.
type slotGuard struct{ t testing.TB }

func (g slotGuard) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g slotGuard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		g.check(c)
		return next(ctx, c)
	}
}

func (g slotGuard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cs []redis.Cmder) error {
		for _, c := range cs {
			g.check(c)
		}
		return next(ctx, cs)
	}
}

func (g slotGuard) check(c redis.Cmder) {
	if n := c.Name(); n != "evalsha" && n != "eval" {
		return
	}
	args := c.Args()
	count := args[2].(int)
	if count == 0 {
		g.t.Errorf("a script without keys: %v", args[:3])
	}
	tag := ""
	for _, k := range args[3 : 3+count] {
		_, rest, _ := strings.Cut(k.(string), "{")
		this, _, ok := strings.Cut(rest, "}")
		if !ok || this == "" || tag != "" && this != tag {
			g.t.Errorf("keys of one script in two slots: %v", args[3:3+count])
		}
		tag = this
	}
}

// opened gives a queue whose scripts check their keys and whose calls are
// guarded, on the Redis of a URL; "" is the embedded one.
func opened(t testing.TB, url string, o Options) *Queue {
	t.Helper()
	o.audit = true
	var q *Queue
	var err error
	if url == "" {
		q, err = Embedded(t.Context(), o, nil)
	} else {
		q, err = Open(t.Context(), url, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	q.client.AddHook(slotGuard{t})
	t.Cleanup(func() { q.Close() })
	return q
}

// each runs a test on the embedded Redis and on a real one.
func each(t *testing.T, o Options, f func(t *testing.T, q *Queue)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { f(t, opened(t, "", o)) })
	t.Run("redis", func(t *testing.T) { f(t, opened(t, redistest.Start(t).URL(), o)) })
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func admit(t testing.TB, q *Queue, a Admission) []Admitted {
	t.Helper()
	return must[[]Admitted](t)(q.Admit(context.Background(), a))
}

func lease(t testing.TB, q *Queue, n int) []*Lease {
	t.Helper()
	return must[[]*Lease](t)(q.Lease(context.Background(), 0, "w", n))
}

func end(t testing.TB, l *Lease, o Outcome) State {
	t.Helper()
	return must[State](t)(l.End(context.Background(), o))
}

func get(t testing.TB, q *Queue, id ID) Task {
	t.Helper()
	return must[Task](t)(q.Get(context.Background(), id))
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

func one(tenant Tenant, s Spec) Admission { return Admission{Tenant: tenant, Tasks: []Spec{s}} }

// TestLifeOfATask is admission, lease and end by a real worker.
func TestLifeOfATask(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		ran := make(chan string, 10)
		w := Worker{Queue: q, Log: quiet(), Concurrency: 2, Handler: HandlerFunc(func(ctx context.Context, l *Lease) Outcome {
			if _, err := l.Append(ctx, Record{Kind: "start", Data: []byte(`{"a":1}`)}); err != nil {
				return Retry(err)
			}
			ran <- string(l.Triggers[0].Payload)
			return Done("fine")
		})}
		over := make(chan error, 1)
		go func() { over <- w.Run(ctx) }()
		var ids []ID
		for i := range 5 {
			a := admit(t, q, Admission{Tenant: "i1", Once: fmt.Sprint("guid-", i), Tasks: []Spec{{
				Group: "r1", Serial: "main\xff \x00|%", Kind: "consolidate", Payload: []byte{0, byte(i), '|', 0xff},
			}}})
			ids = append(ids, a[0].ID)
			if a[0].How != Created {
				t.Errorf("admitted %v", a)
			}
		}
		var got []string
		for range 5 {
			got = append(got, <-ran)
		}
		slices.Sort(got) // one line, but the channel is read by another goroutine
		for i := range got {
			if want := string([]byte{0, byte(i), '|', 0xff}); got[i] != want {
				t.Errorf("run %d: payload %q, want %q", i, got[i], want)
			}
		}
		stop()
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			got := get(t, q, id)
			if got.State != Ended || got.Result != "fine" || got.Serial != "main\xff \x00|%" || got.Attempt != 0 {
				t.Errorf("%+v", got)
			}
			j := must[[]Record](t)(q.Journal(context.Background(), id, 0, 0))
			if len(j) != 1 || j[0].Kind != "start" || string(j[0].Data) != `{"a":1}` || j[0].Seq != 1 || j[0].Token != got.Token {
				t.Errorf("journal %+v", j)
			}
		}
		s := must[Stats](t)(q.Stats(context.Background()))
		if s.Count[Ended] != 5 || s.Count[Ready] != 0 || s.Count[Running] != 0 || s.Startable != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func z(score float64, id ID) redis.Z { return redis.Z{Score: score, Member: string(id)} }

// silent keeps go-redis' own log out of the tests' output.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	if os.Getenv(envURL) != "" {
		os.Exit(chaosWorker())
	}
	os.Exit(m.Run())
}
