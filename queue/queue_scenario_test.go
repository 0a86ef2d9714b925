package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// expire lets a task's lease run out, as time would.
func expire(t testing.TB, q *Queue, id ID) {
	t.Helper()
	if err := q.client.ZAdd(context.Background(), q.keys[0]["lease"], z(1, id)).Err(); err != nil {
		t.Fatal(err)
	}
}

// due lets a scheduled or parked task's time come.
func due(t testing.TB, q *Queue, set string, id ID) {
	t.Helper()
	if err := q.client.ZAdd(context.Background(), q.keys[0][set], z(1, id)).Err(); err != nil {
		t.Fatal(err)
	}
}

func sweep(t testing.TB, q *Queue) Swept {
	t.Helper()
	return must[Swept](t)(q.Sweep(context.Background(), 0))
}

func wantKind(t testing.TB, err error, k Kind) {
	t.Helper()
	if !errors.Is(err, k) {
		t.Errorf("error %v, want kind %q", err, k)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("error %v is not an *Error", err)
	}
}

// TestCoalescing: thirty dependabot events give one run that knows them all (G3).
func TestCoalescing(t *testing.T) {
	each(t, Options{MaxTriggers: 31}, func(t *testing.T, q *Queue) {
		spec := Spec{Group: "r", Serial: "main", Kind: "consolidate", Key: "consolidate/r", Quiet: time.Hour, Ceiling: 3 * time.Hour}
		var id ID
		for i := range 30 {
			spec.Payload = fmt.Appendf(nil, "pr|%d", i)
			a := admit(t, q, Admission{Tenant: "i", Once: fmt.Sprint("g|", i), Tasks: []Spec{spec}})
			if i == 0 {
				id = a[0].ID
			} else if a[0].ID != id || a[0].How != Joined {
				t.Fatalf("event %d: %+v", i, a)
			}
		}
		if got := get(t, q, id); got.State != Scheduled || got.Triggers != 30 || got.Due.Sub(got.Created) > 3*time.Hour || got.Due.Sub(got.Created) < time.Hour {
			t.Errorf("%+v", got)
		}
		// another tenant's key is another key
		if a := admit(t, q, one("j", spec)); a[0].How != Created {
			t.Errorf("joined across tenants: %+v", a)
		}
		// a person does not wait
		spec.Quiet, spec.Priority = 0, Urgent
		if a := admit(t, q, one("i", spec)); a[0].ID != id || a[0].How != Joined {
			t.Errorf("%+v", a)
		}
		// the task holds as many as it may: the next begins another
		full := admit(t, q, one("i", spec))
		if full[0].How != Created {
			t.Errorf("%+v", full)
		}
		l := lease(t, q, 1)[0]
		if l.Task.ID != id || len(l.Triggers) != 31 || string(l.Triggers[7].Payload) != "pr|7" || l.Triggers[7].Once != "g|7" {
			t.Errorf("lease %+v, %d triggers", l.Task, len(l.Triggers))
		}
		end(t, l, Done(""))
		l = lease(t, q, 1)[0]
		// a task that runs is not joined
		if a := admit(t, q, one("i", spec)); a[0].How != Created || a[0].ID == l.Task.ID {
			t.Errorf("%+v", a)
		}
	})
}

// TestDedupe: a delivery is admitted once (G2), a slot once, also when the
// answer was lost and the call repeated.
func TestDedupe(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		a := Admission{Tenant: "i", Once: "guid", Tasks: []Spec{{Group: "r", Kind: "a"}, {Group: "r", Kind: "b"}}}
		first := admit(t, q, a)
		again := admit(t, q, a)
		if len(first) != 2 || first[0].ID == first[1].ID || len(again) != 2 || again[0].ID != first[0].ID || again[1].How != Duplicate {
			t.Errorf("first %+v, again %+v", first, again)
		}
		admit(t, q, Admission{Tenant: "i", Once: "ping"})
		if got := must[[]bool](t)(q.Seen(ctx, "i", "guid", "other", "ping")); !slices.Equal(got, []bool{true, false, true}) {
			t.Errorf("seen %v", got)
		}
		at := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
		slot := func(d time.Duration) []Admitted {
			return admit(t, q, Admission{Tenant: "i", Slot: Slot{"nightly", at.Add(d)}, Tasks: []Spec{{Kind: "flaky"}}})
		}
		for i, n := range []int{1, 0, 0} {
			d := []time.Duration{0, 0, -time.Hour}[i]
			got := slot(d)
			if created := slices.ContainsFunc(got, func(a Admitted) bool { return a.How == Created }); created != (n == 1) {
				t.Errorf("slot %d: %+v", i, got)
			}
		}
		if got := slot(24 * time.Hour); len(got) != 1 || got[0].How != Created {
			t.Errorf("the next slot: %+v", got)
		}
		if last := must[time.Time](t)(q.LastSlot(ctx, "i", "nightly")); !last.Equal(at.Add(24 * time.Hour)) {
			t.Errorf("last slot %v", last)
		}
		if n := must[Stats](t)(q.Stats(ctx)).Count[Ready]; n != 4 {
			t.Errorf("%d tasks, want 4", n)
		}
	})
}

