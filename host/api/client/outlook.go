package client

import (
	"context"
	"time"
)

// Outlook is what becomes of jobs if nothing else comes and every task ends when it
// says.
type Outlook struct {
	From    time.Time     `json:"from"`
	Until   time.Time     `json:"until" doc:"Up to when it holds"`
	Cut     string        `json:"cut,omitempty" enum:"horizon,attempts,stop" doc:"What ended it, where more would happen: it looks no further ahead, or may take no longer"`
	Endless int           `json:"endless,omitempty" doc:"How many running tasks do not say how long: they stay"`
	Overdue int           `json:"overdue,omitempty" doc:"How many have run longer than they said: they are taken to end now"`
	Jobs    []Expectation `json:"jobs" doc:"Those that start, in that order, then the others"`
}

// Expectation is when a job is expected to start, and where.
type Expectation struct {
	Job       string    `json:"job"`
	Tenant    string    `json:"tenant"`
	Start     time.Time `json:"start,omitzero" doc:"Nothing where it is not seen to start"`
	Node      string    `json:"node,omitempty"`
	Devices   []int     `json:"devices,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero" doc:"The outlook ends before it starts"`
	Preempts  []string  `json:"preempts,omitempty" doc:"Names of jobs that end for it"`
	Others    int       `json:"preempts_others,omitempty" doc:"How many jobs of other tenants do"`
	Note      string    `json:"note,omitempty"`
	Decision  *Decision `json:"decision,omitempty" doc:"The first decision on it"`
}

// PlanAll says what would become of jobs that are submitted now, together.
func (c *Client) PlanAll(ctx context.Context, specs []JobSpec) (Outlook, error) {
	return post[Outlook](ctx, c, map[string][]JobSpec{"jobs": specs}, "plans")
}
