package client

import "context"

// Advice is which nodes the fleet lacks and which nobody needs.
type Advice struct {
	Index    uint64          `json:"index" doc:"Of the last event that it has seen"`
	Waiting  int             `json:"waiting" doc:"Jobs that wait"`
	Fits     int             `json:"fits" doc:"Of these, those that there is room for now"`
	Blocked  int             `json:"blocked" doc:"Those that come after others, are held, wait for a time, or for what is idle as extra members of gangs do"`
	Over     int             `json:"over_quota" doc:"Those that no node helps"`
	Lacking  int             `json:"lacking" doc:"The others, which lack room"`
	Classes  []ClassAdvice   `json:"classes"`
	Together []AdviceStep    `json:"together" doc:"What to add so that every job starts that any class can help"`
	Helpless []HelplessJobs  `json:"helpless" doc:"Jobs that no class helps"`
	Unneeded []UnneededNodes `json:"unneeded" doc:"Empty nodes that no waiting job would go to"`
}

// ClassAdvice is what more nodes of one class would do.
type ClassAdvice struct {
	Class    string              `json:"class"`
	Nodes    int                 `json:"nodes" doc:"Present ones"`
	Capacity map[string]Quantity `json:"capacity" doc:"Of a typical node, devices included"`
	Model    string              `json:"model,omitempty" doc:"Of its devices"`
	More     int                 `json:"more" doc:"Nodes to add: first fit, the largest job first"`
	AtLeast  int                 `json:"at_least" doc:"Fewer nodes cannot hold these jobs"`
	Starts   int                 `json:"starts" doc:"Jobs that start on them, all at once"`
	Left     int                 `json:"left" doc:"Jobs that not even an empty node of the class holds"`
}

// AdviceStep is nodes of one class to add.
type AdviceStep struct {
	Class  string `json:"class"`
	Nodes  int    `json:"nodes"`
	Starts int    `json:"starts"`
}

// HelplessJobs is waiting jobs of one shape that no class helps.
type HelplessJobs struct {
	Job     string              `json:"job" doc:"The first of them"`
	Name    string              `json:"name"`
	Tenant  string              `json:"tenant"`
	Jobs    int                 `json:"jobs"`
	Request map[string]Quantity `json:"request"`
	Nearest *Miss               `json:"nearest,omitempty" doc:"The present node that comes nearest"`
}

// UnneededNodes is empty nodes of one class.
type UnneededNodes struct {
	Class string   `json:"class"`
	Nodes []string `json:"nodes"`
}

// Advice asks which nodes the fleet lacks and which nobody needs.
func (c *Client) Advice(ctx context.Context) (Advice, error) {
	return get[Advice](ctx, c, nil, "fleet", "advice")
}
