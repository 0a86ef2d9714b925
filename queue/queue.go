package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bailiff-bot/bailiff/queue/internal/script"
)

// Options of a queue. The zero value of each field is its default. All
// processes that share a queue must agree on Lease, Cap and Shards.
type Options struct {
	// Lease is how long a worker may be silent before its task returns to the
	// queue. Default 10 s; at least 100 ms. After an outage of Redis a worker has
	// half of it to dial again and write how its runs ended; a task whose end comes
	// later runs again, which leases of a second have been seen to suffer.
	Lease time.Duration
	// Cap is how many tasks of one tenant run at once. Default 5; SetCap
	// overrides it for one tenant.
	Cap int
	// Attempts is how many failed runs make a task dead. Default 5.
	Attempts int
	// MostLost is how many workers in a row a task may take down with it
	// before it is dead. Default 10.
	MostLost int
	// Backoff gives the longest wait before the next attempt; the wait is
	// drawn from its upper half. attempt counts from 1. Default: 5 s, doubled
	// with each attempt, at most 10 min.
	Backoff func(attempt int) time.Duration
	// Outage is how long the end of a job is tried while Redis is away.
	// Default 2 min.
	Outage time.Duration
	// Dedupe is how long a delivery is remembered. Default 8 days: GitHub
	// Enterprise Server lists deliveries for 7.
	Dedupe time.Duration
	// KeepDone and KeepDead say how long ended and dead tasks stay, with
	// journal and ledger. Default 14 and 90 days.
	KeepDone, KeepDead time.Duration
	// MaxPayload, MaxRecord and MaxResult bound a trigger's or an input's
	// payload, a journal record's data and a result, in bytes. Default
	// 256 KiB, 1 MiB and 4 KiB.
	MaxPayload, MaxRecord, MaxResult int
	// MaxTriggers is how many triggers one task answers; the next begins
	// another. MaxInputs and MaxRecords bound a task's ledger and journal.
	// Default 1000, 1000 and 100,000.
	MaxTriggers, MaxInputs, MaxRecords int
	// Prefix of every key. Default "bailiff".
	Prefix string
	// Shards is how many independent queues tenants are spread over, each in
	// one slot of a cluster. Default 1; at most 1024.
	Shards int
	// Attach joins a queue that others run, for looking and for orders: it
	// takes their Shards and changes no setting. NotFound if there is none.
	Attach bool
	// Rand gives randomness for IDs and jitter. Default crypto/rand.
	Rand io.Reader

	audit bool // scripts check their keys; for tests
}

func orDefault[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}

