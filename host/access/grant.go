package access

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Grant is what a configuration gives to somebody whom others vouch for: a role,
// and the tenant that it is in, "" with a global role.
type Grant struct {
	Role   Role
	Tenant poise.TenantID
}

// ParseGrant reads TENANT:ROLE, or a global role alone.
func ParseGrant(text string) (Grant, error) {
	tenant, role, of := strings.Cut(text, ":")
	if !of {
		tenant, role = "", text
	}
	g := Grant{Role: Role(role), Tenant: poise.TenantID(tenant)}
	if g.Role.Validate() != nil || g.Role.Global() == of || of && g.Tenant.Validate() != nil {
		return Grant{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("grant: %.80q, expected TENANT:ROLE such as acme:submitter, or %s or %s alone", text, Admin, Operator)}
	}
	return g, nil
}

// String gives the text that ParseGrant reads.
func (g Grant) String() string {
	if g.Tenant == "" {
		return string(g.Role)
	}
	return string(g.Tenant) + ":" + string(g.Role)
}

// Stronger says whether the role may do all that another may, and more.
func (r Role) Stronger(other Role) bool { return r.rank() < other.rank() }

// rank counts from the strongest role on; a role that there is not is last.
func (r Role) rank() int {
	for i, known := range roles {
		if r == known {
			return i
		}
	}
	return len(roles)
}
