package policy

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// mib is the unit of memory of a kind of task.
const mib = 1 << 20

// putJob writes what a guest sees of the job into b, whose slices are used again.
func (r *mirror) putJob(b *abi.JobBlock, job *state.Job) {
	ask := &job.Shape.Request.Device
	b.DeviceCount, b.DeviceMilli, b.DeviceKind = ask.Count, ask.Milli, r.symbols.id(ask.Kind)
	b.Selectors = len(job.Shape.Selectors)
	b.Models, b.Request, b.Fields = b.Models[:0], b.Request[:0], b.Fields[:0]
	for _, m := range ask.Models[:min(len(ask.Models), abi.MaxRowModels)] {
		b.Models = append(b.Models, r.symbols.id(m))
	}
	for _, name := range r.dims {
		amount, _ := job.Shape.Request.Amounts.Find(name)
		if ask.Count > 0 && name == ask.Kind {
			amount = ask.Total()
		}
		b.Request = append(b.Request, float64(amount))
	}
	for _, field := range r.manifest.JobFields {
		b.Fields = append(b.Fields, r.jobField(job, field))
	}
}

// jobField gives one field.
func (r *mirror) jobField(job *state.Job, field string) uint64 {
	switch field {
	case abi.FieldPriority:
		return uint64(int64(job.Priority))
	case abi.FieldTasks:
		return uint64(int64(job.Tasks))
	case abi.FieldTenant:
		return uint64(r.symbols.id(string(job.Tenant)))
	case abi.FieldRunTime:
		return uint64(job.RunTime)
	case abi.FieldSeed:
		return jobSeed(job)
	}
	if job.Gang != nil { // task_index
		return uint64(int64(job.Gang.Index))
	}
	return 0
}

// domainBlocks gives what a guest sees of the domains, for a job of the tenant.
// A job that is being planned has no task on any node.
func (r *mirror) domainBlocks(tenant poise.TenantID) []abi.DomainBlock {
	blocks := make([]abi.DomainBlock, len(r.domains))
	for i := range r.domains {
		c := &r.domains[i]
		b := abi.DomainBlock{Absent: c.absent}
		for _, symbol := range slices.Sorted(maps.Keys(c.values)) {
			v := c.values[symbol]
			b.Values = append(b.Values, abi.DomainValue{
				Value: symbol, Nodes: v.nodes, TenantTasks: v.tasks[tenant], Capacity: doubles(v.capacity), Allocated: doubles(v.allocated),
			})
		}
		blocks[i] = b
	}
	return blocks
}

func doubles(sums []sum) []float64 {
	out := make([]float64, len(sums))
	for i, s := range sums {
		out[i] = s.double()
	}
	return out
}

// profileBlock gives what a guest sees of the demand: kinds of task that its
// dimensions do not tell apart are one shape.
func (r *mirror) profileBlock(d *poise.Demand) abi.ProfileBlock {
	if d == nil {
		return abi.ProfileBlock{}
	}
	type entry struct {
		abi.ShapeBlock
		models string
	}
	var all []entry
	index := map[string]int{}
	for i := range d.Kinds {
		k := &d.Kinds[i]
		s := abi.ShapeBlock{DeviceCount: k.Count, DeviceMilli: k.Milli}
		for _, name := range r.dims {
			s.Request = append(s.Request, kindAmount(k, name))
		}
		for _, m := range k.Models[:min(len(k.Models), abi.MaxRowModels)] {
			s.Models = append(s.Models, r.symbols.id(m))
		}
		e := entry{s, strings.Join(k.Models, "|")}
		key := shapeKey(&e.ShapeBlock, e.models)
		at, ok := index[key]
		if !ok {
			at = len(all)
			index[key] = at
			all = append(all, e)
		}
		all[at].Count += k.Times
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), slices.Compare(b.Request, a.Request), cmp.Compare(b.DeviceMilli, a.DeviceMilli),
			cmp.Compare(b.DeviceCount, a.DeviceCount), strings.Compare(b.models, a.models),
		)
	})
	p := abi.ProfileBlock{Epoch: d.Epoch, TotalCount: d.Total}
	for i := range all {
		s := all[i].ShapeBlock
		asked := float64(int64(s.DeviceCount)*int64(s.DeviceMilli)) / poise.WholeDevice
		s.Weight = float64(s.Count * (1 + asked))
		p.TotalWeight += s.Weight
		p.Shapes = append(p.Shapes, s)
	}
	return p
}

// shapeKey tells shapes apart.
func shapeKey(s *abi.ShapeBlock, models string) string {
	var b []byte
	for _, v := range s.Request {
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(s.DeviceCount))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.DeviceMilli))
	return string(b) + models
}

// kindAmount gives what a kind of task asks of a dimension, in base units. Of
// the dimensions that are no devices, only cpu and memory are counted.
func kindAmount(k *poise.TaskKind, dim string) float64 {
	switch dim {
	case "cpu":
		return float64(k.CPU)
	case "memory":
		return float64(k.Memory) * mib
	case k.Kind:
		return float64(int64(k.Count) * int64(k.Milli))
	}
	return 0
}
