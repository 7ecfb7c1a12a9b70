package client

import (
	"encoding/json"
	"time"
)

// Event is one thing that happened.
type Event struct {
	Index uint64    `json:"index" doc:"Position in the log, from 1; the id of the stream"`
	At    time.Time `json:"at"`
	Kind  string    `json:"kind" example:"job-placed"`
	Job   string    `json:"job,omitempty" doc:"Id of the job that it is about"`
	Node  string    `json:"node,omitempty"`
	// Policy says what a change of policies is about.
	Policy string          `json:"policy,omitempty" example:"tenant acme: in quarantine after faults in a row"`
	Body   json.RawMessage `json:"body" doc:"The event as the log has it"`
}

// Health is how the daemon is.
type Health struct {
	Ready        bool    `json:"ready" doc:"It has recovered and takes jobs"`
	Standby      bool    `json:"standby,omitempty" doc:"It takes over when the replica that leads does not any more"`
	StoreStalled bool    `json:"store_stalled" doc:"The store takes no writes now; reads go on"`
	ConfigError  string  `json:"config_error,omitempty" doc:"Why the latest configuration is not in force"`
	LastEvent    uint64  `json:"last_event" doc:"Index of the latest event"`
	Uptime       float64 `json:"uptime_seconds"`
	Version      string  `json:"version"`
}
