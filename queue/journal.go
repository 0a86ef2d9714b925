package queue

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Record is one entry of a task's journal.
type Record struct {
	Seq   int64     `json:"seq"` // from 1, without gaps
	At    time.Time `json:"at"`
	Token int64     `json:"token"` // the lease that wrote it
	Kind  string    `json:"kind"`
	Data  []byte    `json:"data"`
}

// journal is a list in a slot of its own, so that a cluster spreads them.
func (q *Queue) journal(id ID) string { return q.opt.Prefix + ":{" + string(id) + "}:journal" }

// Append adds records to the task's journal, all or none, in order, and gives
// the sequence number of the last. Only Kind and Data are used. Repeating an
// append whose answer was lost writes it once. Errors: Lost, TooLarge, Full,
// Unavailable; after Unavailable it is not known whether it was written, and
// reading the journal tells.
func (l *Lease) Append(ctx context.Context, records ...Record) (int64, error) {
	const op = "append"
	l.mu.Lock()
	l.op++
	n := l.op
	l.mu.Unlock()
	args := make([]any, 0, 2*len(records))
	for _, r := range records {
		kind, err := name(op, "the kind", r.Kind, true)
		if err != nil {
			return 0, err
		}
		if len(r.Data) > l.q.opt.MaxRecord {
			return 0, &Error{Kind: TooLarge, Op: op, Task: l.Task.ID,
				Text: fmt.Sprintf("a record of %d bytes, more than %d", len(r.Data), l.q.opt.MaxRecord)}
		}
		args = append(args, kind, r.Data)
	}
	if len(args) == 0 {
		return 0, &Error{Kind: Invalid, Op: op, Task: l.Task.ID, Text: "no records"}
	}
	return l.write(ctx, op, n, args)
}

// write runs the append script. With no records it only raises the fence.
func (l *Lease) write(ctx context.Context, op string, n int64, records []any) (int64, error) {
	for renewed := false; ; renewed = true {
		l.mu.Lock()
		until, ended := l.until, l.ended
		l.mu.Unlock()
		if ended {
			return 0, &Error{Kind: Lost, Op: op, Task: l.Task.ID, Text: answers["settled"].text}
		}
		key := l.q.journal(l.Task.ID)
		args := append([]any{l.Task.Token, until, n, l.q.opt.MaxRecords, key}, records...)
		reply, err := l.q.call(ctx, op, l.shard, l.Task.ID, "append", []string{key}, args...)
		switch {
		case err == nil:
			l.mu.Lock()
			l.fenced = true
			l.mu.Unlock()
			return number(reply[0]), nil
		case len(reply) > 0 && text(reply[0]) == "expired" && !renewed:
			// the journal holds an old end of the lease: ask whether it still lives
			states, err := l.q.Renew(ctx, l)
			if err != nil {
				return 0, err
			}
			if states[0] != nil && !isKind(states[0], Cancelled) {
				return 0, states[0]
			}
		case len(reply) > 0 && text(reply[0]) == "expired":
			return 0, &Error{Kind: Lost, Op: op, Task: l.Task.ID, Text: answers["lost"].text}
		default:
			return 0, err
		}
	}
}

// Journal reads up to limit records after a sequence number, as the holder of
// the task: from then on no earlier lease can add to what it read.
func (l *Lease) Journal(ctx context.Context, after int64, limit int) ([]Record, error) {
	l.mu.Lock()
	fenced := l.fenced
	l.mu.Unlock()
	if !fenced {
		if _, err := l.write(ctx, "journal", 0, nil); err != nil {
			return nil, err
		}
	}
	return l.q.Journal(ctx, l.Task.ID, after, limit)
}

// Journal reads up to limit records (0: 1000) after a sequence number. A task
// that wrote nothing, or is gone, has none. Errors: Newer and Corrupt, beside
// the records before the one that cannot be read.
func (q *Queue) Journal(ctx context.Context, id ID, after int64, limit int) ([]Record, error) {
	const op = "journal"
	if _, err := q.shardOf(op, id); err != nil {
		return nil, err
	}
	if after < 0 || limit < 0 {
		return nil, &Error{Kind: Invalid, Op: op, Task: id, Text: "a negative position or limit"}
	}
	orDefault(&limit, 1000)
	vals, err := q.client.LRange(ctx, q.journal(id), after+1, after+int64(limit)).Result()
	if err != nil {
		return nil, wrap(op, id, err)
	}
	out := make([]Record, 0, len(vals))
	for i, s := range vals {
		r, err := decodeRecord(id, s)
		if err != nil {
			return out, err
		}
		r.Seq = after + int64(i) + 1
		out = append(out, r)
	}
	return out, nil
}

// decodeRecord reads "version|token|at|kind|data".
func decodeRecord(id ID, s string) (Record, error) {
	f := strings.SplitN(s, "|", 5)
	v, err := strconv.ParseInt(f[0], 10, 64)
	if err == nil && v > version {
		return Record{}, &Error{Kind: Newer, Op: "journal", Task: id, Text: answers["newer"].text}
	}
	if err != nil || v < 1 || len(f) != 5 {
		return Record{}, &Error{Kind: Corrupt, Op: "journal", Task: id, Text: "a record cannot be read"}
	}
	token, err1 := strconv.ParseInt(f[1], 10, 64)
	at, err2 := strconv.ParseInt(f[2], 10, 64)
	if err1 != nil || err2 != nil {
		return Record{}, &Error{Kind: Corrupt, Op: "journal", Task: id, Text: "a record cannot be read"}
	}
	return Record{At: ms(at).time(), Token: token, Kind: unescape(f[3]), Data: []byte(f[4])}, nil
}

// Follow gives a journal's records after a sequence number and then those to
// come, until ctx ends (no error), an error, or the task has ended and all its
// records were given. Each reader has a connection of its own.
func (q *Queue) Follow(ctx context.Context, id ID, after int64) iter.Seq2[Record, error] {
	const poll = 2 * time.Second // if a notice is lost, or the user may not subscribe
	return func(yield func(Record, error) bool) {
		sub := q.client.Subscribe(ctx, q.journal(id))
		defer sub.Close()
		notices := sub.Channel(redis.WithChannelSize(1))
		for over := false; ; {
			for {
				page, err := q.Journal(ctx, id, after, 0)
				for _, r := range page {
					if !yield(r, nil) {
						return
					}
					after = r.Seq
				}
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					yield(Record{}, err)
					return
				}
				if len(page) == 0 {
					break
				}
			}
			if over {
				return
			}
			t, err := q.Get(ctx, id)
			if isKind(err, NotFound) {
				return
			}
			if err != nil && ctx.Err() == nil {
				yield(Record{}, err)
				return
			}
			if over = err == nil && (t.State == Ended || t.State == Dead); over {
				continue // what was written between the page and the end
			}
			timer := time.NewTimer(poll)
			select {
			case <-ctx.Done():
			case <-notices:
			case <-timer.C:
			}
			timer.Stop()
			if ctx.Err() != nil {
				return
			}
		}
	}
}
