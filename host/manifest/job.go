package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Job is a job of a run, with what only a run needs to know of it.
type Job struct {
	poise.Job
	Submit poise.Time // since the start of the run
	Run
	// ModelText is the allowed models joined by |, in the order and as often as
	// the file names them, where Request.Device.Models has them sorted and
	// once. The published fgd baseline tells kinds of jobs apart by this text.
	ModelText string
	Task      Task `json:",omitzero"`
	// Array: it is that many. A run in virtual time has them apart already, with the
	// array's name.
	Array *Array `json:",omitempty"`
	Group string `json:",omitempty"`
	Hold  bool   `json:",omitempty"` // it is held from the start
	// StartIn and FinishIn are StartBy and FinishBy from when it is submitted, 0 = not
	// given so. A run in virtual time has made times of them already.
	StartIn, FinishIn poise.Span `json:",omitempty"`
}

// defaultTenant owns the jobs of documents that name no tenant.
const defaultTenant = "default"

// jobs collects the jobs of a file. Copies of a job share their slices.
type jobs struct {
	problems
	names  names
	beside []string // fields of the same document that are read elsewhere
	fields []string // in place of jobFields
	list   []Job

	numbers map[int64]string // first job of each number, in the Standard Workload Format
	tenants *[]poise.Tenant  // those of the file; nil: it may declare none
}

var _ decoder = (*jobs)(nil)

// jobFields are the fields of a job.
var jobFields = append([]string{"job", "count", "tenant", "priority", "run_time", "after", "request", "devices", "selectors", "tolerations", "command", "env", "dir", "image", "tasks", "min_tasks", "topology", "roles", "gang"}, append(lifeFields, runFields...)...)

func (d *jobs) size() int {
	if d.tenants != nil {
		return len(d.list) + len(*d.tenants)
	}
	return len(d.list)
}

func (d *jobs) document(n *yaml.Node) {
	if d.tenants != nil && isTenant(n) {
		d.tenant(n)
		return
	}
	before := d.count
	fields := jobFields
	if d.fields != nil {
		fields = d.fields
	}
	o, ok := d.object(n, "", append(d.beside[:len(d.beside):len(d.beside)], fields...)...)
	if !ok {
		return
	}
	job := Job{
		Job: poise.Job{
			Tenant:      defaultTenant,
			Priority:    int32(o.integer("priority", 0, math.MinInt32, math.MaxInt32)),
			Tasks:       1,
			Selectors:   jobSelectors(&o),
			Tolerations: jobTolerations(&o),
			RunTime:     o.span("run_time"),
		},
		Submit: poise.Time(o.span("submit")),
		Run:    jobRun(&o),
		Task:   jobTask(&o),
	}
	jobLife(&o, &job)
	if o.has("tenant") {
		job.Tenant = poise.TenantID(o.text("tenant"))
	}
	members := jobGang(&o)
	if job.Gang = jobMember(&o); job.Gang != nil {
		job.Tasks = job.Gang.Size
	}
	if members == nil {
		job.Request, job.ModelText = jobRequest(&o)
	}
	count := int(o.integer("count", 1, 1, maxCopies))
	every := o.span("every")
	if every > 0 && poise.Span(count-1) > (maxSpan-poise.Span(job.Submit))/every {
		o.wrong("every", "the last copy within 292 years")
	}
	if job.Array != nil && (o.has("count") || every > 0) {
		o.wrong("array", "no count and no every beside it")
	}
	if o.require("job", "a name") {
		job.Name = o.text("job")
	}
	switch {
	case d.count > before:
	case members != nil:
		d.addGang(o.lineOf("job"), "job", job, members)
	case job.Array != nil && d.fields == nil: // a run
		array, first := job.Array, len(d.list)
		job.Array, job.Group = nil, job.Name
		d.add(o.lineOf("job"), "job", job, int(array.Count), 0, elementName)
		array.inLines(d.list[first:])
	default:
		d.add(o.lineOf("job"), "job", job, count, every, copyName)
	}
}

