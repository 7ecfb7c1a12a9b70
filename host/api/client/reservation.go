package client

import "time"

// Reservation is what is kept for a job that waits for room.
type Reservation struct {
	Nodes []string  `json:"nodes" doc:"Where it is to start, one for each task"`
	Start time.Time `json:"start,omitzero" doc:"When enough is expected to be free; nothing where that is not known"`
}

// Behind are the jobs that go before one and for which nodes are kept.
type Behind struct {
	Jobs   []string `json:"jobs,omitempty" doc:"Names of those of its tenant"`
	Others int      `json:"others,omitempty" doc:"How many of other tenants"`
	Whose  []string `json:"whose,omitempty" doc:"Those of other tenants, as TENANT/NAME; for operators"`
}
