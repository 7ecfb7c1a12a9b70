package client

import (
	"encoding/json"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// JobSpec is a job as it is submitted. Its JSON is a document of a job file.
type JobSpec struct {
	Name         string              `json:"job" doc:"What people call the job; several may share one name" example:"train"`
	Tenant       string              `json:"tenant,omitempty" doc:"Must be the caller's own where it is given"`
	Priority     int32               `json:"priority,omitempty" doc:"Larger is more urgent"`
	Request      map[string]Quantity `json:"request" doc:"Amounts per resource, whole devices or a share of one included"`
	Devices      *DeviceSpec         `json:"devices,omitempty" doc:"Narrows the devices that the request asks for"`
	Selectors    []Selector          `json:"selectors,omitempty" doc:"All must match the node's labels"`
	Tolerations  []Toleration        `json:"tolerations,omitempty"`
	RunTime      string              `json:"run_time,omitempty" doc:"A duration; the job is ended when it runs longer. On a simulated node it takes so long, and 10m where this is not given" example:"10m"`
	After        []string            `json:"after,omitempty" doc:"Names or ids of jobs that have to succeed before this one is tried; where one does not, this one is withdrawn"`
	AfterAny     []string            `json:"after_any,omitempty" doc:"Names or ids of jobs that have to end before this one is tried, however they do"`
	AfterFailure []string            `json:"after_failure,omitempty" doc:"Names or ids of jobs that have to end otherwise than well before this one is tried; where one succeeds, this one is withdrawn"`
	Array        *ArraySpec          `json:"array,omitempty" doc:"The job is that many equal ones, its elements, NAME-0 and so on; they know POISE_ARRAY_ID, POISE_ARRAY_INDEX and POISE_ARRAY_COUNT. A number alone is taken too"`
	StartBy      string              `json:"start_by,omitempty" doc:"A time, or a span from the submission; a job that has not started by then is withdrawn" example:"90m"`
	FinishBy     string              `json:"finish_by,omitempty" doc:"A time, or a span from the submission; a job that cannot end by then any more is withdrawn, and one that runs then is stopped" example:"2026-12-01T08:00:00Z"`
	Retry        *RetrySpec          `json:"retry,omitempty" doc:"The job is tried again where its task fails or is lost"`
	Hold         bool                `json:"hold,omitempty" doc:"It is held until somebody releases it"`
	// HeldBy is who submits it, which the API knows.
	HeldBy  string            `json:"-"`
	Labels  map[string]string `json:"labels,omitempty" doc:"What it is found by, with a selector"`
	Command []string          `json:"command,omitempty" doc:"Program and arguments, no shell; a simulated node needs none"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty" doc:"Working directory, absolute; one of the task's own where it is not given"`
	Image   string            `json:"image,omitempty" doc:"Container image. A job with one runs as a pod on a node of a cluster of Kubernetes, and one without one never does" example:"docker.io/library/python:3.14"`
	Gang    *GangSpec         `json:"gang,omitempty" doc:"The gang that the job is a member of; all members are submitted together"`
}

// GangSpec says which member of which gang a job is.
type GangSpec struct {
	ID       string        `json:"id" doc:"The same for all members; the daemon gives the gang an id of its own"`
	Name     string        `json:"name,omitempty" doc:"What people call the gang; its id as submitted where it is not given"`
	Size     int32         `json:"size" minimum:"2" maximum:"4096" doc:"How many members there are"`
	Min      int32         `json:"min,omitempty" doc:"How many start together, those with the smallest indexes; all where it is not given"`
	Index    int32         `json:"index" doc:"Of this member, from 0"`
	Topology *TopologySpec `json:"topology,omitempty" doc:"Where members go beside each other"`
}

// TopologySpec says where the members of a gang go beside each other.
type TopologySpec struct {
	Key     string `json:"key" doc:"Of the label whose values are the domains" example:"rack"`
	Mode    string `json:"mode,omitempty" enum:"pack,spread" doc:"All members in one domain, which is the default, or evenly over the domains"`
	MaxSkew int32  `json:"max_skew,omitempty" doc:"For spread: by how much the members in one domain may be more than in another; 1 where it is not given"`
}

func newGangSpec(g *poise.Gang) *GangSpec {
	if g == nil {
		return nil
	}
	s := &GangSpec{ID: g.ID, Name: g.Name, Size: g.Size, Min: g.Min, Index: g.Index}
	if t := g.Topology; t != nil {
		s.Topology = &TopologySpec{Key: t.Key, Mode: t.Mode, MaxSkew: t.MaxSkew}
	}
	return s
}

// DeviceSpec says of what kind and model the devices of a job are to be.
type DeviceSpec struct {
	Kind   string   `json:"kind,omitempty" example:"gpu"`
	Models []string `json:"models,omitempty" doc:"Any of them will do"`
}

// ArraySpec says how many elements a job is.
type ArraySpec struct {
	Count    int32 `json:"count" minimum:"1" maximum:"10000"`
	Parallel int32 `json:"parallel,omitempty" minimum:"1" doc:"How many at most run at a time; all where it is not given"`
}

// UnmarshalJSON takes a number for the count too.
func (a *ArraySpec) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.Count) == nil {
		return nil
	}
	type fields ArraySpec
	return json.Unmarshal(text, (*fields)(a))
}

// RetrySpec says how a job is tried again.
type RetrySpec struct {
	Limit      int32  `json:"limit" minimum:"1" maximum:"1000" doc:"How often at most"`
	Backoff    string `json:"backoff,omitempty" doc:"The wait before the first time, twice as much before each further one; up to half of it less, by chance" example:"10s"`
	MaxBackoff string `json:"max_backoff,omitempty" doc:"The longest wait" example:"5m"`
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
	Effect string `json:"effect,omitempty" doc:"NoSchedule, NoExecute or PreferNoSchedule, or all where it is not given"`
}

// NewJobSpec gives the spec that is read as this job, without what it runs.
func NewJobSpec(j *poise.Job) JobSpec {
	s := JobSpec{
		Name: j.Name, Tenant: string(j.Tenant), Priority: j.Priority,
		Request: Amounts(j.Request.Amounts), RunTime: SpanText(j.RunTime), Gang: newGangSpec(j.Gang),
	}
	if d := &j.Request.Device; d.Count > 0 {
		s.Request[d.Kind] = Quantity(resource.Format(d.Kind, d.Total()))
		s.Devices = &DeviceSpec{Kind: d.Kind, Models: slices.Clone(d.Models)}
	}
	s.StartBy, s.FinishBy = timeText(j.StartBy), timeText(j.FinishBy)
	if r := j.Retry; r != nil {
		s.Retry = &RetrySpec{Limit: r.Limit, Backoff: SpanText(r.Backoff), MaxBackoff: SpanText(r.MaxBackoff)}
	}
	for _, l := range j.Labels {
		if s.Labels == nil {
			s.Labels = make(map[string]string, len(j.Labels))
		}
		s.Labels[l.Key] = l.Value
	}
	for _, o := range j.Selectors {
		s.Selectors = append(s.Selectors, Selector{Key: o.Key, Op: string(o.Op), Values: slices.Clone(o.Values)})
	}
	for _, t := range j.Tolerations {
		s.Tolerations = append(s.Tolerations, Toleration{Key: t.Key, Value: t.Value, Exists: t.Exists, Effect: string(t.Effect)})
	}
	return s
}
