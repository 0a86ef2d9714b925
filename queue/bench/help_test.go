package bench

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// cpuTime is what the server's processor has done so far: unlike the wall
// clock it does not mind what else the machine does.
func cpuTime(t *testing.T, s *redistest.Server) time.Duration {
	t.Helper()
	c := s.Client()
	defer c.Close()
	info, err := c.Info(context.Background(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, k := range []string{"used_cpu_user:", "used_cpu_sys:"} {
		for line := range linesWith(info, k) {
			v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(line, k)), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return time.Duration(sum * float64(time.Second))
}

func linesWith(s, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(s) {
			if strings.HasPrefix(line, prefix) && !yield(line) {
				return
			}
		}
	}
}
