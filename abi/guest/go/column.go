package poise

import "unsafe"

// Dim is a dimension of the plugin: a resource of which it reads capacity or
// allocated amounts.
type Dim int

// Column is a column of one element per row.
type Column[T uint32 | uint64 | float64 | Symbol] struct{ place }

// Of gives the column of this call. It has Call.Rows elements.
func (k Column[T]) Of(c *Call) []T { return unsafe.Slice((*T)(k.at(c)), c.rows) }

// place is where the descriptor of a column stands. Labels follow the columns,
// whose number is known at the end of the declaration only.
type place struct {
	plugin *Plugin
	index  int
	label  bool
}

func (p place) at(c *Call) unsafe.Pointer {
	i := p.index
	if p.label {
		i += len(p.plugin.columns)
	}
	return c.follow(c.columns, 16*i+4)
}

func (p *Plugin) column(name string) place {
	return place{plugin: p, index: index(&p.columns, name)}
}

// Amount is a column of amounts of one dimension, in base units: cpu in
// milli-cores, memory and storage in bytes, devices in milli-devices, anything
// else in milli-units.
type Amount struct {
	Column[float64]
	// Dim is the dimension, by which the other blocks are asked.
	Dim Dim
}

func (p *Plugin) amount(word, dim string) Amount {
	return Amount{Column[float64]{p.column(word + ":" + dim)}, Dim(index(&p.dims, dim))}
}

// Capacity declares the column of what nodes have of a dimension.
func (p *Plugin) Capacity(dim string) Amount { return p.amount("capacity", dim) }

// Allocated declares the column of what the tasks of nodes asked for, which may
// exceed the capacity.
func (p *Plugin) Allocated(dim string) Amount { return p.amount("allocated", dim) }

// Class declares the column of the names of nodes' classes, NoSymbol = none.
func (p *Plugin) Class() Column[Symbol] { return Column[Symbol]{p.column("class")} }

// Label declares a column of a label's values; NoSymbol is a node without it.
func (p *Plugin) Label(key string) Column[Symbol] {
	return Column[Symbol]{place{plugin: p, index: index(&p.labels, key), label: true}}
}

// Bits of the column Taints.
const (
	TaintNoSchedule  = 1 << iota // the node has such a taint
	TaintNoExecute               // the node has such a taint
	TaintUntolerated             // it has one that the job does not tolerate; no candidate has
)

// Taints declares the column of taints.
func (p *Plugin) Taints() Column[uint64] { return Column[uint64]{p.column("taints")} }

// Selectors declares the column of the job's selectors that match: bit i is the
// i-th, of the first 64.
func (p *Plugin) Selectors() Column[uint64] { return Column[uint64]{p.column("selectors")} }

// RunningTasks declares the column of tasks on a node.
func (p *Plugin) RunningTasks() Column[uint32] { return Column[uint32]{p.column("running_tasks")} }

// TenantTasks declares the column of tasks of the job's tenant on a node.
func (p *Plugin) TenantTasks() Column[uint32] { return Column[uint32]{p.column("tenant_tasks")} }

// JobTasks declares the column of tasks of this job on a node, tentative ones
// included.
func (p *Plugin) JobTasks() Column[uint32] { return Column[uint32]{p.column("job_tasks")} }

// Age declares the column of milliseconds since a node joined. A row-pure plugin
// may not have it.
func (p *Plugin) Age() Column[float64] { return Column[float64]{p.column("age")} }

// DeviceModel declares the column of the model of a node's devices of a kind.
func (p *Plugin) DeviceModel(kind string) Column[Symbol] {
	return Column[Symbol]{p.column("device_model:" + kind)}
}
