package fakegithub

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Options say how a Server is made. The zero value serves from a temporary folder on a
// free port.
type Options struct {
	// Dir holds the repositories. Empty: a temporary folder, removed by Close.
	Dir string
	// Addr to listen on, HOST:PORT; only loopback hosts. Empty: a free port of 127.0.0.1.
	Addr string
	// Clock tells the time. Nil: the machine's.
	Clock func() time.Time
	// Seed makes GUIDs and tokens come out the same. Zero is a seed like any other.
	Seed uint64
	// LazyMergeability makes the first look at a pull request's mergeability after a
	// change answer "unknown", as GitHub does while it computes.
	LazyMergeability bool
	// HookTimeout is how long a webhook's receiver has. Zero: GitHub's 10 seconds.
	HookTimeout time.Duration
}

// Server is a simulated GitHub. Close it.
type Server struct {
	options Options
	url     string // http://127.0.0.1:PORT
	dir     string
	clock   func() time.Time
	http    *http.Server
	routes  *table
	pages   http.Handler
	schema  *schema

	// ctx is of everything that outlives a request: git, deliveries.
	ctx     context.Context //nolint:containedctx // ends what Close waits for
	stop    context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex // guards what follows
	state
	hooks    *hooks
	faults   []*Fault
	requests []*Request
	random   *rand.ChaCha8
}

// state is what the simulated GitHub knows.
type state struct {
	lastID        int64
	accounts      map[string]*account // by login in lower case
	apps          map[int64]*app
	installations map[int64]*installation
	tokens        map[string]*token
	repositories  map[int64]*repository
	names         map[string]int64 // "owner/name" in lower case, old names too
	manifests     map[string]manifestCode
}

// New starts a server.
func New(options Options) (*Server, error) {
	if options.Addr == "" {
		options.Addr = "127.0.0.1:0"
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.HookTimeout == 0 {
		options.HookTimeout = 10 * time.Second
	}
	if err := loopback(options.Addr); err != nil {
		return nil, err
	}
	sdl, err := loadSchema()
	if err != nil {
		return nil, err
	}
	dir := options.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "fakegithub-"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Addr)
	if err != nil {
		stop()
		return nil, err
	}
	s := &Server{
		options: options,
		url:     "http://" + listener.Addr().String(),
		dir:     dir,
		clock:   options.Clock,
		routes:  newTable(),
		schema:  sdl,
		random:  newRandom(options.Seed),
		state: state{
			lastID:        1000,
			accounts:      map[string]*account{},
			apps:          map[int64]*app{},
			installations: map[int64]*installation{},
			tokens:        map[string]*token{},
			repositories:  map[int64]*repository{},
			names:         map[string]int64{},
			manifests:     map[string]manifestCode{},
		},
	}
	s.pages = s.newPages()
	s.ctx, s.stop = ctx, stop
	s.hooks = newHooks(s)
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // aborted answers are faults of ours
	}
	s.running.Go(func() { s.hooks.run(s.ctx) })
	s.running.Go(func() {
		// It ends when Close shuts it down, and says only that.
		_ = s.http.Serve(listener)
	})
	return s, nil
}

func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: want HOST:PORT, such as 127.0.0.1:8100", addr)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %q: the simulated GitHub serves on loopback only, such as 127.0.0.1:8100", addr)
}

// Close ends the server, its deliveries and its git processes.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repositories {
		err = errors.Join(err, r.git.Close())
	}
	if s.options.Dir == "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// URL is where the pages and git are, without a slash at the end.
func (s *Server) URL() string { return s.url }

// APIURL is where REST is, with the slash at the end that clients want.
func (s *Server) APIURL() string { return s.url + "/api/v3/" }

// GraphQLURL is where GraphQL is.
func (s *Server) GraphQLURL() string { return s.url + "/api/graphql" }

func (s *Server) now() time.Time { return s.clock().UTC().Truncate(time.Second) }

// nextID gives a number that nothing else has.
func (s *Server) nextID() int64 {
	s.lastID++
	return s.lastID
}

func newRandom(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// word gives n random characters for a token, GUID or code.
func (s *Server) word(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[s.random.Uint64()%uint64(len(alphabet))]
	}
	return string(b)
}

const (
	hexDigits    = "0123456789abcdef"
	alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func (s *Server) guid() string {
	w := s.word(30, hexDigits)
	return w[:8] + "-" + w[8:12] + "-4" + w[12:15] + "-a" + w[15:18] + "-" + w[18:30]
}
