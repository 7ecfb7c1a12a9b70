package poise

import "unsafe"

// Devices is a column of the free milli-devices of each device of a node.
type Devices struct{ place }

// Devices declares the column of the devices of a kind, such as "gpu".
func (p *Plugin) Devices(kind string) Devices { return Devices{p.column("devices:" + kind)} }

// DeviceView is the column of one call.
type DeviceView struct {
	free  []uint16
	slots int
}

// Of gives the column of this call.
func (d Devices) Of(c *Call) DeviceView {
	slots := int(*c.word(c.table, tableDevices))
	return DeviceView{unsafe.Slice((*uint16)(d.at(c)), c.rows*slots), slots}
}

// Row gives the free milli-devices of a row's devices: 1000 is a whole one.
// Slots beyond the node's devices are 0.
func (v DeviceView) Row(row int) []uint16 { return v.free[row*v.slots:][:v.slots] }

// Ask is what a job asks for of devices.
type Ask struct {
	Count  int      // 0 = none
	Milli  int      // on each: 1000 = whole devices, less is a share of one
	Kind   Symbol   // "gpu", …
	Models []Symbol // allowed ones; empty = any
}

// Allows says whether devices of the model will do.
func (a *Ask) Allows(model Symbol) bool {
	for _, m := range a.Models {
		if m == model {
			return true
		}
	}
	return len(a.Models) == 0
}

// Enough counts the devices on which the ask fits.
func (a *Ask) Enough(free []uint16) int {
	n := 0
	for _, f := range free {
		if int(f) >= a.Milli {
			n++
		}
	}
	return n
}

// Tightest gives the mask of as many devices as asked for with the least free
// amounts that are enough, the lowest of equal ones: what the host chooses for a
// mask of 0. It says false where too few are free, and for an ask of nothing
// gives an empty mask and true.
func (a *Ask) Tightest(free []uint16) (mask uint32, fits bool) {
	for range a.Count {
		best := -1
		for d, f := range free {
			if int(f) >= a.Milli && mask>>d&1 == 0 && (best < 0 || f < free[best]) {
				best = d
			}
		}
		if best < 0 {
			return 0, false
		}
		mask |= 1 << best
	}
	return mask, true
}
