package access

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Role is what a caller may do, see Allows.
type Role string

// The roles. The first two are of the whole installation, the others of one
// tenant.
const (
	Admin       Role = "admin"
	Operator    Role = "operator"
	TenantAdmin Role = "tenant-admin"
	Submitter   Role = "submitter"
	Viewer      Role = "viewer"
)

var roles = []Role{Admin, Operator, TenantAdmin, Submitter, Viewer}

// Global says whether the role is of the whole installation, not of a tenant.
func (r Role) Global() bool { return r == Admin || r == Operator }

// Validate refuses a role that there is not.
func (r Role) Validate() error {
	if !slices.Contains(roles, r) {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("role: %q, expected %s, %s, %s, %s or %s", string(r), Admin, Operator, TenantAdmin, Submitter, Viewer)}
	}
	return nil
}
