package client

// RecordedCases are live decisions that are worth a test of a plugin.
type RecordedCases struct {
	Plugin  string            `json:"plugin" doc:"That the cases test: the shadow, or for the latest ones the policy in force"`
	Version string            `json:"version"`
	Digest  string            `json:"digest"`
	Params  map[string]string `json:"params,omitempty"`
	Weight  float64           `json:"weight,omitempty"`
	Cases   []RecordedCase    `json:"cases" doc:"The latest first"`
}

// RecordedCase is one decision, and what the plugin chose.
type RecordedCase struct {
	Why    string       `json:"why" example:"differs"`
	Index  uint64       `json:"index" doc:"Of the last event that the decision had seen"`
	Job    string       `json:"job" doc:"Id"`
	Name   string       `json:"name"`
	Choice ShadowChoice `json:"choice"`
	Fault  bool         `json:"fault,omitempty" doc:"The plugin faulted"`
}

// CaseFilter says which recorded decisions are wanted.
type CaseFilter struct {
	Cluster bool // of the cluster's shadow or policy
	Last    int  // the latest decisions by the policy in force in place of the shadow's cases, 0 = not so
	Differ  bool // of the shadow's cases, only those on which it differs
}

// Scene is what a plugin gets to see of a decision: the fleet and the job. The
// tasks of other tenants are in it as what is allocated, node by node, without
// their names.
type Scene struct {
	Nodes   []NodeSpec  `json:"nodes"`
	Running []SceneTask `json:"running"`
	Job     JobSpec     `json:"job"`
}

// SceneTask is what runs on a node. Its JSON is an item of running of a test
// case.
type SceneTask struct {
	JobSpec
	Node string   `json:"node"`
	Held []uint16 `json:"held,omitempty" doc:"Indexes of the devices"`
}
