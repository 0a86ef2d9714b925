package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Masters calls f for every server that takes writes, at the same time.
func Masters(ctx context.Context, client redis.UniversalClient, f func(ctx context.Context, c *redis.Client) error) error {
	switch c := client.(type) {
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

// TooOld says that a server is older than Redis 6.2, which lacks commands that the
// queue uses; "" if it is not, or does not tell.
func TooOld(ctx context.Context, c *redis.Client) (string, error) {
	m, err := info(ctx, c, "server")
	if err != nil {
		return "", err
	}
	f := strings.SplitN(m["redis_version"]+".0.0", ".", 3)
	major, err1 := strconv.Atoi(f[0])
	minor, err2 := strconv.Atoi(f[1])
	if err1 == nil && err2 == nil && (major < 6 || major == 6 && minor < 2) {
		return fmt.Sprintf("Redis is %s; 6.2 or later is needed", m["redis_version"]), nil
	}
	return "", nil
}

// Check looks how a server is set, and says in words what can cost acknowledged
// work. What it does not tell is said too, beside the error.
func Check(ctx context.Context, c *redis.Client) ([]string, error) {
	var out []string
	persistence, refused := info(ctx, c, "persistence")
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
	return out, refused
}
