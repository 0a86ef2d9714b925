package fakegithub

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// FaultKind is what goes wrong.
type FaultKind int

const (
	// BadGateway answers 502 and does nothing.
	BadGateway FaultKind = iota + 1
	// Slow answers, truly, once Fault.Until is closed, or when the client leaves.
	Slow
	// SecondaryLimit answers 403 with Retry-After and quota left.
	SecondaryLimit
	// TooManyRequests answers 429 without rate-limit headers.
	TooManyRequests
	// PrimaryLimit answers 403 with no quota left until the hour is over.
	PrimaryLimit
	// AnswerLost does what was asked and closes the connection without an answer.
	AnswerLost
	// BadGatewayAfter does what was asked and answers 502.
	BadGatewayAfter
	// NotThereYet answers 404 and does nothing: GitHub's replicas lag behind an event
	// that they tell of, and behind a token that they just gave.
	NotThereYet
)

// Fault makes requests fail.
type Fault struct {
	// Route as in Routes, with * for any part of it: "POST /repos/*/pulls". Empty: all.
	Route string
	Kind  FaultKind
	// Skip lets that many requests through first.
	Skip int
	// Count of requests that fail. Zero: one. Negative: all.
	Count int
	// RetryAfter of the limits. Zero: one minute; negative: no such header.
	RetryAfter time.Duration
	// Until holds a Slow answer. Nil: until the client leaves.
	Until <-chan struct{}
}

// Inject makes a fault happen from now on. It fails if no route can match.
func (s *Server) Inject(f Fault) error {
	if f.Kind < BadGateway || f.Kind > NotThereYet {
		return fmt.Errorf("fault kind %d is none", f.Kind)
	}
	if f.Route != "" && !slices.ContainsFunc(s.Routes(), f.matches) {
		return fmt.Errorf("no route of the simulated GitHub matches %q", f.Route)
	}
	if f.Count == 0 {
		f.Count = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	return nil
}

// ClearFaults ends all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (f *Fault) matches(route string) bool {
	if f.Route == "" {
		return true
	}
	// A * of path.Match stops at a slash; here it does not, nor is { special.
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x01") }
	ok, err := path.Match(flat(f.Route), flat(route))
	return ok && err == nil
}

// fault takes the fault that a request meets, if any.
func (s *Server) fault(route string) *Fault {
	for _, f := range s.faults {
		if f.Count == 0 || !f.matches(route) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		return f
	}
	return nil
}

// Request is one that the server was sent, in the order in which they came.
type Request struct {
	// Route as in Routes, or "unknown". Pages are not counted.
	Route string
	// Method and Path as they came, without the query.
	Method, Path string
	// Status that was answered; zero if the answer was lost or held.
	Status int
	// Installation whose token it bore; zero for others.
	Installation int64
	At           time.Time
}

// Git says whether it was a part of a fetch or push.
func (r Request) Git() bool { return strings.Contains(r.Route, "{repo}.git/") }

// Requests lists what was asked since the start or the last ResetRequests.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, len(s.requests))
	for i, r := range s.requests {
		list[i] = *r
	}
	return list
}

// ResetRequests forgets them.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// RequestsByRoute counts them.
func (s *Server) RequestsByRoute() map[string]int {
	counts := map[string]int{}
	for _, r := range s.Requests() {
		counts[r.Route]++
	}
	return counts
}
