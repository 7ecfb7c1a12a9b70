package manifest

import (
	"fmt"
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// role is some members of a gang that ask for the same.
type role struct {
	name      string // "" = the only one
	tasks     int
	request   poise.Request
	modelText string
}

// gang is what a document says of a gang.
type gang struct {
	spec  poise.Gang
	roles []role
}

// jobGang reads how many members start together, and where; nil for a single job.
func jobGang(o *object) *gang {
	if !o.has("tasks") && !o.has("roles") {
		for _, key := range []string{"min_tasks", "topology"} {
			if o.has(key) {
				o.found.add(o.lineOf(key), key, "given without tasks", "tasks or roles beside it")
			}
		}
		return nil
	}
	g := &gang{}
	if o.has("roles") {
		for _, key := range []string{"tasks", "request", "devices"} {
			if o.has(key) {
				o.found.add(o.lineOf(key), key, "given beside roles", "each role with its own")
			}
		}
		g.roles = jobRoles(o)
	} else {
		g.roles = []role{{tasks: int(o.integer("tasks", 1, 1, poise.MaxGang))}}
		g.roles[0].request, g.roles[0].modelText = jobRequest(o)
	}
	size := 0
	for i := range g.roles {
		size += g.roles[i].tasks
	}
	if size > poise.MaxGang {
		o.found.add(o.lineOf("roles"), "roles", fmt.Sprintf("%d tasks in all", size), fmt.Sprintf("at most %d", poise.MaxGang))
		return g
	}
	g.spec.Size = int32(size)
	g.spec.Min = int32(o.integer("min_tasks", int64(size), 1, int64(max(size, 1))))
	g.spec.Topology = jobTopology(o, "topology")
	for _, key := range []string{"count", "array"} {
		if o.has(key) {
			o.found.add(o.lineOf(key), key, "given beside a gang", "tasks, or documents of their own")
		}
	}
	return g
}

func jobRoles(o *object) []role {
	var roles []role
	list := o.list("roles")
	if len(list) == 0 {
		o.found.add(o.lineOf("roles"), "roles", "an empty list", "at least one role")
	}
	for i, n := range list {
		r, ok := o.found.object(n, fmt.Sprintf("roles[%d]", i), "name", "tasks", "request", "devices")
		if !ok {
			continue
		}
		one := role{tasks: int(r.integer("tasks", 1, 1, poise.MaxGang))}
		if r.require("name", "a name") {
			one.name = r.text("name")
		}
		one.request, one.modelText = jobRequest(&r)
		roles = append(roles, one)
	}
	return roles
}

// jobTopology reads where members go beside each other, nil for anywhere.
func jobTopology(o *object, key string) *poise.Topology {
	t, ok := o.object(key, "key", "mode", "max_skew")
	if !ok {
		return nil
	}
	topology := &poise.Topology{Mode: poise.TopologyPack}
	if t.require("key", "the key of a label, such as rack") {
		topology.Key = t.text("key")
	}
	if t.has("mode") {
		topology.Mode = t.text("mode")
	}
	if topology.Mode == poise.TopologySpread || t.has("max_skew") {
		topology.MaxSkew = int32(t.integer("max_skew", 1, 1, poise.MaxGang))
	}
	if topology.Key != "" && topology.Mode != "" {
		o.found.check(t.line, o.field(key), topology.Validate("job"))
	}
	return topology
}

// jobMember reads which member of which gang a job is, nil for none.
func jobMember(o *object) *poise.Gang {
	m, ok := o.object("gang", "id", "name", "size", "min", "index", "topology")
	if !ok {
		return nil
	}
	for _, key := range []string{"tasks", "roles"} {
		if o.has(key) {
			o.found.add(o.lineOf(key), key, "given beside gang", "one of them")
		}
	}
	g := &poise.Gang{
		Size: int32(m.integer("size", 0, 2, poise.MaxGang)), Min: int32(m.integer("min", 0, 1, poise.MaxGang)),
		Index: int32(m.integer("index", 0, 0, math.MaxInt32)), Topology: jobTopology(&m, "topology"),
	}
	if m.require("id", "the id of the gang") {
		g.ID = m.text("id")
	}
	m.require("size", "how many members the gang has")
	if m.has("name") {
		g.Name = m.text("name")
	}
	return g
}

// addGang takes the members of a gang: job with the request of each, and a name of
// its own; field is what errors name.
func (d *jobs) addGang(line int, field string, job Job, g *gang) {
	base := job.Name
	if g.spec.Size == 1 {
		r := &g.roles[0]
		if g.spec.Topology != nil {
			d.problems.add(line, "topology", "given with one task", "two tasks or more")
			return
		}
		job.Request, job.ModelText = r.request, r.modelText
		d.add(line, field, job, 1, 0, copyName)
		return
	}
	g.spec.ID, g.spec.Name = base, base
	index := int32(0)
	for i := range g.roles {
		r := &g.roles[i]
		job.Request, job.ModelText, job.Tasks = r.request, r.modelText, g.spec.Size
		names := base
		if r.name != "" {
			names += "-" + r.name
		}
		for _, name := range d.names.take(&d.problems, line, field, names, r.tasks, copyName) {
			member := g.spec
			member.Index = index
			index++
			job.ID, job.Name, job.Gang = poise.JobID(name), name, &member
			if err := job.Validate(); err != nil {
				d.invalid(line, "id", field, err)
				return
			}
			d.list = append(d.list, job.at(d.fields == nil))
		}
	}
}
