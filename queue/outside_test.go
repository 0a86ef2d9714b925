package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bailiff-bot/bailiff/queue/redistest"
)

// TestClockJumps: Redis' clock moves a year forward and back; leases end or are
// cut, the fence holds, and a delivery is forgotten only after its time.
func TestClockJumps(t *testing.T) {
	ctx := context.Background()
	var now atomic.Int64
	now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	jump := func(d time.Duration) { now.Add(d.Milliseconds()) }
	q := must[*Queue](t)(Embedded(ctx, Options{audit: true}, func() time.Time { return time.UnixMilli(now.Load()) }))
	defer q.Close()
	id := admit(t, q, Admission{Tenant: "i", Once: "g", Tasks: []Spec{{Group: "r", Serial: "s"}}})[0].ID
	old := lease(t, q, 1)[0]
	must[int64](t)(old.Append(ctx, Record{Kind: "a"}))
	sweep(t, q)
	jump(365 * 24 * time.Hour)
	// nobody swept for so long that Redis may have been away: half a lease more
	if s := sweep(t, q); s.Expired != 0 {
		t.Errorf("%+v", s)
	}
	jump(3 * time.Second)
	sweep(t, q)
	jump(3 * time.Second)
	if s := sweep(t, q); s.Expired != 1 {
		t.Errorf("%+v", s)
	}
	_, err := old.Append(ctx, Record{Kind: "late"})
	wantKind(t, err, Lost)
	l := lease(t, q, 1)[0]
	if a := admit(t, q, Admission{Tenant: "i", Once: "g", Tasks: []Spec{{}}}); a[0].How != Created {
		t.Errorf("the delivery is remembered after a year: %+v", a)
	}
	jump(-300 * 24 * time.Hour)
	sweep(t, q)
	if states := must[[]error](t)(q.Renew(ctx, l)); states[0] != nil {
		t.Error(states[0])
	}
	must[int64](t)(l.Append(ctx, Record{Kind: "b"}))
	// a worker that died before the jump must not hold its task for 300 days
	for range 4 {
		jump(4 * time.Second)
		sweep(t, q)
	}
	if got := get(t, q, id); got.State != Ready {
		t.Errorf("%+v", got)
	}
}

// TestOutage: Redis is away while handlers finish, for longer than their lease.
// Nothing that was finished runs again.
func TestOutage(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	q := opened(t, s.URL(), Options{Lease: 3 * time.Second, Cap: 10})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var runs atomic.Int64
	away := make(chan struct{})
	running := make(chan struct{}, 10)
	over := make(chan error, 1)
	w := Worker{Queue: q, Log: quiet(), Concurrency: 10, Handler: HandlerFunc(func(context.Context, *Lease) Outcome {
		runs.Add(1)
		running <- struct{}{}
		<-away
		return Done("")
	})}
	var ids []ID
	for range 10 {
		ids = append(ids, admit(t, q, one("i", Spec{}))[0].ID)
	}
	go func() { over <- w.Run(ctx) }()
	for range 10 {
		<-running
	}
	s.Kill()
	close(away) // all of them end now, and cannot say so
	redistest.Until(t, 10*time.Second, "the leases are over", func() func() bool {
		end := time.Now().Add(4 * time.Second)
		return func() bool { return time.Now().After(end) }
	}())
	s.Up()
	redistest.Until(t, 20*time.Second, "all ends are written", func() bool {
		st, err := q.Stats(context.Background())
		return err == nil && st.Count[Ended] == 10
	})
	stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if got := get(t, q, id); got.Token > 10 || got.Lost != 0 {
			t.Errorf("%+v", got)
		}
	}
	if n := runs.Load(); n != 10 {
		t.Errorf("%d runs of 10 tasks", n)
	}
}

