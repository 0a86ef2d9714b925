package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bailiff-bot/bailiff/queue/internal/server"
)

// Open connects to the Redis that a URL names and claims its prefix there:
//
//	redis://USER:PASSWORD@HOST:PORT/DB                      one server
//	redis+sentinel://HOST:PORT?addr=HOST:PORT&master_name=NAME   Sentinels; username= and password= are the server's, those before @ the Sentinels'
//	redis+cluster://USER:PASSWORD@HOST:PORT?addr=HOST:PORT  a cluster
//	unix:///path                                            a socket
//
// rediss:// and rediss+... use TLS. Beside go-redis' own parameters there are
// prefix= and shards=, which override those of Options, and ca=FILE, cert=FILE
// and key=FILE for a private authority and a client's certificate. Errors:
// Config, Foreign, Newer, Unavailable. The error never shows the password.
func Open(ctx context.Context, rawURL string, o Options) (*Queue, error) {
	client, params, err := server.Dial(rawURL)
	if err != nil {
		return nil, &Error{Kind: Config, Op: "open", Text: err.Error()}
	}
	if params.Prefix != "" {
		o.Prefix = params.Prefix
	}
	if params.Shards != 0 {
		o.Shards = params.Shards
	}
	q, err := New(ctx, client, o)
	if err != nil {
		client.Close()
		return nil, err
	}
	q.close = client.Close
	return q, nil
}

// Embedded makes a queue on a Redis in this process's memory: for a try and
// for tests. Nothing survives the process. now is its clock; nil means the
// machine's. Close ends it.
func Embedded(ctx context.Context, o Options, now func() time.Time) (*Queue, error) {
	client, end, err := server.Embedded(now)
	if err != nil {
		return nil, &Error{Kind: Config, Op: "embedded", Text: "Redis cannot be embedded", Err: err}
	}
	q, err := New(ctx, client, o)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	q.close = end
	return q, nil
}

// Warning is a setting of Redis that can cost tasks.
type Warning struct {
	Server string `json:"server,omitempty"`
	Text   string `json:"text"` // what is wrong, what it costs, what to set
}

// recent refuses a Redis that lacks commands that are used. A server that does
// not tell its version (the embedded one) passes.
func (q *Queue) recent(ctx context.Context) error {
	err := server.Masters(ctx, q.client, func(ctx context.Context, c *redis.Client) error {
		text, err := server.TooOld(ctx, c)
		if e := wrap("open", "", err); e != nil && !isKind(e, Corrupt) {
			return e
		}
		if text != "" {
			return &Error{Kind: Config, Op: "open", Text: text}
		}
		return nil
	})
	return wrap("open", "", err)
}

// Check looks whether Redis is set so that nothing acknowledged can be lost. A
// server that does not tell is a warning, not an error.
func (q *Queue) Check(ctx context.Context) ([]Warning, error) {
	var mu sync.Mutex
	var out []Warning
	err := server.Masters(ctx, q.client, func(ctx context.Context, c *redis.Client) error {
		texts, err := server.Check(ctx, c)
		if e := wrap("check", "", err); isKind(e, Unavailable) {
			return e
		}
		mu.Lock()
		defer mu.Unlock()
		for _, text := range texts {
			out = append(out, Warning{Server: c.Options().Addr, Text: text})
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Warning) int { return strings.Compare(a.Server+a.Text, b.Server+b.Text) })
	return out, wrap("check", "", err)
}
