package queue

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

func isNil(err error) bool { return errors.Is(err, redis.Nil) }

// Wake makes a tenant's tasks ready that are parked for an event, and lets
// those that run and expect it not park. It tells how many there were.
func (q *Queue) Wake(ctx context.Context, t Tenant, event string) (int, error) {
	const op, most = "wake", 500
	ev, err := eventNames(op, t, []string{event})
	if err != nil {
		return 0, err
	}
	n := 0
	for {
		reply, err := q.call(ctx, op, q.shard(t), "", "wake", nil, "", ev[0], clean(event, maxName), most)
		if err != nil {
			return n, err
		}
		n += int(number(reply[0]))
		if number(reply[1]) == 0 {
			return n, nil
		}
	}
}

// WakeTask makes one parked task ready, or lets a running one not park.
func (q *Queue) WakeTask(ctx context.Context, id ID, why string) error {
	shard, err := q.shardOf("wake", id)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, "wake", shard, id, "wake", nil, string(id), "", "", clean(why, 1024), 1)
	return err
}

// Cancel ends a task: at once, or, if it runs, as soon as its worker hears of
// it (with its next heartbeat). It is final, and cancelling twice is no error.
// The state tells which: Ended or Running. Errors: BadState if it had ended.
func (q *Queue) Cancel(ctx context.Context, id ID, reason string) (State, error) {
	shard, err := q.shardOf("cancel", id)
	if err != nil {
		return "", err
	}
	if reason == "" {
		reason = "cancelled"
	}
	reply, err := q.call(ctx, "cancel", shard, id, "cancel", nil, string(id), clean(reason, 1024), millis(q.opt.KeepDone))
	if err != nil {
		return "", err
	}
	return State(text(reply[0])), nil
}

// Retry makes a dead task ready again, with all its attempts.
func (q *Queue) Retry(ctx context.Context, id ID) error {
	shard, err := q.shardOf("retry", id)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, "retry", shard, id, "retry", nil, string(id))
	return err
}

// Pause stops new runs of a tenant's tasks; what runs goes on.
func (q *Queue) Pause(ctx context.Context, t Tenant, on bool) error {
	return q.limit(ctx, "pause", t, "pause", flag(on))
}

// PauseAll stops new runs of every task.
func (q *Queue) PauseAll(ctx context.Context, on bool) error {
	for shard := range q.opt.Shards {
		if _, err := q.call(ctx, "pause", shard, "", "limit", nil, "", "pause", flag(on)); err != nil {
			return err
		}
	}
	return nil
}

// SetCap says how many of a tenant's tasks run at once; zero means Options.Cap.
func (q *Queue) SetCap(ctx context.Context, t Tenant, n int) error {
	value := ""
	if n > 0 {
		value = strconv.Itoa(n)
	}
	return q.limit(ctx, "cap", t, "cap", value)
}

func (q *Queue) limit(ctx context.Context, op string, t Tenant, what, value string) error {
	tenant, err := name(op, "the tenant", string(t), true)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, op, q.shard(t), "", "limit", nil, tenant, what, value)
	return err
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// Swept is what a sweep did.
type Swept struct {
	Next       time.Duration // until something is due; negative: nothing is
	Moved      int           // tasks that became ready, or ended
	Expired    int           // of these, leases that had run out
	Unreadable int           // records set aside among the dead
	Purged     int           // tasks whose time to keep was over
}

// Sweep does for a shard what time asks for, in batches of at most 200 tasks a
// kind: due tasks become ready, leases that ran out are taken back, finished
// tasks go when their time is over. Every worker sweeps.
func (q *Queue) Sweep(ctx context.Context, shard int) (Swept, error) {
	const op, most = "sweep", 200
	o := q.opt
	reply, err := q.call(ctx, op, shard, "", "sweep", nil,
		millis(o.Lease), most, o.MostLost, millis(o.KeepDone), millis(o.KeepDead))
	if err != nil {
		return Swept{}, err
	}
	s := Swept{
		Next: time.Duration(number(reply[0])) * time.Millisecond, Moved: int(number(reply[1])),
		Expired: int(number(reply[2])), Unreadable: int(number(reply[3])),
	}
	s.Purged, err = q.purge(ctx, shard, reply[4:])
	return s, err
}

// purge removes tasks in two steps, as their journals lie in other slots: what
// a crash leaves undone between them is done by the next.
func (q *Queue) purge(ctx context.Context, shard int, ids []any) (int, error) {
	const op = "purge"
	gone := q.keys[shard]["gone"]
	if len(ids) == 0 {
		n, err := q.client.SCard(ctx, gone).Result()
		if err != nil || n == 0 {
			return 0, wrap(op, "", err)
		}
	}
	ledgers := make([]string, len(ids))
	for i, id := range ids {
		ledgers[i] = q.key(shard, "in", text(id))
	}
	reply, err := q.call(ctx, op, shard, "", "purge", ledgers, ids...)
	if err != nil || len(reply) == 0 {
		return 0, err
	}
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range reply {
			p.Unlink(ctx, q.journal(ID(text(id))))
		}
		return nil
	})
	if err == nil {
		err = q.client.SRem(ctx, gone, reply...).Err()
	}
	return len(ids), wrap(op, "", err)
}
