package client

import "time"

// TenantHeader names the tenant that a caller of all tenants acts for.
const TenantHeader = "Poise-Tenant"

// Tenant owns jobs and plugins.
type Tenant struct {
	Name    string `json:"name" example:"acme"`
	BuiltIn bool   `json:"built_in,omitempty" doc:"It is there from the beginning and stays"`
}

// NewTenant is a tenant that was just made, with the first token of its
// administrator.
type NewTenant struct {
	Tenant Tenant   `json:"tenant"`
	Token  NewToken `json:"token"`
}

// Token lets whoever shows it act in a role. The secret is not in it.
type Token struct {
	ID      string    `json:"id" doc:"The digits behind poise_; no secret"`
	Name    string    `json:"name,omitempty" doc:"What people call it"`
	Tenant  string    `json:"tenant,omitempty" doc:"Nothing for the roles admin and operator, which are of all tenants"`
	Role    string    `json:"role" enum:"admin,operator,tenant-admin,submitter,viewer"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero" doc:"Nothing where it does not"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// NewToken is a token that was just made. Its text cannot be had again.
type NewToken struct {
	Token
	Text string `json:"text" doc:"What goes behind Authorization: Bearer"`
}

// TokenSpec says what token is wanted.
type TokenSpec struct {
	Tenant    string `json:"tenant,omitempty" doc:"The caller's own where it is not given; none for the roles admin and operator"`
	Role      string `json:"role" example:"submitter" doc:"admin, operator, tenant-admin, submitter or viewer"`
	Name      string `json:"name,omitempty"`
	ExpiresIn string `json:"expires_in,omitempty" example:"720h" doc:"A duration; the token does not expire where it is not given"`
}

// Self is who a caller is to the daemon.
type Self struct {
	Who    string `json:"who"`
	Role   string `json:"role"`
	Tenant string `json:"tenant,omitempty" doc:"That the caller acts for; nothing means all of them"`
}
