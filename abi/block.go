package abi

// JobBlock is what a guest sees of the job. Models and DeviceKind are symbols.
type JobBlock struct {
	DeviceCount int32
	DeviceMilli int32 // on each device
	DeviceKind  uint32
	Models      []uint32 // allowed, at most MaxRowModels; empty = any
	Selectors   int
	Fields      []uint64  // in the order of the manifest's job_fields
	Request     []float64 // per dimension of the plugin, base units
}

// FleetBlock is the fleet as a whole: sums and largest capacities over all
// nodes, per dimension of the plugin, base units.
type FleetBlock struct {
	Nodes    int
	Sum, Max []float64
}

// DomainBlock is one label key with the counts of its values over all nodes.
type DomainBlock struct {
	Absent int // nodes without the label
	Values []DomainValue
}

// DomainValue is one value of a label: what its nodes have together.
type DomainValue struct {
	Value       uint32 // symbol
	Nodes       int
	TenantTasks int // of the job's tenant
	JobTasks    int
	Capacity    []float64 // per dimension of the plugin, base units
	Allocated   []float64
}

// ProfileBlock is what jobs have been asking for: shapes by falling count, equal
// counts by falling request in the order of the dimensions, then by falling
// milli-share, device count and models as text joined by "|".
type ProfileBlock struct {
	Epoch       uint64
	TotalCount  float64 // jobs counted, those of shapes left out included
	TotalWeight float64
	Shapes      []ShapeBlock
}

// ShapeBlock is one kind of task, as far as the plugin's dimensions tell kinds
// apart.
type ShapeBlock struct {
	Count       float64 // jobs counted
	Weight      float64 // Count * (1 + devices asked for)
	DeviceCount int32
	DeviceMilli int32
	Models      []uint32  // allowed, as symbols; empty = any
	Request     []float64 // per dimension of the plugin, base units
}
