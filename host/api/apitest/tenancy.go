package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Tenants implements api.Tenancy.
func (b *Backend) Tenants() []poise.TenantID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.tenants))
}

// CreateTenant implements api.Tenancy.
func (b *Backend) CreateTenant(_ context.Context, id poise.TenantID) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	if slices.Contains(b.tenants, id) {
		return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("create tenant %q", id), Detail: "there is one of that name"}
	}
	b.tenants = append(b.tenants, id)
	return nil
}

// RemoveTenant implements api.Tenancy.
func (b *Backend) RemoveTenant(_ context.Context, id poise.TenantID) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	for i := range b.jobs {
		if b.jobs[i].Tenant == string(id) && !b.jobs[i].State.Ended() {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("remove tenant %q", id), Detail: "it has jobs"}
		}
	}
	b.tenants = slices.DeleteFunc(b.tenants, func(t poise.TenantID) bool { return t == id })
	b.tokens = slices.DeleteFunc(b.tokens, func(t access.Token) bool { return t.Tenant == id })
	return nil
}

// Share implements api.Tenancy.
func (b *Backend) Share(_ context.Context, id poise.TenantID) (client.Share, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.share(id), nil
}

// SetShare implements api.Tenancy.
func (b *Backend) SetShare(_ context.Context, t poise.Tenant) (client.Share, error) {
	if err := b.begin(); err != nil {
		return client.Share{}, err
	}
	defer b.mu.Unlock()
	if b.shares == nil {
		b.shares = map[poise.TenantID]poise.Tenant{}
	}
	b.shares[t.ID] = t
	return b.share(t.ID), nil
}

func (b *Backend) share(id poise.TenantID) client.Share {
	t := b.shares[id]
	v := client.Share{Tenant: string(id), ShareSpec: client.ShareSpec{Parent: string(t.Parent), Weight: t.Weight, Quotas: []client.Quota{}}, Holds: []client.Holding{}}
	for _, q := range t.Quotas {
		print := func(amount int64) client.Quantity {
			if amount == 0 {
				return ""
			}
			return client.Quantity(resource.Format(q.Resource, amount))
		}
		v.Quotas = append(v.Quotas, client.Quota{Resource: q.Resource, Guaranteed: print(q.Guaranteed), Limit: print(q.Limit), Reserved: print(q.Reserved)})
		v.Holds = append(v.Holds, client.Holding{Resource: q.Resource, Used: "0", Fleet: "0"})
	}
	return v
}

// Signing implements api.Tenancy.
func (b *Backend) Signing(_ context.Context, id poise.TenantID) (client.Signing, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return client.Signing{Required: b.shares[id].Signed, Keys: append([]string{}, b.shares[id].Keys...)}, nil
}

// SetSigning implements api.Tenancy.
func (b *Backend) SetSigning(_ context.Context, id poise.TenantID, s client.Signing) (client.Signing, error) {
	if err := b.begin(); err != nil {
		return s, err
	}
	defer b.mu.Unlock()
	if b.shares == nil {
		b.shares = map[poise.TenantID]poise.Tenant{}
	}
	t := b.shares[id]
	t.Signed, t.Keys = s.Required, s.Keys
	b.shares[id] = t
	return s, nil
}

// Token implements api.Tenancy.
func (b *Backend) Token(_ context.Context, id string) (access.Token, error) {
	if err := b.begin(); err != nil {
		return access.Token{}, err
	}
	defer b.mu.Unlock()
	b.lookups++
	for _, t := range b.tokens {
		if t.ID == id {
			return t, nil
		}
	}
	return access.Token{}, missing("token", id)
}

// Lookups gives how often a token was looked up.
func (b *Backend) Lookups() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lookups
}

// TokensOf implements api.Tenancy.
func (b *Backend) TokensOf(_ context.Context, tenant poise.TenantID) ([]access.Token, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(b.tokens), func(t access.Token) bool { return tenant != "" && t.Tenant != tenant })
	slices.SortStableFunc(list, func(x, y access.Token) int { return cmp.Compare(x.Created, y.Created) })
	return list, nil
}

// AddToken implements api.Tenancy.
func (b *Backend) AddToken(_ context.Context, t access.Token) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	b.tokens = append(b.tokens, t)
	return nil
}

// EndToken implements api.Tenancy.
func (b *Backend) EndToken(_ context.Context, id string) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	for i := range b.tokens {
		if b.tokens[i].ID == id {
			b.tokens[i].Revoked = client.Moment(at)
		}
	}
	return nil
}

// Record implements api.Tenancy.
func (b *Backend) Record(_ context.Context, r client.AuditRecord) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.AuditFault != nil {
		return b.AuditFault
	}
	r.At = at
	b.audit = append(b.audit, r)
	return nil
}

// AuditLog implements api.Tenancy.
func (b *Backend) AuditLog(_ context.Context, tenant poise.TenantID, f client.AuditFilter) (client.AuditPage, error) {
	if err := b.begin(); err != nil {
		return client.AuditPage{}, err
	}
	defer b.mu.Unlock()
	newest := slices.DeleteFunc(slices.Clone(b.audit), func(r client.AuditRecord) bool { return tenant != "" && r.Tenant != string(tenant) })
	slices.Reverse(newest)
	list, next, err := page(newest, f.Limit, f.After)
	return client.AuditPage{Records: list, Next: next}, err
}
