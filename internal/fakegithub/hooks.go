package fakegithub

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// hooks keeps deliveries and sends them, one after the other, in the order of the
// events.
type hooks struct {
	server     *Server
	deliveries []*delivery // oldest first; under the server's mutex
	waiting    []*delivery
	sending    bool
	wake       chan struct{} // has room for one
	idle       chan struct{} // closed when nothing waits; replaced when something does
	losses     []*Loss
	client     *http.Client
}

type delivery struct {
	id                       int64
	guid, event, action      string
	app                      *app
	installation, repository int64
	url, secret              string
	payload                  []byte
	redelivery               bool
	at                       time.Time
	duration                 time.Duration
	status                   string
	code                     int
	requestHeader            map[string]string
	responseHeader           map[string]string
	response                 string
}

// Delivery is one attempt to send a webhook.
type Delivery struct {
	ID                  int64
	GUID, Event, Action string
	Installation        int64
	Repository          int64
	Redelivery          bool
	Payload             []byte
	// Code that the receiver answered; zero: not sent yet, or nobody answered.
	Code int
}

// Loss makes deliveries go astray.
type Loss struct {
	// Event such as "pull_request"; empty: any.
	Event string
	// Count of deliveries. Zero: one. Negative: all.
	Count int
	// Unheard: there is no trace of it in the list of deliveries either. Otherwise
	// the list shows that it failed, and it can be redelivered.
	Unheard bool
}

// LoseDeliveries makes coming deliveries go astray.
func (s *Server) LoseDeliveries(l Loss) {
	if l.Count == 0 {
		l.Count = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.losses = append(s.hooks.losses, &l)
}

func newHooks(s *Server) *hooks {
	idle := make(chan struct{})
	close(idle)
	return &hooks{
		server: s, wake: make(chan struct{}, 1), idle: idle,
		client: &http.Client{
			Timeout:       s.options.HookTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (h *hooks) loss(event string) *Loss {
	for _, l := range h.losses {
		if l.Count != 0 && (l.Event == "" || l.Event == event) {
			if l.Count > 0 {
				l.Count--
			}
			return l
		}
	}
	return nil
}

// add queues a delivery.
func (h *hooks) add(d *delivery) {
	lost := h.loss(d.event)
	if lost != nil && lost.Unheard {
		return
	}
	d.id, d.at = h.server.nextID(), h.server.now()
	h.deliveries = append(h.deliveries, d)
	if lost != nil {
		d.status, d.code = "failed to connect to host", http.StatusBadGateway
		return
	}
	if len(h.waiting) == 0 && !h.sending {
		h.idle = make(chan struct{})
	}
	h.waiting = append(h.waiting, d)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run sends until the context ends.
func (h *hooks) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		for ctx.Err() == nil {
			d := h.next()
			if d == nil {
				break
			}
			h.send(ctx, d)
		}
	}
}

// next takes the oldest delivery, or says that nothing waits.
func (h *hooks) next() *delivery {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	h.sending = len(h.waiting) > 0
	if !h.sending {
		select {
		case <-h.idle:
		default:
			close(h.idle)
		}
		return nil
	}
	d := h.waiting[0]
	h.waiting = h.waiting[1:]
	return d
}

func sign(secret string, payload []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(payload)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (h *hooks) send(ctx context.Context, d *delivery) {
	header := map[string]string{
		"Accept": "*/*", "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/fakegithub",
		"X-GitHub-Delivery": d.guid, "X-GitHub-Event": d.event,
		"X-GitHub-Hook-ID": strconv.FormatInt(d.app.id, 10), "X-GitHub-Hook-Installation-Target-ID": strconv.FormatInt(d.app.id, 10),
		"X-GitHub-Hook-Installation-Target-Type": "integration",
	}
	if d.secret != "" {
		header["X-Hub-Signature-256"] = sign(d.secret, d.payload)
	}
	status, code, answer := "OK", 0, ""
	received := map[string]string{}
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(d.payload))
	if err == nil {
		for k, v := range header {
			req.Header.Set(k, v)
		}
		var resp *http.Response
		if resp, err = h.client.Do(req); err == nil {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
			resp.Body.Close()
			code, answer = resp.StatusCode, string(body)
			for k := range resp.Header {
				received[k] = resp.Header.Get(k)
			}
			if code >= 300 {
				status = "Invalid HTTP Response: " + strconv.Itoa(code)
			}
		}
	}
	if err != nil {
		status, code = "failed to connect to host", http.StatusBadGateway
	}
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	d.requestHeader, d.responseHeader, d.response = header, received, answer
	d.status, d.code, d.duration = status, code, time.Since(start)
}

// WaitDeliveries returns when every event so far was delivered, or failed to be.
func (s *Server) WaitDeliveries(ctx context.Context) error {
	s.mu.Lock()
	idle := s.hooks.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("deliveries are still under way: %w", ctx.Err())
	}
}

// Deliveries lists all attempts, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Delivery{}
	for _, d := range s.hooks.deliveries {
		list = append(list, Delivery{
			ID: d.id, GUID: d.guid, Event: d.event, Action: d.action, Installation: d.installation, Repository: d.repository,
			Redelivery: d.redelivery, Payload: d.payload, Code: d.code,
		})
	}
	return list
}

// Redeliver sends a delivery again under its GUID, as a person does on the App's page.
func (s *Server) Redeliver(id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.hooks.deliveries {
		if d.id == id {
			s.hooks.again(d)
			return nil
		}
	}
	return fmt.Errorf("%w: delivery %d", ErrNotFound, id)
}

func (h *hooks) again(d *delivery) {
	h.add(&delivery{
		guid: d.guid, event: d.event, action: d.action, app: d.app, installation: d.installation, repository: d.repository,
		url: d.app.hookURL, secret: d.app.secret, payload: d.payload, redelivery: true,
	})
}

// to sends an event to one App.
func (s *Server) to(a *app, i *installation, r *repository, event string, payload object) {
	if a.hookURL == "" {
		return
	}
	if i != nil && payload["installation"] == nil {
		payload["installation"] = object{"id": i.id, "node_id": nodeID("I", i.id)}
	}
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // payloads are maps of plain values
	}
	d := &delivery{guid: s.guid(), event: event, app: a, url: a.hookURL, secret: a.secret, payload: data}
	d.action, _ = payload["action"].(string)
	if i != nil {
		d.installation = i.id
	}
	if r != nil {
		d.repository = r.id
	}
	s.hooks.add(d)
}