// TestSerialAndCap: one task of a line runs, a tenant runs its cap, and nobody
// else waits for them.
func TestSerialAndCap(t *testing.T) {
	each(t, Options{Cap: 2}, func(t *testing.T, q *Queue) {
		for range 3 {
			admit(t, q, one("i", Spec{Group: "r1", Serial: "main"}))
		}
		admit(t, q, one("i", Spec{Group: "r2", Serial: "main"}))
		admit(t, q, one("i", Spec{Group: "r3", Serial: "main"}))
		admit(t, q, one("j", Spec{Group: "r", Serial: "main"}))
		got := lease(t, q, 10)
		var what []string
		for _, l := range got {
			what = append(what, string(l.Task.Tenant)+"/"+string(l.Task.Group))
		}
		if want := []string{"i/r1", "j/r", "i/r2"}; !slices.Equal(what, want) {
			t.Fatalf("leased %v, want %v", what, want)
		}
		end(t, got[0], Done(""))
		// groups take turns: r3 has not been served, r1 has
		next := lease(t, q, 10)
		if len(next) != 1 || next[0].Task.Group != "r3" {
			t.Fatalf("leased %+v", next)
		}
		if err := q.SetCap(context.Background(), "i", 3); err != nil {
			t.Fatal(err)
		}
		if next = lease(t, q, 10); len(next) != 1 || next[0].Task.Group != "r1" {
			t.Fatalf("leased %+v", next)
		}
	})
}

// TestUrgent: a person's command starts before schedules, of its own tenant
// and of others, and cannot starve them.
func TestUrgent(t *testing.T) {
	each(t, Options{Cap: 100}, func(t *testing.T, q *Queue) {
		for i := range 10 {
			admit(t, q, one("sched", Spec{Group: Group(fmt.Sprint(i)), Priority: Low}))
		}
		for range 10 {
			admit(t, q, one("people", Spec{Group: "r", Priority: Low}))
		}
		for range 10 {
			admit(t, q, one("people", Spec{Group: "r", Priority: Urgent}))
		}
		var urgent []bool
		for _, l := range lease(t, q, 16) {
			urgent = append(urgent, l.Task.Priority == Urgent)
		}
		if n := len(slices.DeleteFunc(slices.Clone(urgent[:2]), func(b bool) bool { return !b })); n < 1 {
			t.Errorf("the first urgent task waits: %v", urgent)
		}
		n := 0
		for _, u := range urgent {
			if u {
				n++
			}
		}
		if n < 8 || n == 16 {
			t.Errorf("%d of 16 are urgent: %v", n, urgent)
		}
	})
}

