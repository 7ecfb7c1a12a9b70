package client

import (
	"context"
	"net/http"
)

// As gives a client of the same daemon that shows a token and acts for a tenant;
// "" is none. It shares connections with c.
func (c *Client) As(token, tenant string) *Client {
	other := *c
	other.token, other.fresh, other.tenant = token, nil, tenant
	return &other
}

// Renewing gives a client of the same daemon that asks for the token with each
// request: for tokens that end before a long wait does.
func (c *Client) Renewing(token func(context.Context) (string, error)) *Client {
	other := *c
	other.fresh = token
	return &other
}

// Self asks who the caller is to the daemon.
func (c *Client) Self(ctx context.Context) (Self, error) { return get[Self](ctx, c, nil, "whoami") }

// Tenants lists the tenants that the caller may see, by name.
func (c *Client) Tenants(ctx context.Context) ([]Tenant, error) {
	v, err := get[struct{ Tenants []Tenant }](ctx, c, nil, "tenants")
	return v.Tenants, err
}

// CreateTenant makes a tenant and the first token of its administrator.
func (c *Client) CreateTenant(ctx context.Context, name string) (NewTenant, error) {
	return post[NewTenant](ctx, c, map[string]string{"name": name}, "tenants")
}

// RemoveTenant forgets a tenant that has no jobs left, and its tokens.
func (c *Client) RemoveTenant(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("tenants", name)}, nil)
}

// Tokens lists the tokens of the tenant that the caller acts for, or all.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	v, err := get[struct{ Tokens []Token }](ctx, c, nil, "tokens")
	return v.Tokens, err
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, spec TokenSpec) (NewToken, error) {
	return post[NewToken](ctx, c, spec, "tokens")
}

// RevokeToken ends a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("tokens", id)}, nil)
}

// Audit lists who changed what, newest first. Limit 0 stands for DefaultPage.
func (c *Client) Audit(ctx context.Context, f AuditFilter) (AuditPage, error) {
	return get[AuditPage](ctx, c, params("limit", number(f.Limit), "after", f.After), "audit")
}
