package queue

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// TestMemory measures what tasks cost in Redis: QUEUE_MEMORY=100000. The figures
// stand in docs/queue.md.
func TestMemory(t *testing.T) {
	n := 2000
	if s := os.Getenv("QUEUE_MEMORY"); s != "" {
		fmt.Sscan(s, &n)
	}
	ctx := context.Background()
	s := redistest.Start(t)
	q := must[*Queue](t)(Open(ctx, s.URL(), Options{Cap: 1 << 30}))
	defer q.Close()
	c := s.Client()
	defer c.Close()
	used := func() int64 {
		var b int64
		for line := range strings.Lines(c.Info(ctx, "memory").Val()) {
			fmt.Sscanf(line, "used_memory:%d", &b)
		}
		return b
	}
	before := used()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				_, err := q.Admit(ctx, Admission{
					Tenant: Tenant(fmt.Sprint(10_000_000 + i%200)), Once: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", i),
					Tasks: []Spec{{Group: Group(fmt.Sprint(100_000_000 + i%2000)), Serial: fmt.Sprint("main", i%3), Kind: "consolidate",
						Key: fmt.Sprint("consolidate/", i), Payload: make([]byte, 100)}},
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	waiting := used() - before
	for left := n; left > 0; {
		ls := must[[]*Lease](t)(q.Lease(ctx, 0, "worker-1/4711", 100))
		if len(ls) == 0 {
			t.Fatalf("%d tasks cannot be leased", left)
		}
		for _, l := range ls {
			// what a small run leaves: ten records of 100 bytes
			var rs []Record
			for range 10 {
				rs = append(rs, Record{Kind: "row", Data: make([]byte, 100)})
			}
			must[int64](t)(l.Append(ctx, rs...))
			end(t, l, Done(`{"conclusion":"neutral"}`))
		}
		left -= len(ls)
	}
	finished := used() - before
	t.Logf("%d tasks with 100 bytes of payload: %d bytes each while they wait; %d each when done, with a journal of ten records of 100 bytes and the delivery's name",
		n, waiting/int64(n), finished/int64(n))
	if waiting/int64(n) > 4096 {
		t.Errorf("a waiting task costs %d bytes", waiting/int64(n))
	}
}