// Validate fills the defaults in and refuses what cannot work.
func (o *Options) Validate() error {
	orDefault(&o.Lease, 10*time.Second)
	orDefault(&o.Cap, 5)
	orDefault(&o.Attempts, 5)
	orDefault(&o.MostLost, 10)
	orDefault(&o.Outage, 2*time.Minute)
	orDefault(&o.Dedupe, 8*24*time.Hour)
	orDefault(&o.KeepDone, 14*24*time.Hour)
	orDefault(&o.KeepDead, 90*24*time.Hour)
	orDefault(&o.MaxPayload, 256<<10)
	orDefault(&o.MaxRecord, 1<<20)
	orDefault(&o.MaxResult, 4<<10)
	orDefault(&o.MaxTriggers, 1000)
	orDefault(&o.MaxInputs, 1000)
	orDefault(&o.MaxRecords, 100_000)
	orDefault(&o.Prefix, "bailiff")
	orDefault(&o.Shards, 1)
	if o.Backoff == nil {
		o.Backoff = func(attempt int) time.Duration {
			return min(10*time.Minute, 5*time.Second<<min(attempt-1, 10))
		}
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	bad := func(format string, a ...any) error {
		return &Error{Kind: Config, Op: "options", Text: fmt.Sprintf(format, a...)}
	}
	if o.Lease < 100*time.Millisecond {
		return bad("a lease of %v is shorter than 100 ms", o.Lease)
	}
	if o.Shards < 1 || o.Shards > maxShards {
		return bad("%d shards; 1 to %d are possible", o.Shards, maxShards)
	}
	for what, n := range map[string]int{
		"cap": o.Cap, "attempts": o.Attempts, "lost workers": o.MostLost, "payload": o.MaxPayload, "record": o.MaxRecord,
		"result": o.MaxResult, "triggers": o.MaxTriggers, "inputs": o.MaxInputs, "records": o.MaxRecords,
	} {
		if n < 1 {
			return bad("the limit of %s is %d; it must be positive", what, n)
		}
	}
	for what, d := range map[string]time.Duration{"outage": o.Outage, "dedupe": o.Dedupe, "done": o.KeepDone, "dead": o.KeepDead} {
		if d < time.Millisecond {
			return bad("the time for %s is %v; it must be positive", what, d)
		}
	}
	if len(o.Prefix) > 64 || strings.ContainsFunc(o.Prefix, func(r rune) bool {
		return r > 126 || r < 33 || strings.ContainsRune(`{}*?[]\|"'`, r)
	}) {
		return bad("prefix %q: at most 64 visible ASCII characters and none of {}*?[]\\|\"'", o.Prefix)
	}
	return nil
}

// Queue is a queue on a Redis. Its methods may be called at the same time.
type Queue struct {
	opt     Options
	client  redis.UniversalClient
	scripts script.Set
	keys    []map[string]string // by shard, then by the legends' names
	close   func() error
}

// New makes a queue on a client and claims its prefix. The queue does not
// close the client. Errors: Config, Foreign, Newer, Unavailable, Full.
func New(ctx context.Context, client redis.UniversalClient, o Options) (*Queue, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	set, err := script.Load(o.audit)
	if err != nil {
		return nil, err
	}
	var limit any = o.Cap
	if o.Attach {
		limit = ""
		n, err := client.HGet(ctx, o.Prefix+":{q0}:meta", "shards").Int()
		if err == nil && n > 0 && n <= maxShards {
			o.Shards = n
		}
	}
	q := &Queue{opt: o, client: client, scripts: set, close: func() error { return nil }}
	for n := range o.Shards {
		fixed := map[string]string{}
		for _, k := range set["open"].Keys {
			fixed[k] = fmt.Sprintf("%s:{q%d}:%s", o.Prefix, n, k)
		}
		q.keys = append(q.keys, fixed)
	}
	if err := q.recent(ctx); err != nil {
		return nil, err
	}
	for n := range o.Shards {
		if _, err := q.call(ctx, "open", n, "", "open", nil, version, o.Shards, limit); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Options gives the options with their defaults filled in.
func (q *Queue) Options() Options { return q.opt }

// Close ends what Open or Embedded began.
func (q *Queue) Close() error { return q.close() }

// call runs a script on a shard. extra names the keys in angle brackets.
func (q *Queue) call(ctx context.Context, op string, shard int, task ID, name string, extra []string, args ...any) ([]any, error) {
	s := q.scripts[name]
	keys := make([]string, 0, len(s.Keys)+len(extra))
	for _, k := range s.Keys {
		if k[0] == '<' {
			break
		}
		keys = append(keys, q.keys[shard][k])
	}
	reply, err := s.Run(ctx, q.client, append(keys, extra...), args...)
	if err != nil {
		return nil, wrap(op, task, err)
	}
	if len(reply) == 0 {
		return nil, &Error{Kind: Corrupt, Op: op, Task: task, Text: "an empty answer"}
	}
	if text(reply[0]) != "ok" {
		return reply, refusal(op, task, reply)
	}
	return reply[1:], nil
}

// key gives a shard's key that is not fixed.
func (q *Queue) key(shard int, kind, name string) string {
	return fmt.Sprintf("%s:{q%d}:%s:%s", q.opt.Prefix, shard, kind, name)
}

// shard gives a tenant's shard.
func (q *Queue) shard(t Tenant) int {
	if q.opt.Shards == 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(t))
	return int(h.Sum64() % uint64(q.opt.Shards))
}

func (q *Queue) entropy(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(q.opt.Rand, b); err != nil {
		return nil, &Error{Kind: Config, Op: "random", Text: "no randomness", Err: err}
	}
	return b, nil
}

func (q *Queue) nonce() (string, error) {
	b, err := q.entropy(8)
	return hex.EncodeToString(b), err
}

// jitter draws from the upper half of d.
func (q *Queue) jitter(d time.Duration) time.Duration {
	b, err := q.entropy(2)
	if err != nil || d <= 0 {
		return d
	}
	return d/2 + time.Duration(float64(d/2)*float64(int(b[0])<<8|int(b[1]))/65535)
}

// now asks Redis for the time.
func (q *Queue) now(ctx context.Context) (time.Time, error) {
	t, err := q.client.Time(ctx).Result()
	return t, wrap("time", "", err)
}

// millis rounds up, so that a short time is not none.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// text and number read a script's answer.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}
