package queue

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Admission is one delivery: what happened, once, and the tasks that it asks
// for, which may be none.
type Admission struct {
	Tenant Tenant
	// Once names the delivery. It is admitted once within Options.Dedupe;
	// empty means that it has no name and is always new.
	Once string
	// Slot, if set, makes the admission one of a schedule: it is admitted if
	// the slot is later than every slot of that schedule before. Once is
	// then left empty.
	Slot  Slot
	Tasks []Spec
}

// Slot is one time of a schedule.
type Slot struct {
	Schedule string // any bytes, up to 512
	At       time.Time
}

// Spec describes a task to come.
type Spec struct {
	Group  Group
	Serial string // one task runs at once for a tenant, group and serial; empty: no such limit
	Kind   string
	// Priority of the task; a trigger that joins can only raise it.
	Priority Priority
	// Key coalesces: a trigger whose key is that of a task of the same tenant
	// that never started joins it. Empty: always a task of its own.
	Key string
	// Quiet delays the start; each trigger that joins begins it anew, until
	// Ceiling after the first (default ten times Quiet). A trigger without a
	// quiet period starts the task at once.
	Quiet, Ceiling time.Duration
	Attempts       int // default Options.Attempts
	Payload        []byte
}

// How a trigger was admitted.
type How string

// The ways.
const (
	Created   How = "created"   // a task of its own
	Joined    How = "joined"    // recorded in a task that had not started
	Duplicate How = "duplicate" // seen before: nothing was changed
)

// Admitted is the task that answers a trigger.
type Admitted struct {
	ID  ID  `json:"id"`
	How How `json:"how"`
}

// Admit writes a delivery and its tasks in one step, or not at all. The answer
// has the tasks in the order of a.Tasks; for a duplicate it has those of the
// first time (none for a slot). A call whose answer was lost may be repeated
// by the client underneath and is still admitted once; a caller that gives Once
// may repeat it too. Errors: Invalid, TooLarge, Full, Unavailable, and those of
// New.
func (q *Queue) Admit(ctx context.Context, a Admission) ([]Admitted, error) {
	const op = "admit"
	tenant, err := name(op, "the tenant", string(a.Tenant), true)
	if err != nil {
		return nil, err
	}
	once, err := name(op, "the delivery", a.Once, false)
	if err != nil {
		return nil, err
	}
	slot, err := name(op, "the schedule", a.Slot.Schedule, false)
	if err != nil {
		return nil, err
	}
	nonce, err := q.nonce()
	if err != nil {
		return nil, err
	}
	keep := q.opt.Dedupe
	switch {
	case slot != "" && once != "":
		return nil, &Error{Kind: Invalid, Op: op, Text: "a slot needs no delivery: leave Once empty"}
	case slot != "" && a.Slot.At.UnixMilli() <= 0:
		return nil, &Error{Kind: Invalid, Op: op, Text: "the slot has no time"}
	case slot != "":
		once = fmt.Sprintf("slot/%s/%d", slot, a.Slot.At.UnixMilli())
	case once == "":
		// a name for this call alone, so that its repetition is recognised
		once, keep = "call/"+nonce, 10*time.Minute
	default:
		once = "once/" + once
	}
	shard := q.shard(a.Tenant)
	args := []any{tenant, once, nonce, millis(keep), slot, a.Slot.At.UnixMilli(), q.opt.MaxTriggers}
	for _, s := range a.Tasks {
		one, err := q.spec(op, shard, s)
		if err != nil {
			return nil, err
		}
		args = append(args, one...)
	}
	reply, err := q.call(ctx, op, shard, "", "admit", []string{q.key(shard, "seen", tenant+"/"+once)}, args...)
	if err != nil {
		return nil, err
	}
	return admitted(text(reply[0]), text(reply[1])), nil
}

// spec checks one task and gives its arguments.
func (q *Queue) spec(op string, shard int, s Spec) ([]any, error) {
	var names [4]string
	for i, n := range []struct{ what, s string }{
		{"the group", string(s.Group)}, {"the serial", s.Serial}, {"the kind", s.Kind}, {"the key", s.Key},
	} {
		var err error
		if names[i], err = name(op, n.what, n.s, false); err != nil {
			return nil, err
		}
	}
	if len(s.Payload) > q.opt.MaxPayload {
		return nil, &Error{Kind: TooLarge, Op: op, Text: fmt.Sprintf("a payload of %d bytes, more than %d", len(s.Payload), q.opt.MaxPayload)}
	}
	if s.Priority < Urgent || s.Priority > Low || s.Quiet < 0 || s.Ceiling < 0 || s.Attempts < 0 {
		return nil, &Error{Kind: Invalid, Op: op, Text: "a priority, quiet period, ceiling or number of attempts is out of range"}
	}
	orDefault(&s.Ceiling, 10*s.Quiet)
	orDefault(&s.Attempts, q.opt.Attempts)
	random, err := q.random(shard)
	if err != nil {
		return nil, err
	}
	return []any{
		random, names[0], names[1], names[2], string('1' + rune(s.Priority)), names[3],
		millis(s.Quiet), millis(s.Ceiling), s.Attempts, s.Payload,
	}, nil
}

// admitted reads the script's list "c:ID j:ID".
func admitted(how, list string) []Admitted {
	var out []Admitted
	for one := range strings.FieldsSeq(list) {
		kind, id, _ := strings.Cut(one, ":")
		a := Admitted{ID: ID(id), How: Created}
		if kind == "j" {
			a.How = Joined
		}
		if how == "seen" {
			a.How = Duplicate
		}
		out = append(out, a)
	}
	return out
}

// Seen tells which deliveries of a tenant were admitted within Options.Dedupe.
func (q *Queue) Seen(ctx context.Context, t Tenant, once ...string) ([]bool, error) {
	const op = "seen"
	tenant, err := name(op, "the tenant", string(t), true)
	if err != nil || len(once) == 0 {
		return nil, err
	}
	shard := q.shard(t)
	keys := make([]string, len(once))
	for i, s := range once {
		s, err := name(op, "the delivery", s, true)
		if err != nil {
			return nil, err
		}
		keys[i] = q.key(shard, "seen", tenant+"/once/"+s)
	}
	vals, err := q.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, wrap(op, "", err)
	}
	seen := make([]bool, len(vals))
	for i, v := range vals {
		seen[i] = v != nil
	}
	return seen, nil
}

// LastSlot gives the latest slot of a schedule that was admitted, or the zero
// time. With it a scheduler finds that it missed some, and admits the last.
func (q *Queue) LastSlot(ctx context.Context, t Tenant, schedule string) (time.Time, error) {
	v, err := q.client.HGet(ctx, q.keys[q.shard(t)]["cron"], escape(string(t))+"|"+escape(schedule)).Int64()
	if isNil(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, wrap("last slot", "", err)
	}
	return time.UnixMilli(v).UTC(), nil
}

// ForgetSlots drops what is known of a schedule that is gone.
func (q *Queue) ForgetSlots(ctx context.Context, t Tenant, schedule string) error {
	err := q.client.HDel(ctx, q.keys[q.shard(t)]["cron"], escape(string(t))+"|"+escape(schedule)).Err()
	return wrap("forget slots", "", err)
}