// TestEnds: what each outcome makes of a task.
func TestEnds(t *testing.T) {
	type step struct {
		o     Outcome
		state State
		tries int
	}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		steps []step
	}{
		"done":                    {[]step{{Done("ok"), Ended, 0}}},
		"retry until dead":        {[]step{{Retry(boom), Scheduled, 1}, {Retry(boom), Scheduled, 2}, {Retry(boom), Dead, 3}}},
		"fail":                    {[]step{{Fail(boom), Dead, 0}}},
		"snooze uses no attempt":  {[]step{{Snooze(time.Hour, "rate limit"), Scheduled, 0}, {Snooze(time.Hour, "rate limit"), Scheduled, 0}, {Done(""), Ended, 0}}},
		"release uses no attempt": {[]step{{Release(), Ready, 0}, {Release(), Ready, 0}}},
		"park":                    {[]step{{Park(time.Hour, "ci", "checks/1"), Parked, 0}, {Done(""), Ended, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, Options{Attempts: 3}, func(t *testing.T, q *Queue) {
				id := admit(t, q, one("i", Spec{Group: "r", Serial: "main", Payload: []byte("p")}))[0].ID
				for i, s := range c.steps {
					ls := lease(t, q, 1)
					if len(ls) != 1 || string(ls[0].Triggers[0].Payload) != "p" {
						t.Fatalf("step %d: leased %+v", i, ls)
					}
					if got := end(t, ls[0], s.o); got != s.state {
						t.Fatalf("step %d: %s, want %s", i, got, s.state)
					}
					if got := get(t, q, id); got.State != s.state || got.Attempt != s.tries {
						t.Fatalf("step %d: %+v", i, got)
					}
					if set := map[State]string{Scheduled: "sched", Parked: "park"}[s.state]; set != "" {
						due(t, q, set, id)
					}
					sweep(t, q)
				}
				if get(t, q, id).State == Dead {
					if err := q.Retry(context.Background(), id); err != nil {
						t.Fatal(err)
					}
					l := lease(t, q, 1)[0]
					if l.Task.Attempt != 0 || string(l.Triggers[0].Payload) != "p" {
						t.Errorf("retried %+v", l.Task)
					}
				}
			})
		})
	}
}

// TestFence: a worker that lost its lease can write nothing more, whether or
// not its successor has begun, and its loss uses no attempt.
func TestFence(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		id := admit(t, q, one("i", Spec{Group: "r", Serial: "main"}))[0].ID
		old := lease(t, q, 1)[0]
		must[int64](t)(old.Append(ctx, Record{Kind: "start"}))
		if _, err := q.Input(ctx, id, "k", nil); err != nil {
			t.Fatal(err)
		}
		expire(t, q, id)
		if s := sweep(t, q); s.Expired != 0 {
			// the first sweep of a queue that nobody swept for long would wait
			t.Logf("%+v", s)
		}
		l := lease(t, q, 1)[0]
		if l.Task.Token <= old.Task.Token || l.Task.Attempt != 0 || l.Task.Lost != 1 {
			t.Errorf("%+v", l.Task)
		}
		if j := must[[]Record](t)(l.Journal(ctx, 0, 0)); len(j) != 1 {
			t.Errorf("journal %+v", j)
		}
		_, err := old.Append(ctx, Record{Kind: "late"})
		wantKind(t, err, Lost)
		wantKind(t, old.Settle(ctx, "k", Applied, ""), Lost)
		wantKind(t, old.Expect(ctx, "e"), Lost)
		_, err = old.End(ctx, Done(""))
		wantKind(t, err, Lost)
		states := must[[]error](t)(q.Renew(ctx, old, l))
		wantKind(t, states[0], Lost)
		if states[1] != nil {
			t.Error(states[1])
		}
		must[int64](t)(l.Append(ctx, Record{Kind: "a"}, Record{Kind: "b"}))
		if err := l.Settle(ctx, "k", Applied, "seen|%"); err != nil {
			t.Error(err)
		}
		end(t, l, Done(""))
		_, err = l.Append(ctx, Record{Kind: "after the end"})
		wantKind(t, err, Lost)
		var kinds []string
		for r, err := range q.Follow(ctx, id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, fmt.Sprint(r.Seq, r.Kind))
		}
		if want := []string{"1start", "2a", "3b"}; !slices.Equal(kinds, want) {
			t.Errorf("journal %v, want %v", kinds, want)
		}
	})
}

// TestPoison: a task that takes its worker down each time ends among the dead.
func TestPoison(t *testing.T) {
	each(t, Options{MostLost: 3}, func(t *testing.T, q *Queue) {
		id := admit(t, q, one("i", Spec{Group: "r"}))[0].ID
		for i := range 3 {
			if got := lease(t, q, 1); len(got) != 1 {
				t.Fatalf("round %d: %v", i, got)
			}
			expire(t, q, id)
			sweep(t, q)
		}
		if got := get(t, q, id); got.State != Dead || got.Attempt != 0 || !strings.Contains(got.Reason, "3 times") {
			t.Errorf("%+v", got)
		}
	})
}

