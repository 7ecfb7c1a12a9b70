package client

import (
	"context"
	"net/http"
)

// Signing says whose plugins a tenant takes.
type Signing struct {
	Required bool     `json:"required" doc:"Only plugins signed by one of the keys are taken, at a push and at an activation"`
	Keys     []string `json:"keys" doc:"Public keys of the minisign tool"`
}

// Signing says whose plugins a tenant takes.
func (c *Client) Signing(ctx context.Context, tenant string) (Signing, error) {
	return get[Signing](ctx, c, nil, "tenants", tenant, "signing")
}

// SetSigning replaces it as a whole.
func (c *Client) SetSigning(ctx context.Context, tenant string, s Signing) (Signing, error) {
	var out Signing
	err := c.do(ctx, call{method: http.MethodPut, path: at("tenants", tenant, "signing"), body: s}, &out)
	return out, err
}
