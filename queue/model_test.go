package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// model is the queue in plain Go: what the scripts must agree with.
type model struct {
	tasks   []*mtask
	tenants map[Tenant]*mtenant
	lines   map[string]*mline
	ring    []Tenant
	fast    []Tenant
	token   int64
	paused  bool
	cap     int
}

type mtask struct {
	id       ID
	tenant   Tenant
	group    Group
	serial   string
	key      string
	pri      Priority
	state    State
	attempt  int
	lost     int
	token    int64
	triggers int
	canceled bool
	woken    bool
	expects  bool
	tag      int
	journal  []string
	inputs   []string
}

type mtenant struct {
	run, cap int
	paused   bool
	served   map[Priority]int
	last     map[string]int
	shown    []*mtask
}

// mline is a (tenant, group, serial): one task runs or is shown, others wait.
type mline struct {
	front   *mtask
	running bool
	waiting []*mtask
}

const mAttempts, mMostLost = 2, 3

func (m *model) tenant(t Tenant) *mtenant {
	if m.tenants[t] == nil {
		m.tenants[t] = &mtenant{served: map[Priority]int{}, last: map[string]int{}}
	}
	return m.tenants[t]
}

func (m *model) line(t *mtask) *mline {
	k := fmt.Sprint(t.tenant, "|", t.group, "|", t.serial)
	if t.serial == "" {
		k += string(t.id)
	}
	if m.lines[k] == nil {
		m.lines[k] = &mline{}
	}
	return m.lines[k]
}