// TestCancel in each state; it is final and reaches a running task.
func TestCancel(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		make := func(quiet time.Duration) ID {
			return admit(t, q, one("i", Spec{Group: "r", Serial: "s", Key: "k", Quiet: quiet}))[0].ID
		}
		cancelled := func(id ID) {
			t.Helper()
			if got := get(t, q, id); got.State != Ended || got.Canceled != "why" {
				t.Errorf("%+v", got)
			}
			if s, err := q.Cancel(ctx, id, "again"); err != nil || s != Ended {
				t.Errorf("again: %v %v", s, err)
			}
		}
		id := make(time.Hour)
		must[State](t)(q.Cancel(ctx, id, "why"))
		cancelled(id)
		id = make(0)
		must[State](t)(q.Cancel(ctx, id, "why"))
		cancelled(id)
		id = make(0)
		end(t, lease(t, q, 1)[0], Park(0, "person", "e"))
		must[State](t)(q.Cancel(ctx, id, "why"))
		cancelled(id)
		id = make(0)
		l := lease(t, q, 1)[0]
		if s := must[State](t)(q.Cancel(ctx, id, "why")); s != Running {
			t.Errorf("state %v", s)
		}
		wantKind(t, must[[]error](t)(q.Renew(ctx, l))[0], Cancelled)
		if s := end(t, l, Retry(errors.New("stopped"))); s != Ended {
			t.Errorf("a cancelled task is %v", s)
		}
		cancelled(id)
		id = make(0) // its worker never answers
		lease(t, q, 1)
		must[State](t)(q.Cancel(ctx, id, "why"))
		expire(t, q, id)
		sweep(t, q)
		cancelled(id)
		if s := must[Stats](t)(q.Stats(ctx)); s.Count[Ended] != 5 || s.Startable != 0 {
			t.Errorf("%+v", s)
		}
		id = make(0)
		end(t, lease(t, q, 1)[0], Done(""))
		_, err := q.Cancel(ctx, id, "late")
		wantKind(t, err, BadState)
	})
}

// TestWake: an event, an input or the deadline wakes a parked task; one that
// comes during the run is not missed.
func TestWake(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		id := admit(t, q, one("i", Spec{Group: "r", Serial: "s"}))[0].ID
		park := func() { t.Helper(); end(t, lease(t, q, 1)[0], Park(0, "ci", "checks|1 x", "other")) }
		is := func(s State) {
			t.Helper()
			if got := get(t, q, id); got.State != s {
				t.Fatalf("%+v, want %s", got, s)
			}
		}
		park()
		if got := get(t, q, id); !slices.Equal(got.Events, []string{"checks|1 x", "other"}) {
			t.Errorf("events %q", got.Events)
		}
		if n := must[int](t)(q.Wake(ctx, "j", "other")); n != 0 {
			t.Errorf("another tenant's event woke %d", n)
		}
		if n := must[int](t)(q.Wake(ctx, "i", "checks|1 x")); n != 1 {
			t.Errorf("woke %d", n)
		}
		is(Ready)
		park()
		due(t, q, "park", id)
		sweep(t, q)
		is(Ready)
		park()
		if _, err := q.Input(ctx, id, "approve", []byte("yes")); err != nil {
			t.Fatal(err)
		}
		is(Ready)
		park()
		if err := q.WakeTask(ctx, id, "operator"); err != nil {
			t.Fatal(err)
		}
		is(Ready)
		l := lease(t, q, 1)[0]
		if err := l.Expect(ctx, "push"); err != nil {
			t.Fatal(err)
		}
		if n := must[int](t)(q.Wake(ctx, "i", "push")); n != 1 {
			t.Errorf("woke %d", n)
		}
		if s := end(t, l, Park(0, "ci", "push")); s != Ready {
			t.Errorf("%s: the event was missed", s)
		}
		if n, _ := q.client.ZCard(ctx, q.keys[0]["wait"]).Result(); n != 0 {
			t.Errorf("%d waits are left", n)
		}
	})
}

