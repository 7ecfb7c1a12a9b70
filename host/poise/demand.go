package poise

// Demand is what jobs have been asking for: all kinds of task, with and without
// devices, as policy plugins see it. It is immutable.
type Demand struct {
	Epoch    uint64  // 1, 2, …
	Arrivals uint64  // arrivals counted when it was built
	Total    float64 // tasks counted, those of kinds that are left out included
	Kinds    []TaskKind
}

// TaskKind is one kind of task and how often it came.
type TaskKind struct {
	Kind   string   // device kind, "" = no device
	CPU    int64    // milli-cores
	Memory int64    // MiB
	Count  int32    // devices
	Milli  int32    // milli-devices on each
	Models []string // allowed models; empty = any
	Times  float64  // arrivals, decayed where that is set
}
