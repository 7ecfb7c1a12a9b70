package client

import (
	"context"
	"net/http"
)

// OIDC says where people log in.
type OIDC struct {
	Issuer   string `json:"issuer" doc:"URL of the OpenID Connect provider"`
	ClientID string `json:"client_id" doc:"What it calls the daemon"`
}

// OIDC asks where people log in; it is not found where the daemon has no provider.
func (c *Client) OIDC(ctx context.Context) (OIDC, error) {
	var v OIDC
	err := c.do(ctx, call{method: http.MethodGet, path: "/oidc"}, &v)
	return v, err
}

// Secure says whether nobody on the way to the daemon hears what is said: it is
// spoken to with TLS, or does not leave the machine.
func (c *Client) Secure() bool { return c.secure }