// TestLedger: an input is admitted once under its key, and settled once (L12).
func TestLedger(t *testing.T) {
	each(t, Options{MaxInputs: 2, MaxPayload: 8}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		id := admit(t, q, one("i", Spec{Group: "r"}))[0].ID
		for range 2 {
			if s := must[Settlement](t)(q.Input(ctx, id, "a|b", []byte("x|y\x00"))); s != Pending {
				t.Errorf("%v", s)
			}
		}
		_, err := q.Input(ctx, id, "a|b", []byte("z"))
		wantKind(t, err, Conflict)
		_, err = q.Input(ctx, id, "big", []byte("123456789"))
		wantKind(t, err, TooLarge)
		must[Settlement](t)(q.Input(ctx, id, "two", nil))
		_, err = q.Input(ctx, id, "three", nil)
		wantKind(t, err, TooLarge)
		l := lease(t, q, 1)[0]
		in := must[[]Input](t)(l.Inputs(ctx))
		if len(in) != 2 || in[0].Key != "a|b" || string(in[0].Payload) != "x|y\x00" || in[1].Key != "two" {
			t.Errorf("%+v", in)
		}
		for range 2 {
			if err := l.Settle(ctx, "a|b", Rejected, "no|pe"); err != nil {
				t.Error(err)
			}
		}
		wantKind(t, l.Settle(ctx, "a|b", Applied, ""), Conflict)
		wantKind(t, l.Settle(ctx, "none", Applied, ""), NotFound)
		wantKind(t, l.Settle(ctx, "two", "odd", ""), Invalid)
		if s := must[Settlement](t)(q.Input(ctx, id, "a|b", []byte("x|y\x00"))); s != Rejected {
			t.Errorf("%v", s)
		}
		in = must[[]Input](t)(q.Inputs(ctx, id))
		if in[0].Note != "no|pe" || string(in[0].Payload) != "x|y\x00" {
			t.Errorf("%+v", in[0])
		}
		end(t, l, Done(""))
		_, err = q.Input(ctx, id, "late", nil)
		wantKind(t, err, BadState)
	})
}

// TestPause of one tenant and of all.
func TestPause(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		for _, tenant := range []Tenant{"i|x", "j"} {
			admit(t, q, one(tenant, Spec{Group: "r"}))
		}
		if err := q.Pause(ctx, "i|x", true); err != nil {
			t.Fatal(err)
		}
		admit(t, q, one("i|x", Spec{Group: "r", Priority: Urgent}))
		if s := must[Stats](t)(q.Stats(ctx)); !slices.Equal(s.PausedBy, []Tenant{"i|x"}) || s.Startable != 1 || s.Count[Ready] != 3 {
			t.Errorf("%+v", s)
		}
		if err := q.PauseAll(ctx, true); err != nil {
			t.Fatal(err)
		}
		if got := lease(t, q, 5); len(got) != 0 {
			t.Errorf("leased %v", got)
		}
		if err := q.PauseAll(ctx, false); err != nil {
			t.Fatal(err)
		}
		if got := lease(t, q, 5); len(got) != 1 || got[0].Task.Tenant != "j" {
			t.Errorf("leased %v", got)
		}
		if err := q.Pause(ctx, "i|x", false); err != nil {
			t.Fatal(err)
		}
		if got := lease(t, q, 5); len(got) != 2 || got[0].Task.Priority != Urgent {
			t.Errorf("leased %v", got)
		}
	})
}

// TestList pages by group, kind, state, tenant and time.
func TestList(t *testing.T) {
	each(t, Options{Shards: 3}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		var all []ID
		for i := range 60 {
			a := admit(t, q, one(Tenant(fmt.Sprint("i", i%5)), Spec{Group: Group(fmt.Sprint("r|", i%3)), Kind: fmt.Sprint("k", i%2)}))
			all = append(all, a[0].ID)
		}
		for name, c := range map[string]struct {
			f    Filter
			want int
		}{
			"all":    {Filter{}, 60},
			"group":  {Filter{Group: "r|1"}, 20},
			"kind":   {Filter{Kind: "k1"}, 30},
			"both":   {Filter{Group: "r|1", Kind: "k1"}, 10},
			"tenant": {Filter{Tenant: "i3"}, 12},
			"state":  {Filter{State: Ready}, 60},
			"none":   {Filter{State: Dead}, 0},
			"since":  {Filter{Since: get(t, q, all[0]).Created}, 60},
			"until":  {Filter{Until: get(t, q, all[0]).Created}, 0},
		} {
			c.f.Limit = 7
			seen := map[ID]bool{}
			last := ID("u")
			for pages := 0; ; pages++ {
				p := must[Page](t)(q.List(ctx, c.f))
				for _, task := range p.Tasks {
					if seen[task.ID] || task.ID >= last {
						t.Errorf("%s: %s out of order", name, task.ID)
					}
					seen[task.ID], last = true, task.ID
				}
				if c.f.After = p.Next; p.Next == "" || pages > 100 {
					break
				}
			}
			if len(seen) != c.want {
				t.Errorf("%s: %d tasks, want %d", name, len(seen), c.want)
			}
		}
	})
}

