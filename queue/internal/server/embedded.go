package server

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Embedded begins a Redis in this process's memory, on the loopback. now is its
// clock; nil means the machine's. The function ends it and its client.
func Embedded(now func() time.Time) (redis.UniversalClient, func() error, error) {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, nil, fmt.Errorf("no port on the loopback: %w", err)
	}
	m.ClockTTL(true)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true, MaintNotificationsConfig: quiet()})
	if now != nil {
		m.SetTime(now())
		client.AddHook(clockHook{func() { m.SetTime(now()) }})
	}
	return client, func() error {
		err := client.Close()
		m.Close()
		return err
	}, nil
}

// clockHook sets the embedded server's clock before each command.
type clockHook struct{ set func() }

func (h clockHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h clockHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		h.set()
		return next(ctx, c)
	}
}

func (h clockHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, c []redis.Cmder) error {
		h.set()
		return next(ctx, c)
	}
}
