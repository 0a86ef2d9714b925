package queue

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Kind says what an error asks for. Kinds are errors themselves, so that
// errors.Is(err, queue.Lost) asks for one.
type Kind string

// The kinds.
const (
	Invalid     Kind = "invalid"     // the caller's mistake; nothing was written and nothing will be
	TooLarge    Kind = "too large"   // over a limit of Options
	NotFound    Kind = "not found"   // no such task, or it was purged
	BadState    Kind = "bad state"   // the task is not in a state that allows this
	Conflict    Kind = "conflict"    // the same key was used with another payload
	Lost        Kind = "lost"        // the lease belongs to somebody else now: stop, write nothing
	Cancelled   Kind = "cancelled"   // the task was cancelled; the cause of its context
	Shutdown    Kind = "shutdown"    // the worker stops; the cause of its tasks' contexts
	Newer       Kind = "newer"       // written by a newer version: upgrade this one
	Corrupt     Kind = "corrupt"     // a record that nobody can read
	Foreign     Kind = "foreign"     // the prefix is used by something else
	Gone        Kind = "gone"        // the queue vanished from Redis while it was in use
	Full        Kind = "full"        // Redis is out of memory: retry when there is room
	Unavailable Kind = "unavailable" // Redis cannot be reached or cannot write now: retry
	Config      Kind = "config"      // settings, password, permissions or version of Redis
)

func (k Kind) Error() string { return string(k) }

// Error is what every method of this package returns.
type Error struct {
	Kind Kind
	Op   string // the method
	Task ID     // if one is concerned
	Text string // what happened and what to do
	Err  error  // the cause, if another error is one
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("queue: " + e.Op)
	if e.Task != "" {
		fmt.Fprintf(&b, " %q", string(e.Task))
	}
	b.WriteString(": " + e.Text)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether target is the error's Kind.
func (e *Error) Is(target error) bool { return target == error(e.Kind) }

// Temporary tells whether the same call may succeed later.
func (e *Error) Temporary() bool { return e.Kind == Unavailable || e.Kind == Full }

// answers is what the scripts say besides ok.
var answers = map[string]struct {
	kind Kind
	text string
}{
	"notfound": {NotFound, "there is no such task; finished ones are purged after their time"},
	"corrupt":  {Corrupt, "its record cannot be read; export what is left with 'bailiff queue show' and cancel it"},
	"newer":    {Newer, "it was written by a newer version; upgrade this one"},
	"gone":     {Gone, "the queue vanished from Redis (flushed, evicted, or another server); restart to begin anew"},
	"lost":     {Lost, "the lease is over and the task belongs to somebody else"},
	"settled":  {Lost, "the lease was ended before"},
	"ended":    {BadState, "the task has ended"},
	"state":    {BadState, "the task is not dead"},
	"conflict": {Conflict, "the same key was used with another payload"},
	"toomany":  {TooLarge, "the task holds as many of these as it may"},
	"absent":   {NotFound, "there is no queue under this prefix: check host, database and prefix= of the URL, or start a worker, which makes it"},
	"foreign":  {Foreign, "the key prefix is used by something else; choose another with ?prefix="},
	"shards":   {Config, "the number of shards was changed while tasks wait; set it back, let them finish, then change it"},
}

// refusal turns a script's answer into an error.
func refusal(op string, task ID, reply []any) error {
	a, ok := answers[text(reply[0])]
	if !ok {
		return &Error{Kind: Corrupt, Op: op, Task: task, Text: fmt.Sprintf("unknown answer %q", text(reply[0]))}
	}
	e := &Error{Kind: a.kind, Op: op, Task: task, Text: a.text}
	if len(reply) > 2 {
		e.Text += fmt.Sprintf(" (%s)", text(reply[2]))
	}
	return e
}

// replies is what Redis itself says, by a part of its message: a script's
// error carries the original one inside, at another place in each version.
var replies = []struct {
	part string
	kind Kind
	text string
}{
	{"OOM command not allowed", Full, "Redis is out of memory; raise maxmemory or let tasks finish"},
	{"WRONGTYPE", Foreign, "a key of this queue holds something else; choose another prefix"},
	{"undeclared key", Corrupt, "a script used a key that it did not declare"},
	{"CROSSSLOT", Corrupt, "a script's keys lie in two slots"},
	{"The user executing the script", Config, "the Redis user lacks a permission; docs/queue.md names what is needed"},
	{"NOPERM", Config, "the Redis user lacks a permission"},
	{"NOAUTH", Config, "Redis wants a password"},
	{"WRONGPASS", Config, "Redis refuses the user or the password"},
	{"READONLY", Unavailable, "this Redis is a replica"},
	{"LOADING", Unavailable, "Redis is loading its data"},
	{"CLUSTERDOWN", Unavailable, "the cluster is down"},
	{"MASTERDOWN", Unavailable, "the master is down"},
	{"NOREPLICAS", Unavailable, "too few replicas are in sync"},
	{"MISCONF", Unavailable, "Redis cannot persist and refuses writes; look at its disk"},
	{"TRYAGAIN", Unavailable, "the cluster moves this slot"},
	{"BUSY ", Unavailable, "Redis is busy with a script"},
	{"ERR max number of clients", Unavailable, "Redis has no connection left"},
	{"NOREPLICA", Unavailable, "no replica"},
}

// wrap types an error of the client.
func wrap(op string, task ID, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	e := &Error{Kind: Unavailable, Op: op, Task: task, Text: "Redis cannot be reached", Err: err}
	msg := err.Error()
	for _, r := range replies {
		if strings.Contains(msg, r.part) {
			e.Kind, e.Text = r.kind, r.text
			return e
		}
	}
	var reply redis.Error
	var network net.Error
	if errors.As(err, &reply) && !errors.As(err, &network) && !errors.Is(err, redis.Nil) {
		e.Kind, e.Text = Corrupt, "Redis answers with an error of its own"
	}
	return e
}
