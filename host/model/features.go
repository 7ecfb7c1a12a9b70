package model

import (
	"math"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// deviceFeature is the name of the feature that counts devices.
const deviceFeature = "devices"

// feature is one resource of a node on a log scale: log2(1+x), where x is in
// cores for cpu, GiB for memory, storage and every other dimension in bytes,
// Gbit per second for bandwidth, devices for devices, and whole units for any
// other name. So twice as much is one octave more, whatever the resource, and
// nothing at all is 0. A dimension that a node does not declare is 0. The
// result is finite and at least 0, since amounts are integers of 0 or more.
type feature struct {
	name string
	unit float64 // base units in one x
}

func featuresOf(names []string) []feature {
	features := make([]feature, len(names))
	for i, name := range names {
		features[i] = feature{name: name, unit: 1000}
		switch {
		case name == "bandwidth":
			features[i].unit = 1e12 // milli-bits in a Gbit
		case resource.UnitOf(name) == resource.Bytes:
			features[i].unit = gib
		}
	}
	return features
}

const gib = 1 << 30

func (f *feature) of(n *poise.Node) float64 {
	if f.name == deviceFeature {
		return math.Log2(1 + float64(n.Devices.Count))
	}
	amount, _ := n.Capacity.Find(f.name)
	if amount == 0 {
		return 0
	}
	return math.Log2(1 + float64(amount)/f.unit)
}

// Group is what nodes must share to be in one class, however alike they are
// otherwise: kind and model of their devices. The zero value is nodes without
// devices.
type Group struct{ Kind, Model string }

func groupOf(n *poise.Node) Group { return Group{Kind: n.Devices.Kind, Model: n.Devices.Model} }
