package baseline

import "slices"

// fragments measures how much of a node's free devices typical tasks could not
// use. With p the share of a typical task, C idle milli-cores, f_d the free
// milli-devices of device d and F their sum, its part of Phi is p*phi:
//
//	task                                        phi              class
//	without devices, C enough                   F                4
//	without devices, C too little               F                5
//	device model not allowed                    F                6
//	enough devices with f_d >= milli, C enough  sum f_d < milli  1
//	enough such devices, C too little           F                3
//	too few such devices, C enough              F                1
//	neither                                     F                0
//
// The parts are summed by class, within a class in the order of the list, and
// the classes in the order of their numbers: the source does so, and another
// order rounds otherwise, which would move scores across a whole number.
type fragments struct {
	typical []Typical
	sizes   []int32 // the distinct milli of tasks with devices
	bare    []fragmentTask
	models  map[string]*modelTasks

	enough []int32   // by size, scratch: devices with at least so much free
	below  []float64 // by size, scratch: sum over the other devices
}

// fragmentTask is a typical task as the sum needs it.
type fragmentTask struct {
	cpu   int64
	share float64
	count int32
	size  int32 // index into sizes
}

// modelTasks are the tasks with devices, as one device model sees them.
type modelTasks struct {
	open   []fragmentTask // may use the model
	closed []float64      // shares of those that may not
}

func newFragments(typical []Typical) *fragments {
	m := &fragments{typical: typical, models: map[string]*modelTasks{}}
	for i := range typical {
		switch t := &typical[i]; {
		case t.Count == 0:
			m.bare = append(m.bare, fragmentTask{cpu: t.CPU, share: t.Share})
		case !slices.Contains(m.sizes, t.Milli):
			m.sizes = append(m.sizes, t.Milli)
		}
	}
	m.enough, m.below = make([]int32, len(m.sizes)), make([]float64, len(m.sizes))
	return m
}

// model gives the tasks as a device model sees them.
func (m *fragments) model(name string) *modelTasks {
	tasks := m.models[name]
	if tasks != nil {
		return tasks
	}
	tasks = &modelTasks{}
	for i := range m.typical {
		t := &m.typical[i]
		switch {
		case t.Count == 0:
		case len(t.Models) > 0 && !slices.Contains(t.Models, name):
			tasks.closed = append(tasks.closed, t.Share)
		default:
			tasks.open = append(tasks.open, fragmentTask{
				cpu: t.CPU, share: t.Share, count: t.Count, size: int32(slices.Index(m.sizes, t.Milli)),
			})
		}
	}
	m.models[name] = tasks
	return tasks
}

// phi is Phi of a node in milli-devices.
func (m *fragments) phi(tasks *modelTasks, cpu int64, free []uint16) float64 {
	all := float64(total(free))
	if all == 0 {
		return 0
	}
	for i, size := range m.sizes {
		enough, below := int32(0), int32(0)
		for _, f := range free {
			if int32(f) >= size {
				enough++
			} else {
				below += int32(f)
			}
		}
		m.enough[i], m.below[i] = enough, float64(below)
	}
	var neither, usable, noCPU, bare, bareNoCPU, closed float64 // classes 0, 1, 3, 4, 5, 6
	for i := range tasks.open {
		t := &tasks.open[i]
		switch enough := m.enough[t.size] >= t.count; {
		case t.cpu <= cpu && enough:
			usable += float64(t.share * m.below[t.size])
		case t.cpu <= cpu:
			usable += float64(t.share * all)
		case enough:
			noCPU += float64(t.share * all)
		default:
			neither += float64(t.share * all)
		}
	}
	for i := range m.bare {
		if t := &m.bare[i]; t.cpu <= cpu {
			bare += float64(t.share * all)
		} else {
			bareNoCPU += float64(t.share * all)
		}
	}
	for _, share := range tasks.closed {
		closed += float64(share * all)
	}
	return neither + usable + noCPU + bare + bareNoCPU + closed
}
