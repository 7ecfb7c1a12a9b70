package client

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// JobSpec is a job as it is submitted. Its JSON is a document of a job file.
type JobSpec struct {
	Name        string              `json:"job" doc:"What people call the job; several may share one name" example:"train"`
	Tenant      string              `json:"tenant,omitempty" doc:"Must be the caller's own where it is given"`
	Priority    int32               `json:"priority,omitempty" doc:"Larger is more urgent"`
	Request     map[string]Quantity `json:"request" doc:"Amounts per resource, whole devices or a share of one included"`
	Devices     *DeviceSpec         `json:"devices,omitempty" doc:"Narrows the devices that the request asks for"`
	Selectors   []Selector          `json:"selectors,omitempty" doc:"All must match the node's labels"`
	Tolerations []Toleration        `json:"tolerations,omitempty"`
	RunTime     string              `json:"run_time,omitempty" doc:"A duration; the job is ended when it runs longer. On a simulated node it takes so long, and 10m where this is not given" example:"10m"`
	After       []string            `json:"after,omitempty" doc:"Names or ids of jobs that have to succeed before this one is tried; where one does not, this one is withdrawn"`
	Command     []string            `json:"command,omitempty" doc:"Program and arguments, no shell; a simulated node needs none"`
	Env         map[string]string   `json:"env,omitempty"`
	Dir         string              `json:"dir,omitempty" doc:"Working directory, absolute; one of the task's own where it is not given"`
}

// DeviceSpec says of what kind and model the devices of a job are to be.
type DeviceSpec struct {
	Kind   string   `json:"kind,omitempty" example:"gpu"`
	Models []string `json:"models,omitempty" doc:"Any of them will do"`
}

// Selector is one requirement on a node's labels.
type Selector struct {
	Key    string   `json:"key"`
	Op     string   `json:"op" example:"In" doc:"In, NotIn, Exists, DoesNotExist, Gt, Lt or Prefix"`
	Values []string `json:"values,omitempty"`
}

// Toleration lets a job onto nodes with a matching taint.
type Toleration struct {
	Key    string `json:"key,omitempty"`
	Value  string `json:"value,omitempty"`
	Exists bool   `json:"exists,omitempty"`
	Effect string `json:"effect,omitempty" doc:"NoSchedule, NoExecute, or both where it is not given"`
}

// NewJobSpec gives the spec that is read as this job, without what it runs.
func NewJobSpec(j *poise.Job) JobSpec {
	s := JobSpec{
		Name: j.Name, Tenant: string(j.Tenant), Priority: j.Priority,
		Request: Amounts(j.Request.Amounts), RunTime: spanText(j.RunTime),
	}
	if d := &j.Request.Device; d.Count > 0 {
		s.Request[d.Kind] = Quantity(resource.Format(d.Kind, d.Total()))
		s.Devices = &DeviceSpec{Kind: d.Kind, Models: slices.Clone(d.Models)}
	}
	for _, o := range j.Selectors {
		s.Selectors = append(s.Selectors, Selector{Key: o.Key, Op: string(o.Op), Values: slices.Clone(o.Values)})
	}
	for _, t := range j.Tolerations {
		s.Tolerations = append(s.Tolerations, Toleration{Key: t.Key, Value: t.Value, Exists: t.Exists, Effect: string(t.Effect)})
	}
	return s
}
