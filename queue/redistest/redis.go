// Package redistest starts real Redis servers for tests: one, a cluster of
// three, or a master and its replica under Sentinels. All listen on free ports
// of the loopback and end with the test. Where redis-server is missing, the
// test is skipped and says so.
package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is one redis-server process.
type Server struct {
	Addr string
	Port int

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// Start starts a server and waits until it answers. args are settings as on
// redis-server's command line ("--appendonly", "yes").
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), Port: freePort(t), args: args}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	s.Up()
	t.Cleanup(s.Kill)
	return s
}

// Up starts the process, again after Kill, on the same port and data.
func (s *Server) Up() {
	s.t.Helper()
	s.launch("redis-server", append([]string{
		"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--daemonize", "no",
	}, s.args...)...)
}

func (s *Server) launch(binary string, args ...string) {
	s.t.Helper()
	path, err := exec.LookPath(binary)
	if err != nil {
		s.t.Skipf("%s is not installed (Debian: redis-server, redis-sentinel): this test needs a real Redis", binary)
	}
	s.out = &bytes.Buffer{}
	s.cmd = exec.Command(path, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.Dir = s.dir
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start %s: %v", binary, err)
	}
	c := s.Client()
	defer c.Close()
	Until(s.t, 20*time.Second, "redis answers", func() bool { return c.Ping(context.Background()).Err() == nil })
}

// Kill ends the process as a power cut would, but for the disk's cache.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal redis: %v", err)
	}
}

// Client gives a client of this server alone.
func (s *Server) Client() *redis.Client { return Client(s.Addr) }

// Client gives a client of one address.
func Client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// URL of this server.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Cluster starts three masters without replicas and gives the cluster's URL.
func Cluster(t testing.TB) (string, []*Server) {
	t.Helper()
	const slots, nodes = 16384, 3
	ctx := context.Background()
	var all []*Server
	for range nodes {
		all = append(all, Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-port", strconv.Itoa(freePort(t)), "--cluster-node-timeout", "2000"))
	}
	first := all[0].Client()
	defer first.Close()
	for i, s := range all {
		c := s.Client()
		defer c.Close()
		if err := c.ClusterAddSlotsRange(ctx, i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			t.Fatalf("give slots: %v", err)
		}
		if i > 0 {
			bus := all[i].args[len(all[i].args)-3]
			if err := first.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", s.Port, bus).Err(); err != nil {
				t.Fatalf("meet: %v", err)
			}
		}
	}
	for _, s := range all {
		c := s.Client()
		defer c.Close()
		Until(t, 30*time.Second, "the cluster is whole", func() bool {
			info, err := c.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	url := "redis+cluster://" + all[0].Addr
	for i, s := range all[1:] {
		url += string("?&"[min(i, 1)]) + "addr=" + s.Addr
	}
	return url, all
}

// Sentinel starts a master, a replica and three Sentinels, and gives the URL,
// the master and the replica.
func Sentinel(t testing.TB) (string, *Server, *Server) {
	t.Helper()
	ctx := context.Background()
	master := Start(t)
	replica := Start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(master.Port))
	url := "redis+sentinel://"
	for i := range 3 {
		s := &Server{t: t, dir: t.TempDir(), Port: freePort(t)}
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
		conf := filepath.Join(s.dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 %d 2\n"+
			"sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", s.Port, master.Port)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.launch("redis-server", conf, "--sentinel")
		t.Cleanup(s.Kill)
		switch i {
		case 0:
			url += s.Addr + "?master_name=mymaster"
		default:
			url += "&addr=" + s.Addr
		}
		c := s.Client()
		defer c.Close()
		defer Until(t, 30*time.Second, "sentinel knows replica and peers", func() bool {
			m, err := redis.NewSentinelClient(c.Options()).Master(ctx, "mymaster").Result()
			return err == nil && m["num-slaves"] == "1" && m["num-other-sentinels"] == "2"
		})
	}
	return url, master, replica
}

// Until waits for a condition of another process.
func Until(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
