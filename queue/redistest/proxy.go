package redistest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between clients and a server and breaks connections on demand.
type Proxy struct {
	Addr string

	target string
	l      net.Listener
	wg     sync.WaitGroup
	mu     sync.Mutex
	conns  map[*pipe]bool
}

type pipe struct {
	client, server net.Conn
	swallow        atomic.Bool
}

func (p *pipe) close() {
	p.client.Close()
	p.server.Close()
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, l: l, conns: map[*pipe]bool{}}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

func (p *Proxy) serve() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		c := &pipe{client: client, server: server}
		p.mu.Lock()
		p.conns[c] = true
		p.mu.Unlock()
		p.wg.Go(func() {
			io.Copy(server, client)
			c.close()
		})
		p.wg.Go(func() {
			p.replies(c)
			c.close()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		})
	}
}

// replies passes the server's answers on until one is to be swallowed.
func (p *Proxy) replies(c *pipe) {
	buf := make([]byte, 32<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil || c.swallow.Load() {
			return
		}
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// Swallow makes every connection lose its next answer and then end: what was
// asked has taken effect, and nobody hears of it.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.swallow.Store(true)
	}
}
