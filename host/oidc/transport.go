package oidc

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

const (
	// answerTime bounds one request to a provider.
	answerTime = 10 * time.Second
	// maxAnswer bounds an answer of a provider in bytes.
	maxAnswer = 1 << 20
)

// newClient gives a client for a provider. It keeps no connection: the next
// request comes in an hour.
func newClient() *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableKeepAlives = true
	return &http.Client{Transport: careful{base}}
}

// careful speaks in the clear with this machine alone, wherever a provider's
// answers and redirections point, and reads no more, and no longer, than a
// provider has to say.
type careful struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !secure(r.URL) {
		return nil, &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf("URL of the provider: %.200q, expected an https one, or an http one on loopback", r.URL.Redacted())}
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	answer, err := c.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &bounded{io.LimitReader(answer.Body, maxAnswer), answer.Body, cancel}
	return answer, nil
}

// bounded is the body of an answer. It lets go of its time at its end, as not all
// who read it close it.
type bounded struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.cancel()
	}
	return n, err
}

func (b *bounded) Close() error {
	defer b.cancel()
	return b.body.Close()
}

func secure(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