// TestPurge: after its time a finished task leaves nothing behind.
func TestPurge(t *testing.T) {
	each(t, Options{KeepDone: time.Millisecond}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		keys := func() int {
			n := 0
			for _, k := range must[[]string](t)(q.client.Keys(ctx, "*").Result()) {
				if !strings.HasSuffix(k, ":meta") && !strings.Contains(k, ":seen:") && !strings.HasSuffix(k, ":wake") {
					n++
					t.Log(k)
				}
			}
			return n
		}
		spec := Spec{Group: "r", Serial: "s", Key: "k", Quiet: time.Hour}
		id := admit(t, q, one("i", spec))[0].ID
		admit(t, q, one("i", spec))
		due(t, q, "sched", id)
		sweep(t, q)
		l := lease(t, q, 1)[0]
		must[int64](t)(l.Append(ctx, Record{Kind: "start"}))
		must[Settlement](t)(q.Input(ctx, id, "x", nil))
		end(t, l, Done(""))
		due(t, q, "done", id)
		if s := sweep(t, q); s.Purged != 1 {
			t.Errorf("%+v", s)
		}
		_, err := q.Get(ctx, id)
		wantKind(t, err, NotFound)
		// what is left: the tenant's counters
		if n := keys(); n > 2 {
			t.Errorf("%d keys are left", n)
		}
	})
}

// TestBadInput: a typed error and nothing half written.
func TestBadInput(t *testing.T) {
	each(t, Options{MaxPayload: 16, MaxRecord: 16}, func(t *testing.T, q *Queue) {
		ctx := context.Background()
		before := must[[]string](t)(q.client.Keys(ctx, "*").Result())
		for name, c := range map[string]struct {
			a Admission
			k Kind
		}{
			"no tenant":         {Admission{Tasks: []Spec{{}}}, Invalid},
			"long tenant":       {one(Tenant(strings.Repeat("x", 513)), Spec{}), TooLarge},
			"long group":        {one("i", Spec{Group: Group(strings.Repeat("x", 513))}), TooLarge},
			"payload":           {one("i", Spec{Payload: make([]byte, 17)}), TooLarge},
			"second payload":    {Admission{Tenant: "i", Once: "g", Tasks: []Spec{{}, {Payload: make([]byte, 17)}}}, TooLarge},
			"priority":          {one("i", Spec{Priority: 2}), Invalid},
			"negative quiet":    {one("i", Spec{Quiet: -1}), Invalid},
			"slot of no time":   {Admission{Tenant: "i", Slot: Slot{Schedule: "s"}}, Invalid},
			"slot and delivery": {Admission{Tenant: "i", Once: "g", Slot: Slot{Schedule: "s"}}, Invalid},
		} {
			_, err := q.Admit(ctx, c.a)
			if !errors.Is(err, c.k) {
				t.Errorf("%s: %v, want %s", name, err, c.k)
			}
		}
		for _, id := range []ID{"", "t_", "t_x", ID("t_" + strings.Repeat("l", 26)), ID("x_" + strings.Repeat("0", 26)), "t_\x00\xff"} {
			_, err := q.Get(ctx, id)
			wantKind(t, err, Invalid)
			_, err = q.Cancel(ctx, id, "")
			wantKind(t, err, Invalid)
			wantKind(t, q.Retry(ctx, id), Invalid)
			_, err = q.Input(ctx, id, "k", nil)
			wantKind(t, err, Invalid)
			_, err = q.Journal(ctx, id, 0, 0)
			wantKind(t, err, Invalid)
		}
		none := ID("t_" + strings.Repeat("0", 26))
		_, err := q.Get(ctx, none)
		wantKind(t, err, NotFound)
		_, err = q.Cancel(ctx, none, "")
		wantKind(t, err, NotFound)
		wantKind(t, q.Retry(ctx, none), NotFound)
		if after := must[[]string](t)(q.client.Keys(ctx, "*").Result()); len(after) != len(before) {
			t.Errorf("keys before %v, after %v", before, after)
		}
		// any bytes are good names
		odd := string([]byte{0, 1, '|', ' ', '%', '{', '}', '*', 0xff, 0xfe, '\n', '"', '\\'})
		id := admit(t, q, Admission{Tenant: Tenant(odd), Once: odd, Tasks: []Spec{{Group: Group(odd), Serial: odd, Kind: odd, Key: odd}}})[0].ID
		l := lease(t, q, 1)[0]
		if l.Task.Tenant != Tenant(odd) || l.Task.Group != Group(odd) || l.Task.Serial != odd || l.Task.Kind != odd || l.Triggers[0].Once != odd {
			t.Errorf("%+v", l.Task)
		}
		_, err = l.Append(ctx, Record{Kind: "k", Data: make([]byte, 17)})
		wantKind(t, err, TooLarge)
		_, err = l.Append(ctx)
		wantKind(t, err, Invalid)
		must[int64](t)(l.Append(ctx, Record{Kind: odd, Data: []byte(odd)}))
		if j := must[[]Record](t)(q.Journal(ctx, id, 0, 0)); j[0].Kind != odd || !bytes.Equal(j[0].Data, []byte(odd)) {
			t.Errorf("%+v", j)
		}
		wantKind(t, l.Expect(ctx, ""), Invalid)
		if s := end(t, l, Done(odd)); s != Ended {
			t.Error(s)
		}
		if p := must[Page](t)(q.List(ctx, Filter{Group: Group(odd)})); len(p.Tasks) != 1 {
			t.Errorf("%+v", p)
		}
	})
}

