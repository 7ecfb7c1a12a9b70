package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

const (
	mib         = 1 << 20
	maxMiB      = math.MaxInt64 / mib
	maxSeconds  = int64(maxSpan) / 1000
	openbTenant = "openb"
	openbKind   = "gpu"
)

func (d *nodes) columns() (required, optional []string) {
	return []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, nil
}

// row reads a line of an openb node list.
func (d *nodes) row(r *row) {
	before := d.count
	node := poise.Node{Name: r.cell("sn"), Capacity: openbAmounts(r)}
	model := r.cell("model")
	if n := r.number("gpu", "devices", poise.MaxDevices); n > 0 {
		node.Devices = poise.Devices{Kind: openbKind, Model: model, Count: int32(n)}
	}
	switch {
	case d.count > before:
	case node.Devices.Count == 0 && model != "":
		d.problems.add(r.line, "model", quote(model)+" without a device", "an empty cell where gpu is 0")
	default:
		d.add(r.line, "sn", "cpu_milli, memory_mib, gpu", node, 1)
	}
}

func openbAmounts(r *row) resource.List {
	var list resource.List
	if n := r.number("cpu_milli", "milli-cores", math.MaxInt64); n > 0 {
		list = append(list, resource.Amount{Name: "cpu", Value: n})
	}
	if n := r.number("memory_mib", "MiB", maxMiB); n > 0 {
		list = append(list, resource.Amount{Name: "memory", Value: n * mib})
	}
	return list
}

func (d *jobs) columns() (required, optional []string) {
	return []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"},
		[]string{"gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"}
}

// row reads a line of an openb pod list. qos and pod_phase play no part.
func (d *jobs) row(r *row) {
	before := d.count
	job := Job{Job: poise.Job{Name: r.cell("name"), Tenant: openbTenant, Tasks: 1}}
	job.Request.Amounts = openbAmounts(r)
	job.Request.Device, job.ModelText = openbDevice(r)
	job.Submit, job.RunTime = openbTimes(r)
	if d.count == before {
		d.add(r.line, "name", job, 1, 0, copyName)
	}
}

// openbDevice reads num_gpu, gpu_milli and gpu_spec, and gives the allowed
// models as written too.
func openbDevice(r *row) (poise.DeviceRequest, string) {
	before := r.found.count
	var models []string
	for model := range strings.SplitSeq(r.cell("gpu_spec"), "|") {
		if model != "" {
			models = append(models, model)
		}
	}
	count := r.number("num_gpu", "devices", poise.MaxDevices)
	milli := min(r.number("gpu_milli", "milli-devices", math.MaxInt64), poise.WholeDevice)
	if r.found.count > before {
		return poise.DeviceRequest{}, ""
	}
	if count == 0 {
		if milli != 0 {
			r.found.add(r.line, "gpu_milli", quote(r.cell("gpu_milli"))+" without a device", "0 where num_gpu is 0")
		}
		if len(models) > 0 {
			r.found.add(r.line, "gpu_spec", quote(r.cell("gpu_spec"))+" without a device", "an empty cell where num_gpu is 0")
		}
		return poise.DeviceRequest{}, ""
	}
	if milli == 0 || count > 1 && milli < poise.WholeDevice {
		r.found.add(r.line, "gpu_milli", fmt.Sprintf("%s with num_gpu %d", quote(r.cell("gpu_milli")), count), "1 to 1000 for one device, 1000 for several")
	}
	device := poise.DeviceRequest{Kind: openbKind, Count: int32(count), Milli: int32(milli)}
	device.Models = slices.Compact(slices.Sorted(slices.Values(models)))
	return device, strings.Join(models, "|")
}

// openbTimes gives when the job came and how long it ran: from when it was
// scheduled, or came where it never was, until it was deleted. Times are in
// seconds, so a job that ended within the second it started ran for less than
// one; it gets a millisecond, since 0 would say that nothing is known.
func openbTimes(r *row) (poise.Time, poise.Span) {
	before := r.found.count
	if !r.has("creation_time") {
		for _, name := range []string{"scheduled_time", "deletion_time"} {
			if r.cell(name) != "" {
				r.found.add(r.line, name, quote(r.cell(name))+" without a start", "a column creation_time beside it")
			}
		}
		return 0, 0
	}
	created := r.number("creation_time", "seconds", maxSeconds)
	start := created
	if r.cell("scheduled_time") != "" {
		start = r.number("scheduled_time", "seconds", maxSeconds)
	}
	if r.found.count == before && start < created {
		r.found.add(r.line, "scheduled_time", quote(r.cell("scheduled_time")), fmt.Sprintf("creation_time %d or later", created))
	}
	submit := poise.Time(created) * 1000
	if !r.has("deletion_time") {
		return submit, 0
	}
	end := r.number("deletion_time", "seconds", maxSeconds)
	if r.found.count == before && end < start {
		r.found.add(r.line, "deletion_time", quote(r.cell("deletion_time")), fmt.Sprintf("start %d or later", start))
	}
	return submit, max(poise.Span(end-start)*1000, 1)
}
