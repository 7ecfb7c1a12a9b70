package client

import (
	"context"
	"net/http"
)

// Share is a tenant's part of the fleet, and what it has of it now.
type Share struct {
	ShareSpec
	Tenant   string    `json:"tenant"`
	Holds    []Holding `json:"holds" doc:"What its tasks hold, with those of the tenants under it"`
	Dominant float64   `json:"dominant_share" doc:"The largest part that it holds of any resource, from 0 on"`
	Resource string    `json:"dominant_resource,omitempty"`
	Past     float64   `json:"past_share,omitempty" doc:"What it held, decayed by queue.usage_half_life: 1 is all of the fleet for one half-life"`
	Warnings []string  `json:"warnings,omitempty" doc:"What of all quotas cannot hold now; for operators"`
}

// ShareSpec says what part of the fleet a tenant gets.
type ShareSpec struct {
	Parent      string  `json:"parent,omitempty" doc:"The tenant that it is a part of"`
	Weight      float64 `json:"weight,omitempty" doc:"Beside the others under the same parent; 0 counts as 1"`
	Quotas      []Quota `json:"quotas" doc:"One per resource at most"`
	RefuseUnfit bool    `json:"refuse_unfit,omitempty" doc:"A job that no present node could hold, even empty, is refused when it is submitted"`
}

// Quota is what a tenant may hold of one resource.
type Quota struct {
	Resource   string   `json:"resource" example:"gpu/H100" doc:"A dimension or a kind of device; KIND/MODEL or NAME@CLASS for the part in one pool of nodes"`
	Guaranteed Quantity `json:"guaranteed,omitempty" doc:"It goes before those who hold more than theirs"`
	Limit      Quantity `json:"limit,omitempty" doc:"The most that it may hold; none is the fleet"`
	Reserved   Quantity `json:"reserved,omitempty" doc:"The part of guaranteed that nobody may borrow while it is idle"`
}

// Holding is what a tenant holds of a resource.
type Holding struct {
	Resource string   `json:"resource"`
	Used     Quantity `json:"used"`
	Fleet    Quantity `json:"fleet" doc:"What all nodes have together"`
}

// Share gives a tenant's part of the fleet.
func (c *Client) Share(ctx context.Context, tenant string) (Share, error) {
	return get[Share](ctx, c, nil, "tenants", tenant, "share")
}

// SetShare replaces it as a whole.
func (c *Client) SetShare(ctx context.Context, tenant string, spec ShareSpec) (Share, error) {
	var out Share
	err := c.do(ctx, call{method: http.MethodPut, path: at("tenants", tenant, "share"), body: spec}, &out)
	return out, err
}