// TestUnreadable: a head of a newer version or a broken one is set aside, as it
// is, and holds up nobody.
func TestUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		kind Kind
	}{
		"newer":  {`{"v":2,"tenant":"i","new":[]}`, Newer},
		"broken": {`{"v":1,`, Corrupt},
		"absurd": {`[1]`, Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, Options{Cap: 1}, func(t *testing.T, q *Queue) {
				ctx := context.Background()
				bad := admit(t, q, one("i", Spec{Group: "r", Serial: "s"}))[0].ID
				good := admit(t, q, one("i", Spec{Group: "r", Serial: "s"}))[0].ID
				if good < bad {
					bad, good = good, bad
				}
				set := func() { q.client.HSet(ctx, q.keys[0]["task"], string(bad), c.head) }
				set()
				ls, err := q.Lease(ctx, 0, "w", 3)
				wantKind(t, err, c.kind)
				if len(ls) != 1 || ls[0].Task.ID != good {
					t.Fatalf("leased %+v", ls)
				}
				_, err = q.Get(ctx, bad)
				wantKind(t, err, c.kind)
				if p := must[Page](t)(q.List(ctx, Filter{})); len(p.Unreadable) != 1 || len(p.Tasks) != 1 {
					t.Errorf("%+v", p)
				}
				if s := must[Stats](t)(q.Stats(ctx)); s.Count[Dead] != 1 || s.Count[Ready] != 0 {
					t.Errorf("%+v", s)
				}
				if raw := q.client.HGet(ctx, q.keys[0]["task"], string(bad)).Val(); raw != c.head {
					t.Errorf("the record was changed: %s", raw)
				}
				// one that runs when it becomes unreadable
				bad = good
				set()
				expire(t, q, bad)
				if s := sweep(t, q); s.Unreadable != 1 {
					t.Errorf("%+v", s)
				}
				next := admit(t, q, one("i", Spec{Group: "r", Serial: "s"}))[0].ID
				if ls := lease(t, q, 1); len(ls) != 1 || ls[0].Task.ID != next {
					t.Errorf("its line is held up: %v", ls)
				}
			})
		})
	}
}

