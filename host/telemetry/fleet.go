package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Fleet is how full and how balanced the fleet is at one moment.
type Fleet struct {
	Uses  []Use
	Nodes []NodeCount
	// StrandedGPUs are free GPUs that no waiting GPU job can use, in whole ones:
	// their nodes lack cpu, memory or a tolerated taint for it.
	StrandedGPUs float64
}

// Use is what of a resource the nodes of a class have, each pair once. Amounts
// are cores, bytes or devices.
type Use struct {
	Class, Resource     string
	Capacity, Allocated float64
	// Imbalance is the standard deviation of the allocated share over the nodes
	// of the class: 0 = all alike, 0.5 = half of them full and half empty.
	Imbalance float64
}

// NodeCount is how many nodes of a class are in a state, such as ready,
// not-ready or drained; each pair once.
type NodeCount struct {
	Class, State string
	Count        int
}

var (
	fleetCapacity  = desc("fleet_capacity", "What the nodes of a class have, in cores, bytes or devices.", "class", "resource")
	fleetAllocated = desc("fleet_allocated", "What of it tasks hold.", "class", "resource")
	fleetImbalance = desc("fleet_imbalance_ratio", "Standard deviation of the allocated share over the nodes of a class.", "class", "resource")
	fleetNodes     = desc("fleet_nodes", "Nodes of a class, by state.", "class", "state")
	strandedGPUs   = desc("stranded_gpus", "Free GPUs that no waiting GPU job can use.")
)

// Fleet replaces what is known of the fleet.
func (m *Metrics) Fleet(f Fleet) { m.fleet.put(f) }

func describeFleet() []*prometheus.Desc {
	return []*prometheus.Desc{fleetCapacity, fleetAllocated, fleetImbalance, fleetNodes, strandedGPUs}
}

func collectFleet(f *Fleet, emit func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	for _, u := range f.Uses {
		emit(fleetCapacity, prometheus.GaugeValue, u.Capacity, u.Class, u.Resource)
		emit(fleetAllocated, prometheus.GaugeValue, u.Allocated, u.Class, u.Resource)
		emit(fleetImbalance, prometheus.GaugeValue, u.Imbalance, u.Class, u.Resource)
	}
	for _, n := range f.Nodes {
		emit(fleetNodes, prometheus.GaugeValue, float64(n.Count), n.Class, n.State)
	}
	emit(strandedGPUs, prometheus.GaugeValue, f.StrandedGPUs)
}
