package queue

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bailiff-bot/bailiff/queue/internal/script"
	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// commandLog notes the commands that the client sends.
type commandLog map[string]bool

func (l commandLog) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l commandLog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		l[c.Name()] = true
		return next(ctx, c)
	}
}

func (l commandLog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cs []redis.Cmder) error {
		for _, c := range cs {
			l[c.Name()] = true
		}
		return next(ctx, cs)
	}
}

// TestCommandsAreOld: nothing newer than Redis 6.2 is used, by the scripts or
// the client; COMMAND DOCS tells since when a command exists.
func TestCommandsAreOld(t *testing.T) {
	ctx := context.Background()
	s := redistest.Start(t)
	q := opened(t, s.URL(), Options{KeepDone: 1e6})
	used := commandLog{"blpop": true, "subscribe": true, "config": true}
	q.client.AddHook(used)
	id := admit(t, q, one("i", Spec{Key: "k"}))[0].ID
	admit(t, q, one("i", Spec{Key: "k"}))
	l := lease(t, q, 1)[0]
	must[int64](t)(l.Append(ctx, Record{Kind: "k"}))
	must[[]Record](t)(l.Journal(ctx, 0, 0))
	must[Settlement](t)(q.Input(ctx, id, "k", nil))
	must[[]Input](t)(l.Inputs(ctx))
	must[[]error](t)(q.Renew(ctx, l))
	end(t, l, Done(""))
	due(t, q, "done", id)
	sweep(t, q)
	must[Page](t)(q.List(ctx, Filter{}))
	must[Stats](t)(q.Stats(ctx))
	must[[]bool](t)(q.Seen(ctx, "i", "x"))
	q.Payloads(ctx, id)
	q.LastSlot(ctx, "i", "s")
	q.ForgetSlots(ctx, "i", "s")
	must[[]Warning](t)(q.Check(ctx))

	set := must[script.Set](t)(script.Load(false))
	inLua := regexp.MustCompile(`call\('([A-Z]+)'`)
	for _, sc := range set {
		for _, m := range inLua.FindAllStringSubmatch(sc.Text, -1) {
			used[strings.ToLower(m[1])] = true
		}
	}
	delete(used, "hello")
	names := slices.Sorted(maps.Keys(used))
	c := s.Client()
	defer c.Close()
	docs, err := c.Do(ctx, append([]any{"COMMAND", "DOCS"}, anys(names)...)...).Result()
	if err != nil {
		t.Fatal(err)
	}
	byName := docs.(map[any]any)
	for _, n := range names {
		doc, ok := byName[n].(map[any]any)
		if !ok {
			t.Errorf("%s: Redis has no such command", n)
			continue
		}
		f := strings.Split(doc["since"].(string), ".")
		major, _ := strconv.Atoi(f[0])
		minor, _ := strconv.Atoi(f[1])
		if major > 6 || major == 6 && minor > 2 {
			t.Errorf("%s is of Redis %v", n, doc["since"])
		}
	}
	if len(names) < 25 {
		t.Errorf("only %d commands were seen: %v", len(names), names)
	}
}

func anys(s []string) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

// TestLegends: a script names every key by a local of its legend, and every
// legend is used.
func TestLegends(t *testing.T) {
	set := must[script.Set](t)(script.Load(false))
	key := regexp.MustCompile(`call\('[A-Z]+', ([^,)]+)`)
	allowed := regexp.MustCompile(`^([A-Z]+|key|KEYS\[9 \+ i\]|state == 'dead' and DEAD or DONE)$`)
	for name, s := range set {
		if name == "open" {
			continue // it walks over all of them
		}
		for _, m := range key.FindAllStringSubmatch(s.Text, -1) {
			if !allowed.MatchString(m[1]) && m[1] != "channel" {
				t.Errorf("%s: a key is computed: %s", name, m[0])
			}
		}
		for _, k := range s.Keys {
			if strings.HasSuffix(k, "...>") {
				continue
			}
			if k = strings.ToUpper(strings.Trim(k, "<>")); strings.Count(s.Text, k) < 2 {
				t.Errorf("%s: %s of the legend is not used", name, k)
			}
		}
	}
}

