package cert

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/poise"
)

// Callers tells who a request is from by the certificate that its connection
// began with, which somebody of api.tls.client_ca has signed. grants, asked at
// each request, says what a name may do, as access.ParseGrant reads it.
func Callers(grants func() map[string]string, now func() time.Time) func(*http.Request) (*access.Principal, error) {
	return func(r *http.Request) (*access.Principal, error) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			return nil, nil
		}
		c := r.TLS.VerifiedChains[0][0]
		if end := c.NotAfter; !now().Before(end) { // a connection may outlive it
			return nil, refuse("ended at %s, expected one that has not", end.Format(time.RFC3339))
		}
		names, known := namesOf(c), grants()
		for _, name := range names {
			text, ok := known[name]
			if !ok {
				continue
			}
			g, err := access.ParseGrant(text)
			if err != nil {
				return nil, err
			}
			return &access.Principal{Who: "certificate " + name, Role: g.Role, Tenant: g.Tenant}, nil
		}
		return nil, refuse("of %.200q, expected a name that an administrator has in api.tls.clients", strings.Join(names, ", "))
	}
}

func refuse(format string, args ...any) error {
	return &poise.Error{Kind: poise.Denied, Detail: "client certificate: " + fmt.Sprintf(format, args...)}
}

// namesOf gives the names that a certificate can be known by: its URIs, and the
// common name last.
func namesOf(c *x509.Certificate) []string {
	var names []string
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	if c.Subject.CommonName != "" {
		names = append(names, c.Subject.CommonName)
	}
	return names
}
