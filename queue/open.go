package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open connects to the Redis that a URL names and claims its prefix there:
//
//	redis://USER:PASSWORD@HOST:PORT/DB                      one server
//	redis+sentinel://HOST:PORT?addr=HOST:PORT&master_name=NAME   Sentinels; username= and password= are the server's, those before @ the Sentinels'
//	redis+cluster://USER:PASSWORD@HOST:PORT?addr=HOST:PORT  a cluster
//	unix:///path                                            a socket
//
// rediss:// and rediss+... use TLS. Beside go-redis' own parameters there are
// prefix= and shards=, which override those of Options, and ca=FILE, cert=FILE
// and key=FILE for a private authority and a client's certificate. Errors:
// Config, Foreign, Newer, Unavailable. The error never shows the password.
func Open(ctx context.Context, rawURL string, o Options) (*Queue, error) {
	client, err := connect(rawURL, &o)
	if err != nil {
		return nil, err
	}
	q, err := New(ctx, client, o)
	if err != nil {
		client.Close()
		return nil, err
	}
	q.close = client.Close
	return q, nil
}

// connect reads the URL and makes its client.
func connect(rawURL string, o *Options) (redis.UniversalClient, error) {
	bad := func(text string) (redis.UniversalClient, error) {
		return nil, &Error{Kind: Config, Op: "open", Text: "the Redis URL: " + text}
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		// url.Error repeats the URL, and with it the password
		return bad("it cannot be read; redis://HOST:PORT/DB is the simplest form")
	}
	scheme, mode, _ := strings.Cut(u.Scheme, "+")
	if scheme != "redis" && scheme != "rediss" && scheme != "unix" {
		return bad("the scheme must be redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster or unix")
	}
	u.Scheme = scheme
	params := u.Query()
	take := func(k string) string {
		v := params.Get(k)
		params.Del(k)
		return v
	}
	if p := take("prefix"); p != "" {
		o.Prefix = p
	}
	if n := take("shards"); n != "" {
		if o.Shards, err = strconv.Atoi(n); err != nil {
			return bad("shards must be a number")
		}
	}
	adjust, err := certificates(take("ca"), take("cert"), take("key"), scheme == "rediss")
	if err != nil {
		return bad(err.Error())
	}
	u.RawQuery = params.Encode()
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch mode {
	case "":
		c, err := redis.ParseURL(u.String())
		if err != nil {
			return bad(redact(err, u))
		}
		c.MaintNotificationsConfig, c.ContextTimeoutEnabled = quiet, true
		adjust(c.TLSConfig)
		return redis.NewClient(c), nil
	case "sentinel":
		c, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return bad(redact(err, u))
		}
		if c.MasterName == "" {
			return bad("master_name= is missing")
		}
		c.ContextTimeoutEnabled = true
		adjust(c.TLSConfig)
		return redis.NewFailoverClient(c), nil
	case "cluster":
		c, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return bad(redact(err, u))
		}
		c.MaintNotificationsConfig, c.ContextTimeoutEnabled = quiet, true
		adjust(c.TLSConfig)
		return redis.NewClusterClient(c), nil
	}
	return bad("after the + comes sentinel or cluster")
}

// redact gives an error's text without the password.
func redact(err error, u *url.URL) string {
	s := err.Error()
	for _, secret := range []string{u.Query().Get("password"), userPassword(u)} {
		if secret != "" {
			s = strings.NewReplacer(secret, "xxxxx", url.QueryEscape(secret), "xxxxx", url.PathEscape(secret), "xxxxx").Replace(s)
		}
	}
	return s
}

func userPassword(u *url.URL) string {
	p, _ := u.User.Password()
	return p
}

// certificates gives what to do with the TLS settings.
func certificates(ca, cert, key string, tlsOn bool) (func(*tls.Config), error) {
	if (ca != "" || cert != "" || key != "") && !tlsOn {
		return nil, errors.New("ca, cert and key need rediss://")
	}
	var pool *x509.CertPool
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", ca)
		}
	}
	var own []tls.Certificate
	if cert != "" || key != "" {
		c, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		own = []tls.Certificate{c}
	}
	return func(c *tls.Config) {
		if c != nil {
			c.MinVersion = tls.VersionTLS12
			c.RootCAs, c.Certificates = pool, own
		}
	}, nil
}

// Embedded makes a queue on a Redis in this process's memory: for a try and
// for tests. Nothing survives the process. now is its clock; nil means the
// machine's. Close ends it.
func Embedded(ctx context.Context, o Options, now func() time.Time) (*Queue, error) {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, &Error{Kind: Config, Op: "embedded", Text: "no port on the loopback", Err: err}
	}
	m.ClockTTL(true)
	client := redis.NewClient(&redis.Options{
		Addr: m.Addr(), ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if now != nil {
		m.SetTime(now())
		client.AddHook(clockHook{func() { m.SetTime(now()) }})
	}
	q, err := New(ctx, client, o)
	if err != nil {
		client.Close()
		m.Close()
		return nil, err
	}
	q.close = func() error {
		err := client.Close()
		m.Close()
		return err
	}
	return q, nil
}

// clockHook sets the embedded server's clock before each command.
type clockHook struct{ set func() }

func (h clockHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h clockHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		h.set()
		return next(ctx, c)
	}
}

func (h clockHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, c []redis.Cmder) error {
		h.set()
		return next(ctx, c)
	}
}