func (c *call) ownDeliveries() []*delivery {
	var list []*delivery
	for _, d := range c.hooks.deliveries {
		if d.app == c.caller.app {
			list = append(list, d)
		}
	}
	slices.Reverse(list)
	return list
}

// listDeliveries is paged by a cursor, youngest first.
func (c *call) listDeliveries() reply {
	list := c.ownDeliveries()
	query := c.req.URL.Query()
	if word := query.Get("cursor"); word != "" {
		id, err := strconv.ParseInt(word, 10, 64)
		from := slices.IndexFunc(list, func(d *delivery) bool { return d.id == id })
		if err != nil || from < 0 {
			return refuse(http.StatusUnprocessableEntity, "Invalid cursor")
		}
		list = list[from:]
	}
	size := atoi(query.Get("per_page"), 30, 100)
	if len(list) > size {
		query.Set("cursor", strconv.FormatInt(list[size].id, 10))
		c.link = fmt.Sprintf(`<%s%s?%s>; rel="next"`, c.url, c.req.URL.Path, query.Encode())
		list = list[:size]
	}
	views := []object{}
	for _, d := range list {
		views = append(views, d.view())
	}
	return ok(views)
}

func (d *delivery) view() object {
	number := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return object{
		"id": d.id, "guid": d.guid, "delivered_at": stamp(d.at), "redelivery": d.redelivery, "duration": d.duration.Seconds(),
		"status": d.status, "status_code": d.code, "event": d.event, "action": orNull(d.action),
		"installation_id": number(d.installation), "repository_id": number(d.repository), "throttled_at": nil,
	}
}

func (c *call) delivery() *delivery {
	for _, d := range c.hooks.deliveries {
		if d.app == c.caller.app && d.id == c.number("delivery_id") {
			return d
		}
	}
	return nil
}

func (c *call) getDelivery() reply {
	d := c.delivery()
	if d == nil {
		return refuse(http.StatusUnprocessableEntity, "No delivery found with that ID")
	}
	v := d.view()
	v["url"] = d.url
	v["request"] = object{"headers": d.requestHeader, "payload": json.RawMessage(d.payload)}
	v["response"] = object{"headers": d.responseHeader, "payload": d.response}
	return ok(v)
}

func (c *call) redeliver() reply {
	d := c.delivery()
	if d == nil {
		return refuse(http.StatusUnprocessableEntity, "No delivery found with that ID")
	}
	c.hooks.again(d)
	return reply{status: http.StatusAccepted, body: object{}}
}
