package daemon

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/oidc/oidctest"
	"github.com/poise-sched/poise/host/poise"
)

// house is a daemon that is asked over its address.
type house struct {
	*world
	address string
	leaf    *x509.Certificate // nil without TLS
	log     *logText
}

// logText is what a daemon logs.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveOutside runs a daemon and tells its address, or why it does not start.
func serveOutside(t *testing.T, dir string, s settings) (*house, error) {
	t.Helper()
	o := options(t, dir, s)
	h := &house{world: &world{t: t, dir: dir, live: o.Config}, log: &logText{}}
	o.Log = slog.New(slog.NewTextHandler(io.MultiWriter(h.log, t.Output()), nil))
	o.Secured = func(c *x509.Certificate) { h.leaf = c }
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan [2]string, 1), make(chan error, 1)
	go func() { done <- Serve(ctx, o, func(address, socket string) { ready <- [2]string{address, socket} }) }()
	select {
	case at := <-ready:
		h.address = at[0]
		var err error
		if h.Client, err = client.New(at[1]); err != nil {
			t.Fatal(err)
		}
	case err := <-done:
		cancel()
		return nil, err
	}
	t.Cleanup(func() {
		h.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h, nil
}

func outside(t *testing.T, s settings) *house {
	t.Helper()
	h, err := serveOutside(t, folder(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// over gives a client over the address.
func (h *house) over(scheme, token string, trust client.Trust) *client.Client {
	h.t.Helper()
	c, err := client.NewTrusting(scheme+"://"+h.address, trust)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c.As(token, "")
}

func (h *house) pin() client.Trust { return client.Trust{Fingerprint: client.Fingerprint(h.leaf)} }

// Off loopback there is TLS, or it was asked for by the name of what it means.
func TestListenOffLoopback(t *testing.T) {
	f := func(s settings, why string) {
		t.Helper()
		h, err := serveOutside(t, folder(t), s)
		if why != "" {
			refused(t, err, poise.Invalid, why)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		h.address = strings.Replace(h.address, "[::]", "127.0.0.1", 1)
		scheme, trust := "http", client.Trust{}
		if h.leaf != nil {
			scheme, trust = "https", h.pin()
		}
		if _, err := h.over(scheme, "", trust).Health(t.Context()); err != nil {
			t.Error(err)
		}
		if warned := strings.Contains(h.log.String(), "the API speaks without TLS: all on the way"); warned != (scheme == "http") {
			t.Errorf("warned: %v\n%s", warned, h.log)
		}
	}
	f(settings{"api.listen": "0.0.0.0:0"}, `api.listen: "0.0.0.0:0" without TLS, expected a loopback address, or api.tls.self_signed, or api.tls.cert and api.tls.key; api.listen_without_tls_off_loopback`)
	f(settings{"api.listen": ":0"}, `api.listen: ":0" without TLS`)
	f(settings{"api.listen": "[::]:0"}, "without TLS")
	f(settings{"api.listen": "0.0.0.0:0", "api.listen_without_tls_off_loopback": "true"}, "")
	f(settings{"api.listen": "0.0.0.0:0", "api.tls.self_signed": "true"}, "")
}

// A self-made certificate: jobs and streams work over it, it is the same after a
// restart, and what speaks no TLS hears that it should.
func TestSelfSigned(t *testing.T) {
	dir := folder(t)
	s := settings{"api.tls.self_signed": "true"}
	h, err := serveOutside(t, dir, s)
	if err != nil {
		t.Fatal(err)
	}
	h.join("lab", nodes("n", 1, "8"))
	token, err := h.CreateToken(t.Context(), client.TokenSpec{Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	c := h.over("https", token.Text, h.pin())
	events, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := c.As(token.Text, "default").Submit(t.Context(), []client.JobSpec{job("j", "1")}, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Events(events, 0, func(client.Event) error { stop(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ca := client.Trust{CAFile: filepath.Join(dir, "data", "tls", "ca.pem")}
	if _, err := h.over("https", token.Text, ca).Self(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = h.over("https", token.Text, client.Trust{}).Self(t.Context())
	refused(t, err, poise.Denied, "of no authority that is known here")
	_, err = h.over("http", token.Text, client.Trust{}).Self(t.Context())
	refused(t, err, poise.Invalid, "speaks TLS at this address")
	if text := h.log.String(); !strings.Contains(text, h.pin().Fingerprint) || strings.Contains(text, "TLS handshake error") {
		t.Errorf("the log has no fingerprint, or the noise of who did not believe it:\n%s", text)
	}
}

// A pair of files that changes is taken up while the daemon runs, and a bad one
// does not keep it from starting without saying which setting it is.
func TestCertificateFiles(t *testing.T) {
	dir := folder(t)
	maker := outside(t, settings{"api.tls.self_signed": "true"}) // a pair to copy
	tls := filepath.Join(maker.dir, "data", "tls")
	put := func(from, name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(tls, from))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
		return filepath.Join(dir, name)
	}
	s := settings{"api.tls.cert": put("cert.pem", "c.pem"), "api.tls.key": put("key.pem", "k.pem")}
	h, err := serveOutside(t, dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.over("https", "", h.pin()).Health(t.Context()); err != nil {
		t.Error(err)
	}
	put("ca.pem", "c.pem") // the authority's own: another pair
	put("ca-key.pem", "k.pem")
	block, _ := pem.Decode([]byte(mustRead(t, filepath.Join(tls, "ca.pem"))))
	next, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	trust := client.Trust{Fingerprint: client.Fingerprint(next)}
	eventually(t, "the new pair", func() bool {
		_, err := h.over("https", "", trust).Health(t.Context())
		return err == nil
	})

	_, err = serveOutside(t, folder(t), settings{"api.tls.cert": filepath.Join(dir, "none.pem"), "api.tls.key": s["api.tls.key"]})
	refused(t, err, poise.Invalid, "api.tls.cert: ")
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A caller's certificate stands for what the configuration says, at once where
// that changes, and who shows none needs a token.
func TestClientCertificates(t *testing.T) {
	dir := folder(t)
	s := settings{"api.tls.self_signed": "true", "api.tls.client_ca": filepath.Join(dir, "callers.pem")}
	callers := outside(t, settings{"api.tls.self_signed": "true"}) // whose authority signs
	tls := filepath.Join(callers.dir, "data", "tls")
	write(t, s["api.tls.client_ca"], mustRead(t, filepath.Join(tls, "ca.pem")))
	write(t, filepath.Join(dir, "poise.yaml"), "api: {tls: {clients: {agent: acme:viewer}}}\n")
	h, err := serveOutside(t, dir, s)
	if err != nil {
		t.Fatal(err)
	}
	shown := h.pin()
	shown.CertFile, shown.KeyFile = agent(t, dir, tls)
	c := h.over("https", "", shown)
	_, err = c.Self(t.Context())
	refused(t, err, poise.Denied, `tenant: "acme", which certificate agent is to act for, is not there`)
	if _, err := h.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	self, err := c.Self(t.Context())
	if err != nil || self.Who != "certificate agent" || self.Role != "viewer" || self.Tenant != "acme" {
		t.Errorf("%+v, %v", self, err)
	}
	_, err = c.Submit(t.Context(), []client.JobSpec{job("j", "1")}, "")
	refused(t, err, poise.Denied, `role: "viewer"`)
	_, err = h.over("https", "", h.pin()).Self(t.Context())
	refused(t, err, poise.Denied, "Authorization: missing")
	if audit, err := h.Audit(t.Context(), client.AuditFilter{}); err != nil || audit.Records[0].Who != "certificate agent" {
		t.Errorf("%+v, %v", audit, err)
	}

	write(t, filepath.Join(dir, "poise.yaml"), "api: {tls: {clients: {other: acme:viewer}}}\n")
	eventually(t, "what the certificate stood for is taken away", func() bool {
		_, err := c.Self(t.Context())
		return poise.KindOf(err) == poise.Denied && strings.Contains(err.Error(), "expected a name that an administrator has in api.tls.clients")
	})
}

// People with ID tokens of a provider; while it is down, the daemon starts and
// everybody else goes on.
func TestPeople(t *testing.T) {
	provider := oidctest.New(t)
	provider.Person("jane@example.org", "staff")
	provider.Down(true)
	dir := folder(t)
	write(t, filepath.Join(dir, "poise.yaml"), "api: {oidc: {groups: {staff: acme:submitter, Platform Team: operator}}}\n")
	h, err := serveOutside(t, dir, settings{"api.oidc.issuer": provider.URL, "api.oidc.client_id": oidctest.ClientID})
	if err != nil {
		t.Fatal(err)
	}
	acme, err := h.CreateTenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	jane := h.over("http", provider.Token(nil), client.Trust{})
	_, err = jane.Self(t.Context())
	refused(t, err, poise.Unavailable, "people cannot be told now, tokens of the daemon are taken")
	if self, err := h.over("http", acme.Token.Text, client.Trust{}).Self(t.Context()); err != nil || self.Tenant != "acme" {
		t.Errorf("a token while the provider is down: %+v, %v", self, err)
	}
	provider.Down(false)
	if self, err := jane.Self(t.Context()); err != nil || self.Who != "person jane@example.org" || self.Role != "submitter" || self.Tenant != "acme" {
		t.Errorf("%+v, %v", self, err)
	}
	if _, err := jane.Submit(t.Context(), []client.JobSpec{job("j", "1")}, ""); err != nil {
		t.Error(err)
	}
	_, err = jane.As(provider.Token(nil), "bolt").Self(t.Context())
	refused(t, err, poise.Denied, "tenant: ")
	_, err = h.over("http", provider.Token(map[string]any{"aud": "another"}), client.Trust{}).Self(t.Context())
	refused(t, err, poise.Denied, "expected audience")
	if at, err := h.over("http", "", client.Trust{}).OIDC(t.Context()); err != nil || at.Issuer != provider.URL || at.ClientID != oidctest.ClientID {
		t.Errorf("%+v, %v", at, err)
	}
	answer, err := http.Get("http://" + h.address + "/v1/jobs")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody: %s, expected 401", answer.Status)
	}

	write(t, filepath.Join(dir, "poise.yaml"), "api: {oidc: {groups: {Platform Team: operator}}}\n")
	eventually(t, "what the group gave is taken away", func() bool {
		_, err := jane.Self(t.Context())
		return poise.KindOf(err) == poise.Denied && strings.Contains(err.Error(), "none of the person's groups")
	})
}
