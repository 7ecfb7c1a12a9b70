package poise

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/resource"
)

// JobID identifies a job for as long as anything remembers it.
type JobID string

// TenantID identifies a tenant.
type TenantID string

// Device amounts are in milli-devices: WholeDevice is one device.
const WholeDevice = 1000

// MaxDevices bounds the devices of a node and of an ask: a device mask of the
// guest ABI has 32 bits.
const MaxDevices = 32

// Job is what a tenant submits.
type Job struct {
	ID          JobID
	Name        string // what people call it; several jobs may share one
	Tenant      TenantID
	Priority    int32 // larger is more urgent
	Tasks       int32 // how many tasks start with it, itself included: Gang.Size, or 1
	Request     Request
	Selectors   []Selector
	Tolerations []Toleration
	RunTime     Span // declared run time; 0 = not declared
	// After are jobs that are known and that end before this one is tried. What
	// their outcome means for it is for whoever ends them to say.
	After []JobID `json:",omitempty"`
	Gang  *Gang   `json:",omitempty"` // that the job is a member of, nil = of none
	// StartBy is when it has to have started, FinishBy when it has to have ended;
	// 0 = whenever. What becomes of one that has not is for whoever ends it to say.
	StartBy, FinishBy Time    `json:",omitempty"`
	Retry             *Retry  `json:",omitempty"` // nil = never
	Held              string  `json:",omitempty"` // who holds it, "" = nobody
	Labels            []Label `json:",omitempty"` // sorted by key, distinct; what people find it by
	Pod               *Pod    `json:",omitempty"` // nil = it is no pod
}

// Request is what one task of a job needs.
type Request struct {
	Amounts resource.List // per named dimension, base units, devices not included
	Device  DeviceRequest // zero value: no device
}

// DeviceRequest asks for Count whole devices (Milli = 1000) or, with Count 1,
// for a share of one device (Milli < 1000).
type DeviceRequest struct {
	Kind   string   // "gpu", "npu", …
	Count  int32    // devices, 0 = none
	Milli  int32    // milli-devices on each, 1..1000
	Models []string // allowed models, sorted; empty = any
}

// Shared says whether the request is for a share of one device.
func (d *DeviceRequest) Shared() bool { return d.Count == 1 && d.Milli < WholeDevice }

// Total is the milli-devices asked for in all.
func (d *DeviceRequest) Total() int64 { return int64(d.Count) * int64(d.Milli) }

// Validate checks every field and names the first that is wrong.
func (j *Job) Validate() error {
	op := fmt.Sprintf("job %q", j.ID)
	if err := validName(op, "id", string(j.ID)); err != nil {
		return err
	}
	if err := validName(op, "name", j.Name); err != nil {
		return err
	}
	if err := validName(op, "tenant", string(j.Tenant)); err != nil {
		return err
	}
	tasks := int32(1)
	if j.Gang != nil {
		if err := j.Gang.Validate(op); err != nil {
			return err
		}
		tasks = j.Gang.Size
	}
	if j.Tasks != tasks {
		return invalid(op, fmt.Sprintf("tasks: %d, expected %d", j.Tasks, tasks))
	}
	if j.RunTime < 0 {
		return invalid(op, fmt.Sprintf("run_time: %d ms, expected 0 or more", j.RunTime))
	}
	if len(j.After) > MaxAfter {
		return invalid(op, fmt.Sprintf("after: %d jobs, expected at most %d", len(j.After), MaxAfter))
	}
	for i, id := range j.After {
		if err := validName(op, "after", string(id)); err != nil {
			return err
		}
		if id == j.ID || slices.Contains(j.After[:i], id) {
			return invalid(op, fmt.Sprintf("after: %q, expected other jobs, each once", id))
		}
	}
	if err := j.validLife(op); err != nil {
		return err
	}
	if err := j.Request.Validate(op); err != nil {
		return err
	}
	if j.Pod != nil {
		if err := j.Pod.Validate(op); err != nil {
			return err
		}
	}
	for i := range j.Selectors {
		if err := j.Selectors[i].Validate(); err != nil {
			return &Error{Kind: Invalid, Op: op, Err: err}
		}
	}
	for i := range j.Tolerations {
		if err := j.Tolerations[i].Validate(); err != nil {
			return &Error{Kind: Invalid, Op: op, Err: err}
		}
	}
	return nil
}

// Validate checks amounts and the device ask; op names the owner in errors.
func (r *Request) Validate(op string) error {
	if err := r.Amounts.Validate(); err != nil {
		return &Error{Kind: Invalid, Op: op, Detail: "request", Err: err}
	}
	d := &r.Device
	if d.Count == 0 {
		if d.Kind != "" || d.Milli != 0 || len(d.Models) != 0 {
			return invalid(op, "request: devices: kind, share or models without a count, expected a count of 1 or more")
		}
		return nil
	}
	if err := validName(op, "request: device kind", d.Kind); err != nil {
		return err
	}
	if d.Count < 0 || d.Count > MaxDevices {
		return invalid(op, fmt.Sprintf("request: %s: count %d, expected 1 to %d", d.Kind, d.Count, MaxDevices))
	}
	if d.Milli < 1 || d.Milli > WholeDevice {
		return invalid(op, fmt.Sprintf("request: %s: share %d milli, expected 1 to %d", d.Kind, d.Milli, WholeDevice))
	}
	if d.Count > 1 && d.Milli != WholeDevice {
		return invalid(op, fmt.Sprintf("request: %s: %d devices of %d milli each, expected whole devices or a share of one", d.Kind, d.Count, d.Milli))
	}
	for i, m := range d.Models {
		if err := validName(op, "request: device model", m); err != nil {
			return err
		}
		if i > 0 && d.Models[i-1] >= m {
			return invalid(op, fmt.Sprintf("request: device models: %q after %q, expected sorted and distinct", m, d.Models[i-1]))
		}
	}
	if _, ok := r.Amounts.Find(d.Kind); ok {
		return invalid(op, fmt.Sprintf("request: %s: both an amount and a device kind, expected one of them", d.Kind))
	}
	return nil
}

// MaxAfter bounds the jobs that a job comes after.
const MaxAfter = 1000

// maxNameLen is the longest name that Kubernetes allows for an object.
const maxNameLen = 253

func validName(op, field, name string) error {
	if name == "" {
		return invalid(op, field+": empty, expected a name")
	}
	if len(name) > maxNameLen {
		return invalid(op, fmt.Sprintf("%s: %d bytes, expected at most %d", field, len(name), maxNameLen))
	}
	ascii := true
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f {
			return invalid(op, fmt.Sprintf("%s: %q has a space or control character at byte %d, expected none", field, name, i))
		}
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	if !ascii && !utf8.ValidString(name) {
		return invalid(op, fmt.Sprintf("%s: %q, expected valid UTF-8", field, name))
	}
	return nil
}

func invalid(op, detail string) error { return &Error{Kind: Invalid, Op: op, Detail: detail} }