// TestFull: a Redis out of memory refuses admissions whole, and works off what
// it has.
func TestFull(t *testing.T) {
	ctx := context.Background()
	s := redistest.Start(t, "--maxmemory-policy", "noeviction")
	q := opened(t, s.URL(), Options{})
	c := s.Client()
	defer c.Close()
	var ids []ID
	for i := range 6 {
		ids = append(ids, admit(t, q, one("i", Spec{Group: "r", Serial: strconv.Itoa(i % 2), Key: strconv.Itoa(i)}))[0].ID)
	}
	running := lease(t, q, 1)[0]
	if err := c.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	dump := func() string { return c.Do(ctx, "DEBUG", "DIGEST").String() }
	before := dump()
	_, err := q.Admit(ctx, Admission{Tenant: "i", Once: "g", Tasks: []Spec{{Key: "5"}, {}}})
	wantKind(t, err, Full)
	_, err = q.Admit(ctx, Admission{Tenant: "i", Once: "ping"})
	wantKind(t, err, Full)
	_, err = q.Admit(ctx, Admission{Tenant: "i", Slot: Slot{"s", time.Unix(1, 0)}, Tasks: []Spec{{}}})
	wantKind(t, err, Full)
	_, err = q.Input(ctx, ids[1], "k", nil)
	wantKind(t, err, Full)
	_, err = running.Append(ctx, Record{Kind: "k"})
	wantKind(t, err, Full)
	if after := dump(); after != before {
		t.Error("something was half written")
	}
	// what is there goes on: heartbeat, ends, sweep, lease, cancel, retry
	if states := must[[]error](t)(q.Renew(ctx, running)); states[0] != nil {
		t.Error(states[0])
	}
	end(t, running, Done(""))
	sweep(t, q)
	end(t, lease(t, q, 1)[0], Fail(Full))
	end(t, lease(t, q, 1)[0], Park(0, "", "e"))
	end(t, lease(t, q, 1)[0], Snooze(1e9, ""))
	l := lease(t, q, 1)[0]
	must[State](t)(q.Cancel(ctx, l.Task.ID, ""))
	end(t, l, Retry(Full))
	must[State](t)(q.Cancel(ctx, ids[5], ""))
	for _, id := range ids {
		if got := get(t, q, id); got.State == Dead {
			if err := q.Retry(ctx, id); err != nil {
				t.Error(err)
			}
		}
	}
	c.ConfigSet(ctx, "maxmemory", "0")
	if a := admit(t, q, Admission{Tenant: "i", Once: "g", Tasks: []Spec{{}}}); a[0].How != Created {
		t.Errorf("the refused delivery was remembered: %+v", a)
	}
}

// TestCheck says in words what is set so that tasks can be lost.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"as it should be": {[]string{"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"}, nil},
		"out of the box":  {nil, []string{"appendonly is off"}},
		"a cache":         {[]string{"--maxmemory-policy", "allkeys-lru"}, []string{"appendonly is off", "allkeys-lru"}},
		"everysec":        {[]string{"--appendonly", "yes"}, []string{"appendfsync is 'everysec'"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := opened(t, redistest.Start(t, c.args...).URL(), Options{})
			ws := must[[]Warning](t)(q.Check(context.Background()))
			if len(ws) != len(c.want) {
				t.Fatalf("%+v", ws)
			}
			for i, w := range ws {
				if !strings.Contains(w.Text, c.want[i]) {
					t.Errorf("%q, want %q", w.Text, c.want[i])
				}
			}
		})
	}
	t.Run("embedded", func(t *testing.T) {
		if ws := must[[]Warning](t)(opened(t, "", Options{}).Check(context.Background())); len(ws) == 0 {
			t.Error("no warning about a Redis in memory")
		}
	})
}
