package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/queue"
	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// TestQueueCommand looks into a queue and gives it orders, as an operator does.
func TestQueueCommand(t *testing.T) {
	ctx := context.Background()
	url := redistest.Start(t).URL() + "?prefix=ops"
	bailiff := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(&program{ctx: ctx, stdout: &out, stderr: &errs}, append([]string{"queue", "--redis", url}, args...))
		return code, out.String(), errs.String()
	}
	ok := func(want string, args ...string) string {
		t.Helper()
		code, out, errs := bailiff(args...)
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: exit %d\n%s%s\nwant %q", args, code, out, errs, want)
		}
		return out
	}
	if code, _, errs := bailiff("list", "--state", "late"); code != 1 || !strings.Contains(errs, `"late" is no state; --state takes scheduled, ready`) {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if code, _, errs := bailiff("stats"); code != 1 || !strings.Contains(errs, "no queue under this prefix") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	q, err := queue.Open(ctx, url, queue.Options{Cap: 3, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var ids []string
	for _, kind := range []string{"consolidate", "flaky\x1b[31m"} {
		a, err := q.Admit(ctx, queue.Admission{Tenant: "17", Tasks: []queue.Spec{{Group: "42", Serial: "main", Kind: kind}}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(a[0].ID))
	}
	ok("ready      2", "stats")
	ok("warning", "stats")
	if out := ok(ids[0], "list", "--group", "42"); strings.Contains(out, "\x1b") {
		t.Errorf("raw escape in %q", out)
	}
	ok("more: --after "+ids[1], "list", "--limit", "1")
	ok("17: paused", "pause", "17")
	ok("paused: 17", "stats")
	ok("17: goes on", "pause", "17", "--resume")
	ok("everybody: paused", "pause", "--all")
	ok("everybody: goes on", "pause", "--all", "--resume")

	var l *queue.Lease
	for shard := range 2 {
		ls, err := q.Lease(ctx, shard, "w", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(ls) > 0 {
			l = ls[0]
		}
	}
	if _, err := l.Append(ctx, queue.Record{Kind: "start", Data: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Input(ctx, l.Task.ID, "approve", []byte("yes")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.End(ctx, queue.Fail(errors.New("boom"))); err != nil {
		t.Fatal(err)
	}
	ok("dead", "show", ids[0])
	ok("boom", "list", "--state", "dead")
	var shown struct {
		State   string
		Journal []struct{ Data struct{ A int } }
		Ledger  []struct{ Payload string }
	}
	if err := json.Unmarshal([]byte(ok("{", "--json", "show", ids[0])), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.State != "dead" || shown.Journal[0].Data.A != 1 || shown.Ledger[0].Payload != "yes" {
		t.Errorf("%+v", shown)
	}
	ok(ids[0]+" ready", "retry", ids[0])
	ok(ids[1]+" cancelled", "cancel", ids[1], "--reason", "no")
	code, out, errs := bailiff("--json", "retry", ids[1], "t_odd")
	if code != 1 || strings.Count(out, `"error"`) != 2 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, _ := bailiff("pause"); code != 1 {
		t.Error("pausing nobody succeeds")
	}
	// looking changed no setting
	if q2, err := queue.Open(ctx, url, queue.Options{Attach: true}); err != nil || q2.Options().Shards != 2 {
		t.Errorf("%v %v", q2, err)
	}
}
