package access

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Principal is who a request is from. The zero one is nobody and may do nothing.
type Principal struct {
	Who  string // how the audit log names the caller, such as "token 4b1d09e2f3a7 (ci)"
	Role Role
	// Tenant is the one that the caller acts for. "" is all of them, which only a
	// global role has.
	Tenant poise.TenantID
}

// Local is the administrator of the machine: whoever may open the daemon's
// socket.
func Local(who string) Principal { return Principal{Who: who, Role: Admin} }

// Owner is the tenant that gets what the caller makes.
func (p Principal) Owner() poise.TenantID {
	if p.Tenant == "" {
		return poise.DefaultTenant
	}
	return p.Tenant
}

// May refuses an action that the caller's role has not.
func (p Principal) May(a Action) error {
	if p.Role.Allows(a) {
		return nil
	}
	return &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf("role: %q, expected one that may %s", string(p.Role), strings.ReplaceAll(string(a), "-", " "))}
}

// ActFor gives the caller as one that acts for a tenant alone. One that belongs
// to a tenant acts for no other, be there such a one or not.
func (p Principal) ActFor(tenant poise.TenantID) (Principal, error) {
	if !p.Role.Global() && tenant != p.Tenant {
		return p, &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf("tenant: another than %q, expected the caller's own, or an operator's token", p.Tenant)}
	}
	if err := tenant.Validate(); err != nil {
		return p, err
	}
	p.Tenant = tenant
	return p, nil
}

// MayGrant refuses to make or to revoke a token of a role in a tenant, "" being
// none: nobody hands out more than they have, an operator's is not an admin's,
// and a tenant's token is of that tenant.
func (p Principal) MayGrant(role Role, tenant poise.TenantID) error {
	if err := role.Validate(); err != nil {
		return err
	}
	deny := func(format string, args ...any) error {
		return &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case p.May(ChangeTokens) != nil:
		return p.May(ChangeTokens)
	case role.Global() && tenant != "":
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("tenant: %q beside role %s, expected none: the role is of all tenants", tenant, role)}
	case !role.Global() && tenant == "":
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("tenant: none beside role %s, expected the tenant that the token is of", role)}
	case p.Role == Operator && role == Admin:
		return deny("role: %s, expected %s or one of a tenant: only an admin handles admins' tokens", role, Operator)
	case !p.Role.Global() && (role.Global() || tenant != p.Tenant):
		return deny("role and tenant: expected one of the roles %s, %s and %s in tenant %q", TenantAdmin, Submitter, Viewer, p.Tenant)
	}
	return nil
}
