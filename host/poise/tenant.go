package poise

import "fmt"

// DefaultTenant owns the jobs of an installation that has no other tenants.
const DefaultTenant TenantID = "default"

// Tenant owns jobs and plugins.
type Tenant struct {
	ID TenantID
	// Parent is the tenant that this one is a part of, "" = of none.
	Parent TenantID `json:",omitempty"`
	// Weight is the tenant's part of what its parent gets, beside the others
	// there; 0 counts as 1.
	Weight float64 `json:",omitempty"`
	Quotas []Quota `json:",omitempty"` // one per resource at most
	// RefuseUnfit: a job that no present node could hold, even empty, is refused
	// when it is submitted; else it waits for a node that could.
	RefuseUnfit bool `json:",omitempty"`
	// Signed: only plugins signed by one of Keys, minisign public keys, are taken.
	Signed bool     `json:",omitempty"`
	Keys   []string `json:",omitempty"`
}

// TenantSet makes a tenant known or replaces what is known of it.
type TenantSet struct{ Tenant Tenant }

// TenantRemoved forgets a tenant that has no jobs, and its policy.
type TenantRemoved struct{ Tenant TenantID }

// EventKind implements Body.
func (TenantSet) EventKind() string { return "tenant-set" }

// EventKind implements Body.
func (TenantRemoved) EventKind() string { return "tenant-removed" }

// maxTenantWeight keeps shares far from the ends of float64.
const maxTenantWeight = 1e6

// Validate checks every field and names the first that is wrong.
func (t *Tenant) Validate() error {
	if err := t.ID.Validate(); err != nil {
		return err
	}
	if t.Parent != "" {
		if err := t.Parent.Validate(); err != nil {
			return err
		}
	}
	if !(t.Weight >= 0 && t.Weight <= maxTenantWeight) || t.Weight > 0 && t.Weight < 1/maxTenantWeight {
		return &Error{Kind: Invalid, Op: fmt.Sprintf("tenant %q", t.ID), Detail: fmt.Sprintf("weight: %v, expected 0 or %v to %v", t.Weight, 1/maxTenantWeight, maxTenantWeight)}
	}
	for i := range t.Quotas {
		op := fmt.Sprintf("tenant %q", t.ID)
		if err := t.Quotas[i].Validate(op); err != nil {
			return err
		}
		if t.Quota(t.Quotas[i].Resource) != &t.Quotas[i] {
			return invalid(op, fmt.Sprintf("quota: %s: twice, expected once", t.Quotas[i].Resource))
		}
	}
	return nil
}

// maxTenantID is the length of a DNS label.
const maxTenantID = 63

// Validate refuses an ID that is not 1 to 63 of a-z, 0-9 and -, with no - at
// either end: ids of tenants stand in paths, user names and metrics, and none may
// look like another.
func (t TenantID) Validate() error {
	ok := len(t) > 0 && len(t) <= maxTenantID && t[0] != '-' && t[len(t)-1] != '-'
	for i := range len(t) {
		c := t[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return &Error{Kind: Invalid, Op: "tenant", Detail: fmt.Sprintf("id: %q, expected 1 to %d of a-z, 0-9 and -, with no - at either end", string(t), maxTenantID)}
	}
	return nil
}
