package api

import (
	"context"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Tenancy is what the API needs to know of tenants and of who may act for them.
type Tenancy interface {
	// Tenants are those that were created, by name; the built-in one is not among
	// them.
	Tenants() []poise.TenantID
	// CreateTenant is a Conflict where there is one of that name. No token of one
	// before of that name is valid any more.
	CreateTenant(ctx context.Context, id poise.TenantID) error
	// RemoveTenant is a Conflict where it has jobs. Its tokens go with it.
	RemoveTenant(ctx context.Context, id poise.TenantID) error
	// Share is what a tenant gets of the fleet and has; SetShare replaces the
	// parent, the weight and the quotas of one that is known.
	Share(ctx context.Context, id poise.TenantID) (client.Share, error)
	SetShare(ctx context.Context, t poise.Tenant) (client.Share, error)
	// Signing is whose plugins a tenant takes; SetSigning refuses what is no key.
	Signing(ctx context.Context, id poise.TenantID) (client.Signing, error)
	SetSigning(ctx context.Context, id poise.TenantID, s client.Signing) (client.Signing, error)

	Token(ctx context.Context, id string) (access.Token, error)
	// TokensOf lists the tokens of a tenant, or all for "", the oldest first.
	TokensOf(ctx context.Context, tenant poise.TenantID) ([]access.Token, error)
	AddToken(ctx context.Context, t access.Token) error
	EndToken(ctx context.Context, id string) error

	// Record adds to the audit log, durably when it returns.
	Record(ctx context.Context, r client.AuditRecord) error
	// AuditLog lists the records of a tenant's things, or all for "".
	AuditLog(ctx context.Context, tenant poise.TenantID, filter client.AuditFilter) (client.AuditPage, error)
}

// known says whether a tenant is there.
func known(t Tenancy, id poise.TenantID) bool {
	if id == poise.DefaultTenant {
		return true
	}
	for _, other := range t.Tenants() {
		if other == id {
			return true
		}
	}
	return false
}