func byTag(a, b *mtask) int {
	return cmp.Or(cmp.Compare(a.pri, b.pri), cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
}

func (m *model) bring(t *mtask) {
	n := m.tenant(t.tenant)
	g := fmt.Sprint(t.group, t.pri)
	t.tag = max(n.served[t.pri], n.last[g]) + 1
	n.last[g] = t.tag
	n.shown = append(n.shown, t)
	slices.SortFunc(n.shown, byTag)
}

func drop[T comparable](s []T, v T) []T {
	return slices.DeleteFunc(s, func(x T) bool { return x == v })
}

func (m *model) seat(t Tenant, again bool) {
	n := m.tenant(t)
	limit := m.cap
	if n.cap > 0 {
		limit = n.cap
	}
	put := func(ring []Tenant, in bool) []Tenant {
		if !in || again {
			ring = drop(ring, t)
		}
		if in && !slices.Contains(ring, t) {
			ring = append(ring, t)
		}
		return ring
	}
	can := len(n.shown) > 0 && n.run < limit && !n.paused
	m.ring = put(m.ring, can)
	m.fast = put(m.fast, can && n.shown[0].pri == Urgent)
}

func (m *model) enter(t *mtask) {
	t.state = Ready
	l := m.line(t)
	switch {
	case l.front == nil:
		l.front = t
		m.bring(t)
	case l.running || l.front.pri <= t.pri:
		l.waiting = append(l.waiting, t)
	default:
		n := m.tenant(t.tenant)
		n.shown = drop(n.shown, l.front)
		l.waiting = append(l.waiting, l.front)
		l.front = t
		m.bring(t)
	}
	m.seat(t.tenant, false)
}

func (m *model) forward(l *mline) {
	l.front, l.running = nil, false
	if len(l.waiting) == 0 {
		return
	}
	l.front = slices.MinFunc(l.waiting, func(a, b *mtask) int {
		return cmp.Or(cmp.Compare(a.pri, b.pri), cmp.Compare(a.id, b.id))
	})
	l.waiting = drop(l.waiting, l.front)
	m.bring(l.front)
}

func (m *model) leave(t *mtask) {
	l, n := m.line(t), m.tenant(t.tenant)
	if l.front == t {
		n.shown = drop(n.shown, t)
		m.forward(l)
	} else {
		l.waiting = drop(l.waiting, t)
	}
	m.seat(t.tenant, false)
}

func (m *model) free(t *mtask) {
	m.tenant(t.tenant).run--
	m.forward(m.line(t))
	m.seat(t.tenant, false)
	t.expects = false
}

// lease gives the tasks that must be leased, in order.
func (m *model) lease(n int) []*mtask {
	var out []*mtask
	for range n {
		if m.paused || len(m.ring) == 0 {
			break
		}
		who := m.ring[0]
		if m.token%2 == 0 && len(m.fast) > 0 {
			who = m.fast[0]
		}
		tn := m.tenant(who)
		t := tn.shown[0]
		tn.shown = tn.shown[1:]
		m.token++
		tn.served[t.pri] = t.tag
		tn.run++
		m.line(t).running = true
		t.state, t.token, t.woken = Running, m.token, false
		m.seat(who, true)
		out = append(out, t)
	}
	return out
}

func (m *model) end(t *mtask, o Outcome) State {
	m.free(t)
	t.lost *= map[bool]int{true: 1}[o.move == moveRelease]
	woken := t.woken
	switch {
	case t.canceled:
		t.state = Ended
	case o.move == moveDone:
		t.state = Ended
	case o.move == moveFail:
		t.state = Dead
	case o.move == moveRetry:
		if t.attempt++; t.attempt >= mAttempts {
			t.state = Dead
		} else {
			t.state, t.woken = Scheduled, false
		}
	case o.move == moveSnooze:
		t.state, t.woken = Scheduled, false
	case o.move == movePark && !woken:
		t.state, t.expects = Parked, true
	default:
		m.enter(t)
	}
	return t.state
}

// machine runs the same operations on a queue and the model.
type machine struct {
	q      *Queue
	m      *model
	leases []*Lease // every one ever given, so that lost ones are tried too
	nonce  int
}

func (x *machine) task(t *rapid.T) *mtask {
	if len(x.m.tasks) == 0 {
		t.Skip("no task yet")
	}
	return rapid.SampledFrom(x.m.tasks).Draw(t, "task")
}

func (x *machine) find(id ID) *mtask {
	return x.m.tasks[slices.IndexFunc(x.m.tasks, func(t *mtask) bool { return t.id == id })]
}

// lease draws one; holds tells whether the model says that it still holds.
func (x *machine) lease(t *rapid.T) (l *Lease, mt *mtask, holds bool) {
	if len(x.leases) == 0 {
		t.Skip("no lease yet")
	}
	// the latest ones mostly: those are alive
	i := len(x.leases) - 1 - rapid.IntRange(0, min(5, len(x.leases)-1)).Draw(t, "lease")
	l = x.leases[i]
	mt = x.find(l.Task.ID)
	return l, mt, mt.state == Running && mt.token == l.Task.Token && !l.ended
}

func settled(t *rapid.T, err error, holds bool) {
	if holds && err != nil {
		t.Fatalf("error %v of a lease that holds", err)
	}
	if !holds && !errors.Is(err, Lost) {
		t.Fatalf("error %v, want lost", err)
	}
}

func (x *machine) ops() map[string]func(*rapid.T) {
	ctx := context.Background()
	tenants := rapid.SampledFrom([]Tenant{"a", "b|", "c"})
	return map[string]func(*rapid.T){
		"admit": func(t *rapid.T) {
			tenant := tenants.Draw(t, "tenant")
			s := Spec{
				Group:    rapid.SampledFrom([]Group{"g", "h h"}).Draw(t, "group"),
				Serial:   rapid.SampledFrom([]string{"", "main", "next"}).Draw(t, "serial"),
				Key:      rapid.SampledFrom([]string{"", "", "k"}).Draw(t, "key"),
				Priority: Priority(rapid.IntRange(-1, 1).Draw(t, "priority")),
				Quiet:    time.Duration(rapid.IntRange(0, 1).Draw(t, "quiet")) * time.Hour,
			}
			x.nonce++
			a := Admission{Tenant: tenant, Once: fmt.Sprint(x.nonce), Tasks: []Spec{s}}
			got, err := x.q.Admit(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			again, err := x.q.Admit(ctx, a)
			if err != nil || len(again) != 1 || again[0].ID != got[0].ID || again[0].How != Duplicate {
				t.Fatalf("again %v %v", again, err)
			}
			// the newest task of the key is the one that can be joined
			var open *mtask
			for _, o := range x.m.tasks {
				if s.Key != "" && o.tenant == tenant && o.key == s.Key {
					open = o
				}
			}
			if open != nil && open.token == 0 && (open.state == Ready || open.state == Scheduled) {
				if got[0].ID != open.id || got[0].How != Joined {
					t.Fatalf("admitted %v, want to join %s", got, open.id)
				}
				open.triggers++
				urgent := s.Priority < open.pri
				switch {
				case open.state == Scheduled:
					open.pri = min(open.pri, s.Priority)
					if s.Quiet == 0 {
						x.m.enter(open)
					}
				case urgent:
					x.m.leave(open)
					open.pri = s.Priority
					x.m.enter(open)
				}
				return
			}
			if got[0].How != Created {
				t.Fatalf("admitted %v, want a new task", got)
			}
			mt := &mtask{id: got[0].ID, tenant: tenant, group: s.Group, serial: s.Serial, key: s.Key, pri: s.Priority, state: Scheduled, triggers: 1}
			x.m.tasks = append(x.m.tasks, mt)
			if s.Quiet == 0 {
				x.m.enter(mt)
			}
		},
		"lease": func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "n")
			ls, err := x.q.Lease(ctx, 0, "w", n)
			if err != nil {
				t.Fatal(err)
			}
			x.leased(t, ls, x.m.lease(n))
		},
		"end": func(t *rapid.T) {
			l, mt, holds := x.lease(t)
			boom := errors.New("boom")
			o := rapid.SampledFrom([]Outcome{
				Done("r"), Fail(boom), Retry(boom), Retry(boom), Snooze(time.Hour, "s"), Release(), Park(0, "p", "ev"), Park(time.Hour, "p", "ev"),
			}).Draw(t, "outcome")
			state, err := l.End(ctx, o)
			settled(t, err, holds)
			if holds {
				if want := x.m.end(mt, o); state != want {
					t.Fatalf("end is %s, want %s", state, want)
				}
			}
		},
		"turn": func(t *rapid.T) {
			l, mt, holds := x.lease(t)
			o := rapid.SampledFrom([]Outcome{Done("r"), Fail(errors.New("boom"))}).Draw(t, "outcome")
			n := rapid.IntRange(0, 4).Draw(t, "n")
			ended := l.ended
			l.ended = true
			_, ends, err := l.settlement(o)
			if err != nil {
				t.Fatal(err)
			}
			over, ls, err := x.q.turn(ctx, 0, "w", n, ends)
			if err != nil || len(over) != 1 {
				t.Fatal(over, err)
			}
			// one that was ended by this very lease is told how
			if !ended {
				settled(t, over[0].err, holds)
			}
			if holds {
				if want := x.m.end(mt, o); over[0].state != want {
					t.Fatalf("end is %s, want %s", over[0].state, want)
				}
			}
			x.leased(t, ls, x.m.lease(n))
		},
		"renew": func(t *rapid.T) {
			l, mt, holds := x.lease(t)
			states, err := x.q.Renew(ctx, l)
			if err != nil {
				t.Fatal(err)
			}
			if holds && mt.canceled {
				if !errors.Is(states[0], Cancelled) {
					t.Fatalf("renewed: %v, want cancelled", states[0])
				}
				return
			}
			if holds || states[0] == nil { // an ended lease is lost as well
				settled(t, states[0], holds)
			}
		},
		"append": func(t *rapid.T) {
			l, mt, holds := x.lease(t)
			if holds {
				_, err := l.Append(ctx, Record{Kind: fmt.Sprint(len(mt.journal))}, Record{Kind: fmt.Sprint(len(mt.journal) + 1)})
				settled(t, err, true)
				mt.journal = append(mt.journal, fmt.Sprint(len(mt.journal)), fmt.Sprint(len(mt.journal)+1))
			} else if mt.token > l.Task.Token && mt.state == Running {
				// its successor looks first, as every run does
				i := slices.IndexFunc(x.leases, func(o *Lease) bool { return o.Task.Token == mt.token })
				if _, err := x.leases[i].Journal(ctx, 0, 0); err != nil {
					t.Fatal(err)
				}
				_, err := l.Append(ctx, Record{Kind: "late"})
				settled(t, err, false)
			}
		},
		"expect": func(t *rapid.T) {
			l, mt, holds := x.lease(t)
			err := l.Expect(ctx, "ev")
			settled(t, err, holds)
			if holds {
				mt.expects = true
			}
		},
		"expire": func(t *rapid.T) {
			mt := x.task(t)
			if mt.state != Running {
				t.Skip("not running")
			}
			x.due("lease", mt.id)
			x.m.free(mt)
			mt.lost++
			switch {
			case mt.canceled:
				mt.state = Ended
			case mt.lost >= mMostLost:
				mt.state = Dead
			default:
				x.m.enter(mt)
			}
			x.sweep(t)
		},
		"due": func(t *rapid.T) {
			mt := x.task(t)
			switch mt.state {
			case Scheduled:
				x.due("sched", mt.id)
			case Parked:
				x.due("park", mt.id)
				mt.expects = false
			default:
				t.Skip("waits for no time")
			}
			x.m.enter(mt)
			x.sweep(t)
		},
		"cancel": func(t *rapid.T) {
			mt := x.task(t)
			s, err := x.q.Cancel(ctx, mt.id, "why")
			switch {
			case mt.state == Dead || mt.state == Ended && !mt.canceled:
				if !errors.Is(err, BadState) {
					t.Fatalf("cancel: %v", err)
				}
				return
			case err != nil:
				t.Fatal(err)
			case mt.state == Ended:
				return
			}
			mt.canceled = true
			if mt.state == Running {
				if s != Running {
					t.Fatal(s)
				}
				mt.woken = true
				return
			}
			if mt.state == Ready {
				x.m.leave(mt)
			}
			mt.state, mt.expects = Ended, false
		},
		"retry": func(t *rapid.T) {
			mt := x.task(t)
			err := x.q.Retry(ctx, mt.id)
			if mt.state != Dead {
				if !errors.Is(err, BadState) {
					t.Fatalf("retry: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mt.attempt, mt.lost = 0, 0
			x.m.enter(mt)
		},
		"wake": func(t *rapid.T) {
			tenant := tenants.Draw(t, "tenant")
			n, err := x.q.Wake(ctx, tenant, "ev")
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, mt := range x.byID() {
				if mt.tenant != tenant || !mt.expects {
					continue
				}
				want++
				mt.expects = false
				if mt.state == Parked {
					x.m.enter(mt)
				} else {
					mt.woken = true
				}
			}
			if n != want {
				t.Fatalf("woke %d, want %d", n, want)
			}
		},
		"input": func(t *rapid.T) {
			mt := x.task(t)
			key := fmt.Sprint(len(mt.inputs))
			_, err := x.q.Input(ctx, mt.id, key, []byte(key))
			if mt.state == Ended || mt.state == Dead {
				if !errors.Is(err, BadState) {
					t.Fatalf("input: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mt.inputs = append(mt.inputs, key)
			switch mt.state {
			case Parked:
				mt.expects = false
				x.m.enter(mt)
			case Running:
				mt.woken = true
			}
			if _, err := x.q.Input(ctx, mt.id, key, []byte("other")); !errors.Is(err, Conflict) {
				t.Fatalf("another payload: %v", err)
			}
		},
		"pause": func(t *rapid.T) {
			tenant, on := tenants.Draw(t, "tenant"), rapid.Bool().Draw(t, "on")
			if err := x.q.Pause(ctx, tenant, on); err != nil {
				t.Fatal(err)
			}
			x.m.tenant(tenant).paused = on
			x.m.seat(tenant, false)
		},
		"pause all": func(t *rapid.T) {
			x.m.paused = rapid.IntRange(0, 3).Draw(t, "on") == 0
			if err := x.q.PauseAll(ctx, x.m.paused); err != nil {
				t.Fatal(err)
			}
		},
		"cap": func(t *rapid.T) {
			tenant, n := tenants.Draw(t, "tenant"), rapid.IntRange(0, 4).Draw(t, "n")
			if err := x.q.SetCap(ctx, tenant, n); err != nil {
				t.Fatal(err)
			}
			x.m.tenant(tenant).cap = n
			x.m.seat(tenant, false)
		},
		"": x.same,
	}
}

// leased compares what was leased with what the model says, in order.
func (x *machine) leased(t *rapid.T, ls []*Lease, want []*mtask) {
	if len(ls) != len(want) {
		t.Fatalf("leased %d, want %d", len(ls), len(want))
	}
	for i, l := range ls {
		if l.Task.ID != want[i].id || l.Task.Token != want[i].token || len(l.Triggers) != want[i].triggers {
			t.Fatalf("lease %d is %+v, want %+v", i, l.Task, want[i])
		}
	}
	x.leases = append(x.leases, ls...)
}

func (x *machine) byID() []*mtask {
	return slices.SortedFunc(slices.Values(x.m.tasks), func(a, b *mtask) int { return cmp.Compare(a.id, b.id) })
}

func (x *machine) due(set string, id ID) {
	x.q.client.ZAdd(context.Background(), x.q.keys[0][set], z(1, id))
}

func (x *machine) sweep(t *rapid.T) {
	if _, err := x.q.Sweep(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
}

// same compares every task, the counts and, of each task, journal and ledger.
func (x *machine) same(t *rapid.T) {
	ctx := context.Background()
	p, err := x.q.List(ctx, Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tasks) != len(x.m.tasks) || len(p.Unreadable) > 0 {
		t.Fatalf("%d tasks, want %d", len(p.Tasks), len(x.m.tasks))
	}
	count := map[State]int64{}
	for _, got := range p.Tasks {
		mt := x.find(got.ID)
		count[mt.state]++
		if got.State != mt.state || got.Attempt != mt.attempt || got.Lost != mt.lost || got.Token != mt.token ||
			got.Triggers != mt.triggers || got.Priority != mt.pri || (got.Canceled != "") != mt.canceled || got.Inputs != len(mt.inputs) {
			t.Fatalf("task %+v\nwant %+v", got, mt)
		}
		if mt.token == 0 {
			continue
		}
		j, err := x.q.Journal(ctx, got.ID, 0, 0)
		if err != nil || len(j) != len(mt.journal) {
			t.Fatalf("journal %v %v, want %v", j, err, mt.journal)
		}
	}
	s, err := x.q.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range States() {
		if s.Count[state] != count[state] {
			t.Fatalf("%s: %d, want %d", state, s.Count[state], count[state])
		}
	}
	if int(s.Startable) != len(x.m.ring) {
		t.Fatalf("%d tenants can start, want %v", s.Startable, x.m.ring)
	}
}

// conform checks random operations on a Redis against the model.
func conform(t *testing.T, open func(o Options) (*Queue, error)) {
	var run atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		q, err := open(Options{
			Prefix: fmt.Sprintf("m%d", run.Add(1)), Attempts: mAttempts, MostLost: mMostLost, Cap: 2, Lease: time.Hour,
			Backoff: func(int) time.Duration { return time.Hour }, audit: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		q.client.AddHook(slotGuard{t})
		x := &machine{q: q, m: &model{tenants: map[Tenant]*mtenant{}, lines: map[string]*mline{}, cap: 2}}
		rt.Repeat(x.ops())
	})
}

// TestModel walks the states at random on every kind of Redis (G3, G11).
func TestModel(t *testing.T) {
	at := func(url string) func(o Options) (*Queue, error) {
		return func(o Options) (*Queue, error) { return Open(context.Background(), url, o) }
	}
	t.Run("embedded", func(t *testing.T) {
		conform(t, func(o Options) (*Queue, error) { return Embedded(context.Background(), o, nil) })
	})
	t.Run("redis", func(t *testing.T) { conform(t, at(redistest.Start(t).URL())) })
	t.Run("cluster", func(t *testing.T) {
		url, _ := redistest.Cluster(t)
		conform(t, at(url))
	})
	t.Run("sentinel", func(t *testing.T) {
		url, _, _ := redistest.Sentinel(t)
		conform(t, at(url))
	})
}
