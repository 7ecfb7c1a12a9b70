package poise

import "unsafe"

// Job is the job of a call.
type Job struct{ c *Call }

// Job gives the job of the call.
func (c *Call) Job() Job { return Job{c} }

// Request is what one task asks for of a dimension, in base units.
func (j Job) Request(d Dim) float64 { return *j.c.double(j.c.follow(j.c.job, 40), 8*int(d)) }

// Selectors is the number of selectors of the job.
func (j Job) Selectors() int { return int(*j.c.word(j.c.job, 24)) }

// Devices is what one task asks for of devices.
func (j Job) Devices() Ask {
	c := j.c
	return Ask{
		Count:  int(*c.word(c.job, 4)),
		Milli:  int(*c.word(c.job, 8)),
		Kind:   Symbol(*c.word(c.job, 12)),
		Models: c.symbols(c.job, 16),
	}
}

// symbols gives the list whose length stands at p + offset and whose pointer
// follows.
func (c *Call) symbols(p unsafe.Pointer, offset int) []Symbol {
	return unsafe.Slice((*Symbol)(c.follow(p, offset+4)), int(*c.word(p, offset)))
}

// Field is a field of the job.
type Field[T int64 | uint64 | Symbol] struct{ index int }

// Of gives the field of the call's job.
func (f Field[T]) Of(c *Call) T { return T(*c.word64(c.follow(c.job, 32), 8*f.index)) }

// Priority declares the field priority: larger is more urgent.
func (p *Plugin) Priority() Field[int64] { return Field[int64]{index(&p.fields, "priority")} }

// Tasks declares the field of the number of tasks of the job.
func (p *Plugin) Tasks() Field[int64] { return Field[int64]{index(&p.fields, "tasks")} }

// TaskIndex declares the field that says which task this is, from 0. A row-pure
// plugin may not have it.
func (p *Plugin) TaskIndex() Field[int64] { return Field[int64]{index(&p.fields, "task_index")} }

// Tenant declares the field of the job's tenant.
func (p *Plugin) Tenant() Field[Symbol] { return Field[Symbol]{index(&p.fields, "tenant")} }

// RunTime declares the field of the run time in milliseconds, 0 = not known.
func (p *Plugin) RunTime() Field[int64] { return Field[int64]{index(&p.fields, "run_time")} }

// Seed declares the field of a number that is the same in every attempt at the
// job. A row-pure plugin may not have it.
func (p *Plugin) Seed() Field[uint64] { return Field[uint64]{index(&p.fields, "seed")} }