// TestShutdown releases what runs, without using an attempt.
func TestShutdown(t *testing.T) {
	each(t, Options{}, func(t *testing.T, q *Queue) {
		ctx, stop := context.WithCancel(context.Background())
		id := admit(t, q, one("i", Spec{}))[0].ID
		begun, cause := make(chan struct{}), make(chan error, 1)
		over := make(chan error, 1)
		w := Worker{Queue: q, Log: quiet(), Handler: HandlerFunc(func(ctx context.Context, l *Lease) Outcome {
			close(begun)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return Retry(ctx.Err())
		})}
		go func() { over <- w.Run(ctx) }()
		<-begun
		stop()
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, Shutdown) {
			t.Errorf("cause %v", err)
		}
		if got := get(t, q, id); got.State != Ready || got.Attempt != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestFailover: the master dies and its replica takes over (G11).
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	url, master, _ := redistest.Sentinel(t)
	q := opened(t, url, Options{})
	id := admit(t, q, one("i", Spec{Group: "r"}))[0].ID
	mc := master.Client()
	defer mc.Close()
	redistest.Until(t, 10*time.Second, "the replica has it", func() bool {
		q.client.HSet(ctx, "bailiff:{q0}:probe", "a", 1) // WAIT counts what this connection wrote, so ask the offsets
		info := mc.Info(ctx, "replication").Val()
		return len(info) > 0 && mc.Do(ctx, "WAIT", 1, 100).Val() == int64(1)
	})
	master.Kill()
	redistest.Until(t, 30*time.Second, "the replica serves", func() bool {
		_, err := q.Admit(ctx, Admission{Tenant: "i", Once: "after", Tasks: []Spec{{Group: "r"}}})
		return err == nil
	})
	if got := get(t, q, id); got.State != Ready {
		t.Errorf("%+v", got)
	}
	l := lease(t, q, 1)[0]
	if s := end(t, l, Done("")); l.Task.ID != id || s != Ended {
		t.Errorf("%+v %s", l.Task, s)
	}
}

// TestLeastPrivilege: the user that docs/queue.md proposes suffices.
func TestLeastPrivilege(t *testing.T) {
	ctx := context.Background()
	s := redistest.Start(t)
	c := s.Client()
	defer c.Close()
	acl := []any{"ACL", "SETUSER", "bailiff", "on", ">s3cret", "~bailiff:*", "&bailiff:*", "+@all", "-@dangerous", "+info", "+config|get"}
	if err := c.Do(ctx, acl...).Err(); err != nil {
		t.Fatal(err)
	}
	q := opened(t, "redis://bailiff:s3cret@"+s.Addr, Options{KeepDone: time.Millisecond})
	id := admit(t, q, one("i", Spec{Key: "k"}))[0].ID
	l := lease(t, q, 1)[0]
	must[int64](t)(l.Append(ctx, Record{Kind: "k"}))
	if err := q.client.BLPop(ctx, time.Second, q.keys[0]["wake"]).Err(); err != nil {
		t.Error(err)
	}
	end(t, l, Done(""))
	for range q.Follow(ctx, id, 0) {
	}
	due(t, q, "done", id)
	sweep(t, q)
	must[Stats](t)(q.Stats(ctx))
	must[[]Warning](t)(q.Check(ctx))
	_, err := Open(ctx, "redis://bailiff:wrong@"+s.Addr, Options{})
	wantKind(t, err, Config)
	// without the right to notify, journals are still written and read
	c.Do(ctx, "ACL", "SETUSER", "bailiff", "resetchannels")
	q = opened(t, "redis://bailiff:s3cret@"+s.Addr, Options{})
	admit(t, q, one("i", Spec{}))
	must[int64](t)(lease(t, q, 1)[0].Append(ctx, Record{Kind: "k"}))
	c.Do(ctx, "ACL", "SETUSER", "bailiff", "-zadd")
	_, err = q.Admit(ctx, one("i", Spec{}))
	wantKind(t, err, Config)
}

// TestLostAnswers: the answer to each call is lost after the call took effect,
// the client repeats it, and it has happened once.
func TestLostAnswers(t *testing.T) {
	ctx := context.Background()
	s := redistest.Start(t)
	proxy := redistest.NewProxy(t, s.Addr)
	q := opened(t, "redis://"+proxy.Addr, Options{})
	lose := func() {
		t.Helper()
		if err := q.client.Ping(ctx).Err(); err != nil { // there is a connection to break
			t.Fatal(err)
		}
		proxy.Swallow()
	}
	lose()
	a := admit(t, q, one("i", Spec{Group: "r"}))
	if a[0].How != Created {
		t.Errorf("%+v", a)
	}
	if n := must[Stats](t)(q.Stats(ctx)).Count[Ready]; n != 1 {
		t.Errorf("%d tasks", n)
	}
	l := lease(t, q, 1)[0]
	for range 2 {
		lose()
		must[int64](t)(l.Append(ctx, Record{Kind: "a"}, Record{Kind: "b"}))
	}
	if j := must[[]Record](t)(q.Journal(ctx, a[0].ID, 0, 0)); len(j) != 4 {
		t.Errorf("%d records, want 4", len(j))
	}
	lose()
	must[Settlement](t)(q.Input(ctx, a[0].ID, "k", nil))
	lose()
	if err := l.Settle(ctx, "k", Applied, ""); err != nil {
		t.Error(err)
	}
	lose()
	if st := end(t, l, Retry(errors.New("boom"))); st != Scheduled {
		t.Errorf("state %s", st)
	}
	if got := get(t, q, a[0].ID); got.Attempt != 1 || got.Inputs != 1 {
		t.Errorf("%+v", got)
	}
}

// TestTLS: a private authority and a client's certificate.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key))
	keyDER := must[[]byte](t)(x509.MarshalECPrivateKey(key))
	cert, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	redistest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", keyFile, "--tls-ca-cert-file", cert)
	url := "rediss://127.0.0.1:" + strconv.Itoa(port)
	q := opened(t, url+"?ca="+cert+"&cert="+cert+"&key="+keyFile, Options{})
	admit(t, q, one("i", Spec{}))
	for _, params := range []string{"", "?ca=" + cert} { // an unknown authority; no certificate of one's own
		_, err := Open(context.Background(), url+params, Options{})
		wantKind(t, err, Unavailable)
	}
	_, err := Open(context.Background(), "redis://h?ca="+cert, Options{})
	wantKind(t, err, Config)
}
