package cert

import (
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// who answers with who the caller is, or 401 with why nobody.
func who(callers func(*http.Request) (*access.Principal, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := callers(r)
		status, answer := http.StatusOK, any(p)
		if err != nil {
			status, answer = http.StatusUnauthorized, client.Problem{Detail: err.Error()}
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// Callers with certificates, over real connections.
func TestCallers(t *testing.T) {
	a, callers, strangers := newAuthority(t, "ours"), newAuthority(t, "callers"), newAuthority(t, "strangers")
	grants := map[string]string{"ci": "acme:submitter", "spiffe://example.org/agent": "operator", "odd": "acme:owner"}
	d := newDesk(t)
	d.pair(a.issue("daemon"))
	o := d.options()
	o.ClientCA = d.put("callers.pem", callers.pem)
	var late atomic.Bool
	d.serve(o, who(Callers(func() map[string]string { return grants }, func() time.Time {
		if late.Load() {
			return time.Now().Add(60 * 24 * time.Hour)
		}
		return time.Now()
	})))
	ca := d.put("ca.pem", a.pem)
	ask := func(by *authority, name string, changes ...func(*x509.Certificate)) (client.Self, error) {
		t.Helper()
		trust := client.Trust{CAFile: ca}
		if by != nil {
			cert, key := by.issue(name, changes...)
			trust.CertFile, trust.KeyFile = d.put("c.pem", cert), d.put("k.pem", key)
		}
		c, err := client.NewTrusting(d.url, trust)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Self(t.Context())
	}
	f := func(by *authority, name, want string, changes ...func(*x509.Certificate)) {
		t.Helper()
		got, err := ask(by, name, changes...)
		if err != nil || got.Who+" "+got.Role+" "+got.Tenant != want {
			t.Errorf("%s: %+v, %v, expected %q", name, got, err, want)
		}
	}
	f(callers, "ci", "certificate ci submitter acme")
	f(callers, "x", "certificate spiffe://example.org/agent operator ", known("spiffe://example.org/agent"))
	f(callers, "ci", "certificate spiffe://example.org/agent operator ", known("spiffe://example.org/other"), known("spiffe://example.org/agent"))
	f(nil, "nobody", "  ")
	refused := func(by *authority, name string, kind poise.Kind, why string, changes ...func(*x509.Certificate)) {
		t.Helper()
		_, err := ask(by, name, changes...)
		want(t, err, kind, why)
	}
	refused(callers, "someone", poise.Denied, `client certificate: of "someone", expected a name that an administrator has in api.tls.clients`)
	refused(callers, "CI", poise.Denied, "expected a name")
	refused(callers, "odd", poise.Denied, "grant: ")
	// Of these the connection ends before anything is asked.
	ends := func(by *authority, changes ...func(*x509.Certificate)) {
		t.Helper()
		if self, err := ask(by, "ci", changes...); err == nil {
			t.Errorf("%+v, expected no answer", self)
		} else if strings.Contains(err.Error(), "remote error") { // unless the connection was gone before that was read
			want(t, err, poise.Denied, "the daemon ends the connection: it does not believe the certificate")
		}
	}
	ends(strangers)
	ends(callers, ending(time.Now().Add(-time.Minute)))
	ends(callers, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	late.Store(true)
	refused(callers, "ci", poise.Denied, "client certificate: ended at")
	late.Store(false)

	// Those who sign change while the daemon runs.
	d.put("callers.pem", strangers.pem)
	d.keeper.look()
	f(strangers, "ci", "certificate ci submitter acme")
	ends(callers)
	delete(grants, "ci")
	refused(strangers, "ci", poise.Denied, "expected a name")
}
