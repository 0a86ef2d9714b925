package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func isKind(err error, k Kind) bool { return errors.Is(err, k) }

// Settlement is what became of an input.
type Settlement string

// The settlements.
const (
	Pending    Settlement = "open"
	Applied    Settlement = "applied"
	Superseded Settlement = "superseded"
	Rejected   Settlement = "rejected"
)

// Input is one entry of a task's ledger: something that somebody outside wants
// of it, admitted before it takes effect.
type Input struct {
	Key     string     `json:"key"`
	Seq     int64      `json:"seq"`
	At      time.Time  `json:"at"`
	Status  Settlement `json:"status"`
	Note    string     `json:"note,omitempty"`
	Payload []byte     `json:"payload"`
}

// Input admits an input under its key and wakes the task if it is parked. The
// same key with the same payload converges and gives the first one's state;
// with another payload it is refused. Errors: Conflict, BadState (the task has
// ended), NotFound, TooLarge, Invalid.
func (q *Queue) Input(ctx context.Context, id ID, key string, payload []byte) (Settlement, error) {
	const op = "input"
	shard, err := q.shardOf(op, id)
	if err != nil {
		return "", err
	}
	k, err := name(op, "the key", key, true)
	if err != nil {
		return "", err
	}
	if len(payload) > q.opt.MaxPayload {
		return "", &Error{Kind: TooLarge, Op: op, Task: id, Text: fmt.Sprintf("a payload of %d bytes, more than %d", len(payload), q.opt.MaxPayload)}
	}
	sum := sha256.Sum256(payload)
	reply, err := q.call(ctx, op, shard, id, "input", []string{q.key(shard, "in", string(id))},
		string(id), k, hex.EncodeToString(sum[:]), payload, q.opt.MaxInputs)
	if err != nil {
		return "", err
	}
	return Settlement(text(reply[0])), nil
}

// Inputs gives a task's ledger in the order of admission.
func (q *Queue) Inputs(ctx context.Context, id ID) ([]Input, error) {
	const op = "inputs"
	shard, err := q.shardOf(op, id)
	if err != nil {
		return nil, err
	}
	all, err := q.client.HGetAll(ctx, q.key(shard, "in", string(id))).Result()
	if err != nil {
		return nil, wrap(op, id, err)
	}
	out := make([]Input, 0, len(all))
	for key, v := range all {
		// status|seq|at|digest|note|payload
		f := strings.SplitN(v, "|", 6)
		if len(f) != 6 {
			return nil, &Error{Kind: Corrupt, Op: op, Task: id, Text: "an input cannot be read"}
		}
		out = append(out, Input{
			Key: unescape(key), Status: Settlement(f[0]), Seq: number(f[1]), At: ms(number(f[2])).time(),
			Note: unescape(f[4]), Payload: []byte(f[5]),
		})
	}
	slices.SortFunc(out, func(a, b Input) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, nil
}

// Inputs gives the inputs that are not settled.
func (l *Lease) Inputs(ctx context.Context) ([]Input, error) {
	all, err := l.q.Inputs(ctx, l.Task.ID)
	return slices.DeleteFunc(all, func(in Input) bool { return in.Status != Pending }), err
}

// Settle says what became of an input; saying the same twice is no error.
// Errors: Lost, NotFound, Conflict (settled otherwise before), Invalid.
func (l *Lease) Settle(ctx context.Context, key string, s Settlement, note string) error {
	const op = "settle"
	if s != Applied && s != Superseded && s != Rejected {
		return &Error{Kind: Invalid, Op: op, Task: l.Task.ID, Text: fmt.Sprintf("no settlement: %q", string(s))}
	}
	k, err := name(op, "the key", key, true)
	if err != nil {
		return err
	}
	_, err = l.q.call(ctx, op, l.shard, l.Task.ID, "settle", []string{l.q.key(l.shard, "in", string(l.Task.ID))},
		string(l.Task.ID), l.Task.Token, k, string(s), escape(clean(note, 1024)))
	return err
}
