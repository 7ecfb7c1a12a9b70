package client

import "time"

// Assignments are the tasks that an external executor is to run on its node.
type Assignments struct {
	Revision    uint64       `json:"revision" doc:"Another one for every other list, to ask for the next with"`
	Assignments []Assignment `json:"assignments"`
}

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
	// An executor that has lost its memory does not start what it has acknowledged:
	// it reports it lost.
	Acknowledged bool `json:"acknowledged,omitempty" doc:"The executor has said that it has it; not to be started by one that does not remember it"`
	Stop         bool `json:"stop,omitempty" doc:"The job was cancelled: end the task and report how it ended"`
}

// TaskReport is what an executor says of a task. The same report twice is one.
type TaskReport struct {
	State    JobState  `json:"state" enum:"starting,running,succeeded,failed,lost" doc:"Starting acknowledges the task: it is on the executor's disk, and nothing runs yet"`
	ExitCode int32     `json:"exit_code,omitempty" doc:"Of an ended task"`
	Signal   string    `json:"signal,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}
