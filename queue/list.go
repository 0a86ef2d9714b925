package queue

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Get gives a task. Errors: NotFound, Newer, Corrupt, Invalid, Unavailable.
func (q *Queue) Get(ctx context.Context, id ID) (Task, error) {
	const op = "get"
	shard, err := q.shardOf(op, id)
	if err != nil {
		return Task{}, err
	}
	s, err := q.client.HGet(ctx, q.keys[shard]["task"], string(id)).Result()
	if isNil(err) {
		return Task{}, &Error{Kind: NotFound, Op: op, Task: id, Text: answers["notfound"].text}
	}
	if err != nil {
		return Task{}, wrap(op, id, err)
	}
	h, err := decodeHead(op, id, s)
	if err != nil {
		return Task{}, err
	}
	return h.task(), nil
}

// Payloads gives a task's triggers with their payloads; of a task that is done
// the first one's is gone.
func (q *Queue) Payloads(ctx context.Context, id ID) ([]Trigger, error) {
	const op = "payloads"
	shard, err := q.shardOf(op, id)
	if err != nil {
		return nil, err
	}
	keys := q.keys[shard]
	var hd, body *redis.StringCmd
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		hd, body = p.HGet(ctx, keys["task"], string(id)), p.HGet(ctx, keys["body"], string(id))
		return nil
	})
	if isNil(hd.Err()) {
		return nil, &Error{Kind: NotFound, Op: op, Task: id, Text: answers["notfound"].text}
	}
	if err != nil && !isNil(err) {
		return nil, wrap(op, id, err)
	}
	h, err := decodeHead(op, id, hd.Val())
	if err != nil {
		return nil, err
	}
	out := []Trigger{{Once: delivery(h.Once), At: h.Created.time(), Payload: []byte(body.Val())}}
	if h.N > 1 {
		more, err := q.triggers(ctx, shard, h)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// Filter says which tasks to list; what is zero does not matter.
type Filter struct {
	Tenant Tenant
	Group  Group
	Kind   string
	State  State
	Since  time.Time // admitted at or after
	Until  time.Time // admitted before
	After  ID        // continue after this one: the cursor of the page before
	Limit  int       // tasks in a page; default 100, at most 1000
}

// Page is part of a list, newest first.
type Page struct {
	Tasks []Task `json:"tasks"`
	Next  ID     `json:"next,omitempty"` // the cursor of the next page; empty: this is the last
	// Unreadable are tasks whose record is of a newer version, or broken.
	Unreadable []ID `json:"unreadable,omitempty"`
}

// List gives a page of tasks, newest first. It reads the index of the group, or
// else of the kind, or else all; a page that would look at more than 10,000
// tasks is cut short, and Next goes on.
func (q *Queue) List(ctx context.Context, f Filter) (Page, error) {
	const op, step, most = "list", 500, 10_000
	if f.Limit < 0 || f.Limit > 1000 {
		return Page{}, &Error{Kind: Invalid, Op: op, Text: "a page has 1 to 1000 tasks"}
	}
	if f.State != "" && !slices.Contains(States(), f.State) {
		return Page{}, &Error{Kind: Invalid, Op: op, Text: "no such state: " + string(f.State)}
	}
	orDefault(&f.Limit, 100)
	if f.After != "" {
		if _, err := q.shardOf(op, f.After); err != nil {
			return Page{}, err
		}
	}
	shards := make([]int, 0, q.opt.Shards)
	if f.Tenant != "" {
		shards = append(shards, q.shard(f.Tenant))
	} else {
		for s := range q.opt.Shards {
			shards = append(shards, s)
		}
	}
	var p Page
	for cursor, looked := f.After, 0; ; {
		ids, full, err := q.ids(ctx, shards, f, cursor, step)
		if err != nil || len(ids) == 0 {
			return p, err
		}
		heads, err := q.heads(ctx, ids)
		if err != nil {
			return p, err
		}
		for i, id := range ids {
			cursor, looked = id, looked+1
			h, err := decodeHead(op, id, heads[i])
			switch {
			case heads[i] == "":
				continue // purged meanwhile
			case err != nil:
				p.Unreadable = append(p.Unreadable, id)
				continue
			}
			if t := h.task(); f.match(t) {
				p.Tasks = append(p.Tasks, t)
			}
			if len(p.Tasks) == f.Limit || looked == most {
				if i < len(ids)-1 || full {
					p.Next = cursor
				}
				return p, nil
			}
		}
		if !full {
			return p, nil
		}
	}
}

func (f Filter) match(t Task) bool {
	return (f.Tenant == "" || f.Tenant == t.Tenant) && (f.Group == "" || f.Group == t.Group) &&
		(f.Kind == "" || f.Kind == t.Kind) && (f.State == "" || f.State == t.State) &&
		!t.Created.Before(f.Since) && (f.Until.IsZero() || t.Created.Before(f.Until))
}

// ids reads the newest IDs before the cursor from the index, of all shards.
func (q *Queue) ids(ctx context.Context, shards []int, f Filter, cursor ID, n int) ([]ID, bool, error) {
	prefix := "*|"
	switch {
	case f.Group != "":
		prefix = "g" + escape(string(f.Group)) + "|"
	case f.Kind != "":
		prefix = "k" + escape(f.Kind) + "|"
	}
	lo, hi := "["+prefix, "("+prefix+"\xff"
	if !f.Since.IsZero() {
		lo = "[" + prefix + "t_" + stamp(f.Since)
	}
	if !f.Until.IsZero() {
		hi = "(" + prefix + "t_" + stamp(f.Until.Add(time.Millisecond))
	}
	if cursor != "" {
		hi = "(" + prefix + string(cursor)
	}
	cmds := make([]*redis.StringSliceCmd, len(shards))
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, s := range shards {
			cmds[i] = p.ZRevRangeByLex(ctx, q.keys[s]["by"], &redis.ZRangeBy{Min: lo, Max: hi, Count: int64(n)})
		}
		return nil
	})
	if err != nil {
		return nil, false, wrap("list", "", err)
	}
	var out []ID
	full := false
	for _, c := range cmds {
		full = full || len(c.Val()) == n
		for _, m := range c.Val() {
			out = append(out, ID(strings.TrimPrefix(m, prefix)))
		}
	}
	slices.SortFunc(out, func(a, b ID) int { return strings.Compare(string(b), string(a)) })
	if len(out) > n {
		out, full = out[:n], true
	}
	return out, full, nil
}