// add checks the job and takes count copies of it, every apart, with names from
// named; name is the field that errors name.
func (d *jobs) add(line int, name string, job Job, count int, every poise.Span, named namer) {
	base := job.Name
	job.Name = named(base, 0, count)
	job.ID = poise.JobID(job.Name)
	if err := job.Validate(); err != nil {
		d.invalid(line, "id", name, err)
		return
	}
	for _, copied := range d.names.take(&d.problems, line, name, base, count, named) {
		job.ID, job.Name = poise.JobID(copied), copied
		d.list = append(d.list, job.at(d.fields == nil))
		job.Submit += poise.Time(every)
	}
}

// jobRequest reads request and devices, and gives the models as written too.
func jobRequest(o *object) (poise.Request, string) {
	var r poise.Request
	d, narrowed := o.object("devices", "kind", "models")
	declared := deviceKind(&d)
	o.require("request", "amounts such as {cpu: 4, memory: 16Gi}, or {} for none")
	ask, _ := o.object("request")
	for _, key := range ask.keys {
		if isDevice(key, declared) {
			jobDevice(&ask, key, &r.Device)
		} else if n := ask.amount(key, resource.ParseRequest); n > 0 {
			r.Amounts = append(r.Amounts, resource.Amount{Name: key, Value: n})
		}
	}
	r.Amounts = sorted(r.Amounts)
	if !narrowed {
		return r, ""
	}
	if r.Device.Kind == "" || declared != "" && declared != r.Device.Kind {
		wanted := "gpu"
		if declared != "" {
			wanted = declared
		}
		d.found.add(d.line, "devices", "no such device asked for", "an amount above 0 in request, such as "+wanted+": 1")
	}
	models := jobModels(&d)
	r.Device.Models = slices.Sorted(slices.Values(models))
	return r, strings.Join(models, "|")
}

func jobDevice(ask *object, kind string, r *poise.DeviceRequest) {
	text, ok := ask.quantity(kind)
	if !ok {
		return
	}
	count, milli, err := resource.ParseDevices(kind, text)
	switch {
	case err != nil:
		ask.refuse(kind, err)
	case count == 0:
	case count > poise.MaxDevices:
		ask.wrong(kind, fmt.Sprintf("at most %d devices", poise.MaxDevices))
	case r.Kind != "":
		ask.wrong(kind, "one device kind a job, and "+r.Kind+" is asked for")
	default:
		r.Kind, r.Count, r.Milli = kind, count, milli
	}
}

func jobModels(d *object) []string {
	var models []string
	for i, n := range d.list("models") {
		model, ok := textOf(n)
		switch {
		case !ok || model == "":
			d.found.add(n.Line, fmt.Sprintf("devices.models[%d]", i), describe(n), "a model name")
		case slices.Contains(models, model):
			d.found.add(n.Line, fmt.Sprintf("devices.models[%d]", i), quote(model)+" given twice", "every model once")
		}
		models = append(models, model)
	}
	if d.has("models") && len(models) == 0 && d.values["models"].Kind == yaml.SequenceNode {
		d.found.add(d.lineOf("models"), "devices.models", "an empty list", "at least one model, or no models field for any")
	}
	return models
}

func jobSelectors(o *object) []poise.Selector {
	var selectors []poise.Selector
	for i, n := range o.list("selectors") {
		path := fmt.Sprintf("selectors[%d]", i)
		s, ok := o.found.object(n, path, "key", "op", "values")
		if !ok {
			continue
		}
		selector := poise.Selector{Key: s.text("key"), Op: poise.Op(s.text("op"))}
		for _, v := range s.list("values") {
			text, ok := label(v)
			if !ok {
				o.found.add(v.Line, path+".values", describe(v), wantLabel)
			}
			selector.Values = append(selector.Values, text)
		}
		o.found.check(n.Line, path, selector.Validate())
		selectors = append(selectors, selector)
	}
	return selectors
}

func jobTolerations(o *object) []poise.Toleration {
	var tolerations []poise.Toleration
	for i, n := range o.list("tolerations") {
		path := fmt.Sprintf("tolerations[%d]", i)
		t, ok := o.found.object(n, path, "key", "value", "exists", "effect")
		if !ok {
			continue
		}
		toleration := poise.Toleration{
			Key:    t.text("key"),
			Value:  t.labelText("value"),
			Exists: t.flag("exists", false),
			Effect: poise.Effect(t.text("effect")),
		}
		o.found.check(n.Line, path, toleration.Validate())
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}
