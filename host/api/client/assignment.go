package client

import "time"

// Assignment is a task that an external executor is to run on its node.
type Assignment struct {
	Placement string              `json:"placement" doc:"Identifies the task for good"`
	Job       string              `json:"job" doc:"Id of the job"`
	Name      string              `json:"name"`
	Tenant    string              `json:"tenant"`
	Node      string              `json:"node"`
	Devices   []uint16            `json:"devices,omitempty" doc:"Indexes of the node's devices, ascending"`
	State     JobState            `json:"state" enum:"starting,running"`
	Request   map[string]Quantity `json:"request" doc:"What it may use, devices included"`
	RunTime   string              `json:"run_time,omitempty"`
	Command   []string            `json:"command,omitempty"`
	Env       map[string]string   `json:"env,omitempty"`
	Dir       string              `json:"dir,omitempty"`
	Stop      bool                `json:"stop,omitempty" doc:"The job was cancelled: end the task and report how it ended"`
}

// TaskReport is what an executor says of a task. The same report twice is one.
type TaskReport struct {
	State    JobState  `json:"state" enum:"running,succeeded,failed,lost"`
	ExitCode int32     `json:"exit_code,omitempty" doc:"Of an ended task"`
	Signal   string    `json:"signal,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}
