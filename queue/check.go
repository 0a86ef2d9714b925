package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Warning is a setting of Redis that can cost tasks.
type Warning struct {
	Server string `json:"server,omitempty"`
	Text   string `json:"text"` // what is wrong, what it costs, what to set
}

// masters calls f for every server that takes writes.
func (q *Queue) masters(ctx context.Context, f func(ctx context.Context, c *redis.Client) error) error {
	switch c := q.client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, c)
	}
	return nil
}

// info reads a section of INFO into a map.
func info(ctx context.Context, c *redis.Client, section string) (map[string]string, error) {
	s, err := c.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[k] = v
		}
	}
	return out, nil
}

// recent refuses a Redis older than 6.2, which lacks commands that are used.
// A server that does not tell its version (the embedded one) passes.
func (q *Queue) recent(ctx context.Context) error {
	err := q.masters(ctx, func(ctx context.Context, c *redis.Client) error {
		m, err := info(ctx, c, "server")
		if err != nil {
			if e := wrap("open", "", err); !isKind(e, Corrupt) {
				return e
			}
			return nil
		}
		f := strings.SplitN(m["redis_version"]+".0.0", ".", 3)
		major, err1 := strconv.Atoi(f[0])
		minor, err2 := strconv.Atoi(f[1])
		if err1 == nil && err2 == nil && (major < 6 || major == 6 && minor < 2) {
			return &Error{Kind: Config, Op: "open", Text: fmt.Sprintf("Redis is %s; 6.2 or later is needed", m["redis_version"])}
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
	err := q.masters(ctx, func(ctx context.Context, c *redis.Client) error {
		ws, err := check(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		for _, w := range ws {
			out = append(out, Warning{Server: c.Options().Addr, Text: w})
		}
		return err
	})
	slices.SortFunc(out, func(a, b Warning) int { return strings.Compare(a.Server+a.Text, b.Server+b.Text) })
	return out, wrap("check", "", err)
}

func check(ctx context.Context, c *redis.Client) ([]string, error) {
	var out []string
	persistence, err := info(ctx, c, "persistence")
	if err != nil {
		if e := wrap("check", "", err); isKind(e, Unavailable) {
			return nil, e
		}
	}
	switch persistence["aof_enabled"] {
	case "1":
		fsync, err := c.ConfigGet(ctx, "appendfsync").Result()
		switch v := fsync["appendfsync"]; {
		case err != nil || v == "":
			out = append(out, "Redis does not tell its appendfsync. With 'everysec' a power cut loses the last seconds of acknowledged work; set 'appendfsync always' if it can be set.")
		case v != "always":
			out = append(out, fmt.Sprintf("appendfsync is '%s': a power cut loses the last seconds of acknowledged work. Set 'appendfsync always' (about 0.2 ms more a write).", v))
		}
		if persistence["aof_last_write_status"] == "err" {
			out = append(out, "Redis could not write its append-only file; look at its disk.")
		}
	case "0":
		out = append(out, "appendonly is off: a restart of Redis loses all work since the last snapshot. Set 'appendonly yes' and 'appendfsync always'.")
	default:
		out = append(out, "Redis does not tell how it persists. Without an append-only file a restart loses acknowledged work.")
	}
	memory, _ := info(ctx, c, "memory")
	switch policy := memory["maxmemory_policy"]; {
	case policy == "":
		out = append(out, "Redis does not tell its eviction policy. Any but 'noeviction' deletes tasks when memory is short.")
	case policy != "noeviction":
		out = append(out, fmt.Sprintf("maxmemory-policy is '%s': when memory is short Redis deletes tasks. Set 'maxmemory-policy noeviction'.", policy))
	}
	return out, nil
}