// TestClaim: whose prefix is it?
func TestClaim(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client()
	defer c.Close()
	ctx := context.Background()
	open := func(params string) error {
		q, err := Open(ctx, s.URL()+"?"+params, Options{audit: true})
		if err == nil {
			q.Close()
		}
		return err
	}
	c.Set(ctx, "other:{q0}:meta", "mine", 0)
	wantKind(t, open("prefix=other"), Foreign)
	c.HSet(ctx, "hash:{q0}:meta", "a", "b")
	wantKind(t, open("prefix=hash"), Foreign)
	c.Set(ctx, "half:{q0}:ring", "mine", 0)
	wantKind(t, open("prefix=half"), Foreign)
	if n := c.Exists(ctx, "half:{q0}:meta", "half:{q0}:task").Val(); n != 0 {
		t.Error("something was written")
	}
	for range 2 {
		if err := open("prefix=good&shards=2"); err != nil {
			t.Error(err)
		}
	}
	c.HSet(ctx, "good:{q1}:meta", "v", 2)
	wantKind(t, open("prefix=good&shards=2"), Newer)
	for _, bad := range []string{"prefix={x}", "prefix=a%20b", "shards=x", "shards=2000", "nonsense=1", "ca=/nonexistent"} {
		wantKind(t, open(bad), Config)
	}
	for _, url := range []string{"http://x", "redis://u:s3cret@%zz", "redis+odd://h", "redis+sentinel://h:1", "redis://:s3cret@h:port/x"} {
		_, err := Open(ctx, url, Options{})
		wantKind(t, err, Config)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password shows: %v", err)
		}
	}
	// the number of shards may change only while nothing waits
	q := must[*Queue](t)(Open(ctx, s.URL()+"?prefix=sh", Options{}))
	defer q.Close()
	id := admit(t, q, one("i", Spec{}))[0].ID
	wantKind(t, open("prefix=sh&shards=2"), Config)
	must[State](t)(q.Cancel(ctx, id, ""))
	if err := open("prefix=sh&shards=2"); err != nil {
		t.Error(err)
	}
	// a queue that vanishes while it is used is not silently begun anew
	c.FlushAll(ctx)
	_, err := q.Admit(ctx, one("i", Spec{}))
	wantKind(t, err, Gone)
	// a newer version that took over stops this one
	q = must[*Queue](t)(Open(ctx, s.URL(), Options{}))
	defer q.Close()
	c.HSet(ctx, "bailiff:{q0}:meta", "v", 2)
	_, err = q.Admit(ctx, one("i", Spec{}))
	wantKind(t, err, Newer)
	err = Worker{Queue: q, Log: quiet(), Handler: HandlerFunc(func(context.Context, *Lease) Outcome { return Done("") })}.Run(ctx)
	wantKind(t, err, Newer)
}

// TestCapIsRaised: a process with a higher cap comes while a tenant is at the old
// one. The tenant's waiting tasks start at the next sweep, and not only when
// another one of it is admitted.
func TestCapIsRaised(t *testing.T) {
	url := redistest.Start(t).URL()
	old := opened(t, url, Options{Cap: 2})
	for range 5 {
		admit(t, old, one("t", Spec{Kind: "k"}))
	}
	held := lease(t, old, 5)
	if len(held) != 2 {
		t.Fatalf("leased %d at a cap of 2", len(held))
	}
	q := opened(t, url, Options{Cap: 4})
	must[Swept](t)(q.Sweep(context.Background(), 0))
	if got := len(lease(t, q, 5)); got != 2 {
		t.Fatalf("leased %d more at a cap of 4, want 2", got)
	}
	end(t, held[0], Done(""))
	if got := len(lease(t, q, 5)); got != 1 {
		t.Errorf("leased %d after an end, want 1", got)
	}
}

// TestShardsShareSlots: one slot, one shard with work that never ends, another
// with a single task. Passing slots on within a shard must not starve the other.
func TestShardsShareSlots(t *testing.T) {
	q := opened(t, redistest.Start(t).URL(), Options{Shards: 2})
	tenants := map[int]Tenant{}
	for i := 0; len(tenants) < 2; i++ {
		name := Tenant(fmt.Sprint("t", i))
		tenants[q.shard(name)] = name
	}
	const busy = 300
	for range busy {
		admit(t, q, one(tenants[0], Spec{Kind: "busy"}))
	}
	admit(t, q, one(tenants[1], Spec{Kind: "alone"}))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var order []string
	w := Worker{Queue: q, Log: quiet(), Concurrency: 1, Handler: HandlerFunc(func(_ context.Context, l *Lease) Outcome {
		order = append(order, l.Task.Kind) // one slot: one goroutine
		if len(order) == busy+1 {
			stop()
		}
		return Done("")
	})}
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(order, "alone"); i < 0 || i > busy/2 {
		t.Errorf("the other shard's task came %d. of %d", i+1, len(order))
	}
}