// heads reads the records of tasks; "" for one that is gone.
func (q *Queue) heads(ctx context.Context, ids []ID) ([]string, error) {
	out := make([]string, len(ids))
	byShard := map[int][]int{}
	for i, id := range ids {
		s, err := q.shardOf("list", id)
		if err != nil {
			continue // made by more shards than are configured now
		}
		byShard[s] = append(byShard[s], i)
	}
	for s, at := range byShard {
		fields := make([]string, len(at))
		for i, n := range at {
			fields[i] = string(ids[n])
		}
		vals, err := q.client.HMGet(ctx, q.keys[s]["task"], fields...).Result()
		if err != nil {
			return nil, wrap("list", "", err)
		}
		for i, n := range at {
			out[n] = text(vals[i])
		}
	}
	return out, nil
}

// stamp gives a time as an ID starts with.
func stamp(t time.Time) string {
	n := max(0, t.UnixMilli())
	var b [10]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[n%32]
		n /= 32
	}
	return string(b[:])
}

// Stats are counts and ages, for metrics.
type Stats struct {
	Count map[State]int64 `json:"count"`
	// OldestReady is how long the task has waited that became ready first.
	OldestReady time.Duration `json:"oldest_ready_ns"`
	// Late is how far the most overdue scheduled task is behind its time; it
	// grows when no worker sweeps.
	Late time.Duration `json:"late_ns"`
	// Startable is how many tenants could start a task now: they have ready
	// ones, are below their cap and not paused.
	Startable int64    `json:"startable"`
	Paused    bool     `json:"paused"` // all of them
	PausedBy  []Tenant `json:"paused_tenants,omitempty"`
}

// Stats counts over all shards.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	const op = "stats"
	out := Stats{Count: map[State]int64{}}
	now, err := q.now(ctx)
	if err != nil {
		return out, err
	}
	sets := map[State]string{Scheduled: "sched", Ready: "ready", Running: "lease", Parked: "park", Ended: "done", Dead: "dead"}
	for _, keys := range q.keys {
		count := map[State]*redis.IntCmd{}
		var ready, sched *redis.ZSliceCmd
		var ring *redis.IntCmd
		var pause *redis.BoolCmd
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for state, set := range sets {
				count[state] = p.ZCard(ctx, keys[set])
			}
			ready = p.ZRangeWithScores(ctx, keys["ready"], 0, 0)
			sched = p.ZRangeWithScores(ctx, keys["sched"], 0, 0)
			ring = p.ZCard(ctx, keys["ring"])
			pause = p.HExists(ctx, keys["meta"], "pause")
			return nil
		})
		if err != nil {
			return out, wrap(op, "", err)
		}
		for state, n := range count {
			out.Count[state] += n.Val()
		}
		out.OldestReady = max(out.OldestReady, age(now, ready.Val()))
		out.Late = max(out.Late, age(now, sched.Val()))
		out.Startable += ring.Val()
		out.Paused = out.Paused || pause.Val()
		paused, err := q.pausedTenants(ctx, keys["tenant"])
		if err != nil {
			return out, err
		}
		out.PausedBy = append(out.PausedBy, paused...)
	}
	slices.Sort(out.PausedBy)
	return out, nil
}

func age(now time.Time, first []redis.Z) time.Duration {
	if len(first) == 0 {
		return 0
	}
	return max(0, now.Sub(ms(first[0].Score).time()))
}

func (q *Queue) pausedTenants(ctx context.Context, key string) ([]Tenant, error) {
	var out []Tenant
	it := q.client.HScan(ctx, key, 0, "pause|*", 1000).Iterator()
	for n := 0; it.Next(ctx); n++ {
		if t, ok := strings.CutPrefix(it.Val(), "pause|"); ok && n%2 == 0 {
			out = append(out, Tenant(unescape(t)))
		}
	}
	return out, wrap("stats", "", it.Err())
}
