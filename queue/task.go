package queue

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// ID names a task: "t_" and a ULID in lower case. Its time is that of Redis,
// so IDs are in the order of admission, within a shard and as the clock goes.
type ID string

// Tenant is the unit of fairness and of pause. Any bytes, up to 512.
type Tenant string

// Group is what takes turns within a tenant. Any bytes, up to 512.
type Group string

// Priority orders tasks within a group, and groups within a tenant. Every
// other lease goes to a tenant with an urgent task, if there is one.
type Priority int8

// The priorities. Zero is Normal.
const (
	Urgent Priority = -1 // a person waits
	Normal Priority = 0  // something happened
	Low    Priority = 1  // a schedule
)

// State of a task.
type State string

// The states; the package's documentation draws the moves between them.
const (
	Scheduled State = "scheduled" // starts later: quiet period, backoff, snooze
	Ready     State = "ready"     // waits for a worker
	Running   State = "running"   // leased
	Parked    State = "parked"    // waits for an event, an input or a deadline
	Ended     State = "done"      // reached its end, or was cancelled
	Dead      State = "dead"      // failed too often; kept whole for a retry
)

// States is every state in the order of a task's life.
func States() []State { return []State{Scheduled, Ready, Running, Parked, Ended, Dead} }

// Task is what the queue knows of a task. Times are those of Redis; zero means
// that it has not happened.
type Task struct {
	ID       ID        `json:"id"`
	Tenant   Tenant    `json:"tenant"`
	Group    Group     `json:"group"`
	Serial   string    `json:"serial"` // the task's own ID if none was given
	Kind     string    `json:"kind"`
	Priority Priority  `json:"priority"`
	State    State     `json:"state"`
	Created  time.Time `json:"created"`
	Due      time.Time `json:"due,omitzero"`     // when it starts (scheduled) or wakes by itself (parked)
	Ready    time.Time `json:"ready,omitzero"`   // since when, or last, it could start
	Started  time.Time `json:"started,omitzero"` // its last run
	Ended    time.Time `json:"ended,omitzero"`
	Attempt  int       `json:"attempt"`  // failed runs so far
	Attempts int       `json:"attempts"` // after so many failed runs it is dead
	Lost     int       `json:"lost"`     // workers lost in a row
	Token    int64     `json:"token"`    // of its last lease; 0: never leased
	Worker   string    `json:"worker,omitempty"`
	Triggers int       `json:"triggers"`            // how many it answers
	Inputs   int       `json:"inputs"`              // how many its ledger holds
	Events   []string  `json:"events,omitempty"`    // what it waits for
	Reason   string    `json:"reason,omitempty"`    // of its last failure, snooze, park or wake
	Result   string    `json:"result,omitempty"`    // what its handler said at the end
	Canceled string    `json:"cancelled,omitempty"` // why it was cancelled; such a task ends as done
}

// Trigger is one reason why a task runs; coalescing gives it several.
type Trigger struct {
	Once    string    `json:"once,omitempty"` // the delivery
	At      time.Time `json:"at"`
	Payload []byte    `json:"payload"`
}

// version of the records of this package; one that is higher is refused.
const version = 1

// head is a task as the scripts keep it. Names are escaped.
type head struct {
	V       int    `json:"v"`
	ID      ID     `json:"id"`
	Tenant  string `json:"tenant"`
	Group   string `json:"group"`
	Serial  string `json:"serial"`
	Kind    string `json:"kind"`
	Pri     string `json:"pri"`
	State   State  `json:"state"`
	Once    string `json:"once"`
	Created ms     `json:"created"`
	Due     ms     `json:"due"`
	Ready   ms     `json:"ready"`
	Started ms     `json:"started"`
	Ended   ms     `json:"ended"`
	Attempt int    `json:"attempt"`
	Max     int    `json:"max"`
	Lost    int    `json:"lost"`
	Token   ms     `json:"token"` // a count, written like a time
	Worker  string `json:"worker"`
	N       int    `json:"n"`
	Inputs  int    `json:"inputs"`
	Events  string `json:"events"`
	Reason  string `json:"reason"`
	Result  string `json:"result"`
	Cancel  string `json:"cancel"`
}

// ms is Redis' time in milliseconds; zero is the zero time. In a head it may be
// a number or a string.
type ms int64

// UnmarshalJSON reads both.
func (m *ms) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*m = ms(f)
	return err
}

func (m ms) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// decodeHead reads a head; a newer or unreadable one is a typed error.
func decodeHead(op string, id ID, s string) (head, error) {
	var h head
	err := json.Unmarshal([]byte(s), &h)
	if err == nil && h.V > 0 && h.V <= version {
		return h, nil
	}
	// a newer record may have other types, but its version is a number
	var v struct {
		V float64 `json:"v"`
	}
	if json.Unmarshal([]byte(s), &v) == nil && v.V > version {
		return head{}, &Error{Kind: Newer, Op: op, Task: id, Text: answers["newer"].text}
	}
	return head{}, &Error{Kind: Corrupt, Op: op, Task: id, Text: answers["corrupt"].text, Err: err}
}

func (h head) task() Task {
	t := Task{
		ID: h.ID, Tenant: Tenant(unescape(h.Tenant)), Group: Group(unescape(h.Group)), Serial: unescape(h.Serial),
		Kind: unescape(h.Kind), State: h.State, Created: h.Created.time(), Due: h.Due.time(), Ready: h.Ready.time(),
		Started: h.Started.time(), Ended: h.Ended.time(), Attempt: h.Attempt, Attempts: h.Max, Lost: h.Lost,
		Token: int64(h.Token), Worker: h.Worker, Triggers: max(1, h.N), Inputs: h.Inputs, Reason: h.Reason, Result: h.Result,
		Canceled: h.Cancel, Priority: Normal,
	}
	if h.Pri != "" {
		t.Priority = Priority(h.Pri[0]) - '1'
	}
	for ev := range strings.FieldsSeq(h.Events) {
		_, ev, _ = strings.Cut(ev, "!") // without the tenant
		t.Events = append(t.Events, unescape(ev))
	}
	return t
}

// clean makes text from outside fit for a record: valid UTF-8 and at most n bytes.
func clean(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
