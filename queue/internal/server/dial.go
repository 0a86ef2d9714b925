// Package server is all that the queue knows of the Redis underneath: how to reach
// it or to be one, its version, and how it is set.
package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// quiet: notices of maintenance are a service of one vendor.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Params are what a URL says beside where its Redis is. Zero: nothing.
type Params struct {
	Prefix string
	Shards int
}

// Dial reads a URL, whose forms queue.Open documents, and makes its client. An
// error never shows the password.
func Dial(rawURL string) (redis.UniversalClient, Params, error) {
	var own Params
	client, err := dial(rawURL, &own)
	if err != nil {
		return nil, own, fmt.Errorf("the Redis URL: %w", err)
	}
	return client, own, nil
}

func dial(rawURL string, own *Params) (redis.UniversalClient, error) {
	bad := func(text string) (redis.UniversalClient, error) { return nil, errors.New(text) }
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
	own.Prefix = take("prefix")
	if n := take("shards"); n != "" {
		if own.Shards, err = strconv.Atoi(n); err != nil {
			return bad("shards must be a number")
		}
	}
	adjust, err := certificates(take("ca"), take("cert"), take("key"), scheme == "rediss")
	if err != nil {
		return nil, err
	}
	u.RawQuery = params.Encode()
	switch mode {
	case "":
		c, err := redis.ParseURL(u.String())
		if err != nil {
			return bad(redact(err, u))
		}
		c.MaintNotificationsConfig, c.ContextTimeoutEnabled = quiet(), true
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
		c.MaintNotificationsConfig, c.ContextTimeoutEnabled = quiet(), true
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
