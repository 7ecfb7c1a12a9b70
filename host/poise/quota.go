package poise

import (
	"fmt"
	"slices"
	"strings"
)

// What stands between a resource and the pool of nodes that a quota is for.
const (
	ModelMark = "/"
	ClassMark = "@"
)

// Quota is what a tenant may hold of one resource, with the tenants under it: a
// dimension in base units, a kind of device in milli-devices.
type Quota struct {
	// Resource is a dimension or a kind of device, or the part of it in one pool
	// of nodes: KIND/MODEL, the devices of a model, or NAME@CLASS, what nodes of a
	// class have.
	Resource string
	// Guaranteed is what the tenant can count on. It goes before those who hold
	// more than theirs.
	Guaranteed int64
	// Limit is the most that it may hold; 0 = no limit but the fleet.
	Limit int64
	// Reserved is the part of Guaranteed that nobody may borrow while the tenant
	// leaves it idle.
	Reserved int64
}

// Validate names the first field that is wrong.
func (q *Quota) Validate(op string) error {
	if err := validName(op, "quota: resource", q.Resource); err != nil {
		return err
	}
	if name, class, ok := strings.Cut(q.Resource, ClassMark); ok && (name == "" || class == "" || strings.Contains(class, ClassMark)) {
		return invalid(op, fmt.Sprintf("quota: resource: %q, expected a dimension, a device kind, KIND%sMODEL or NAME%sCLASS", q.Resource, ModelMark, ClassMark))
	}
	field := func(name string, v, least, most int64) error {
		if v < least || v > most {
			return invalid(op, fmt.Sprintf("quota: %s: %s: %d, expected %d to %d", q.Resource, name, v, least, most))
		}
		return nil
	}
	const all = 1<<63 - 1
	if err := field("guaranteed", q.Guaranteed, 0, all); err != nil {
		return err
	}
	if err := field("reserved", q.Reserved, 0, q.Guaranteed); err != nil {
		return err
	}
	if q.Limit == 0 {
		return nil
	}
	return field("limit", q.Limit, max(q.Guaranteed, 1), all)
}

// Quota gives the tenant's quota of a resource, or nil.
func (t *Tenant) Quota(resource string) *Quota {
	if i := slices.IndexFunc(t.Quotas, func(q Quota) bool { return q.Resource == resource }); i >= 0 {
		return &t.Quotas[i]
	}
	return nil
}

// QuotaMiss is why a job may not be placed though it might fit: a tenant, its own
// or one above that, would hold more than it may.
type QuotaMiss struct {
	Tenant   TenantID
	Resource string
	Used     int64 // by the tenant now
	Ask      int64
	Limit    int64 // of the tenant
	// Withheld is what the fleet keeps for the guarantees of others, where that
	// and not Limit is in the way; Limit is then what is left for all.
	Withheld int64
}
