package main

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// columns are the columns of the kernel as native code would keep them.
type columns struct {
	capacity, allocated [4][]float64
	class, zone         []uint32
	most                [4]float64
	loss                []float64
}

// dims are the dimensions of the kernel, weights their weights.
var (
	dims    = [4]string{"cpu", "memory", "storage", "gpu"}
	weights = [4]float64{0.4, 0.3, 0.1, 0.2}
)

// amounts gives capacity and allocated of a row in one of dims.
func amounts(snap *state.Snapshot, row uint32, d int) (capacity, allocated int64) {
	if d < 3 {
		return snap.Capacity(row, d), snap.Allocated(row, d)
	}
	capacity = int64(snap.Devices(row)) * poise.WholeDevice
	allocated = capacity
	for _, f := range snap.Free(row) {
		allocated -= int64(f)
	}
	return capacity, allocated
}

func newColumns(snap *state.Snapshot) *columns {
	n := snap.Rows()
	c := &columns{class: make([]uint32, n), zone: make([]uint32, n), loss: make([]float64, n)}
	symbols := map[string]uint32{}
	for i, text := range snap.Symbols() {
		symbols[text] = uint32(i)
	}
	for d := range dims {
		c.capacity[d], c.allocated[d] = make([]float64, n), make([]float64, n)
		for row := range uint32(n) {
			capacity, allocated := amounts(snap, row, d)
			c.capacity[d][row], c.allocated[d][row] = float64(capacity), float64(allocated)
			c.most[d] = max(c.most[d], float64(capacity))
		}
	}
	for row := range uint32(n) {
		labels := snap.Labels(row)
		c.class[row], c.zone[row] = symbols[labels[0].Value], symbols[labels[1].Value]
	}
	return c
}

// request gives a job's request in the kernel's dimensions.
func request(r *poise.Request) (q [4]float64) {
	for d, name := range dims[:3] {
		amount, _ := r.Amounts.Find(name)
		q[d] = float64(amount)
	}
	q[3] = float64(r.Device.Total())
	return q
}

// score is the kernel in native Go over its columns: the formula of the kernels'
// README, with the same operations in the same order.
func (c *columns) score(q [4]float64, zone, class uint32) {
	var s [4]float64
	for d := range s {
		if c.most[d] > 0 {
			s[d] = weights[d] / c.most[d]
		}
	}
	n := len(c.loss)
	c0, a0, c1, a1 := c.capacity[0][:n], c.allocated[0][:n], c.capacity[1][:n], c.allocated[1][:n]
	c2, a2, c3, a3 := c.capacity[2][:n], c.allocated[2][:n], c.capacity[3][:n], c.allocated[3][:n]
	zones, classes := c.zone[:n], c.class[:n]
	for r := range c.loss {
		left0, left1 := c0[r]-a0[r]-q[0], c1[r]-a1[r]-q[1]
		left2, left3 := c2[r]-a2[r]-q[2], c3[r]-a3[r]-q[3]
		sum := float64(float64(float64(left0*s[0])+float64(left1*s[1]))+float64(left2*s[2])) + float64(left3*s[3])
		if zones[r] != zone {
			sum += 0.25
		}
		if classes[r] != class {
			sum += 0.125
		}
		if left0 < 0 || left1 < 0 || left2 < 0 || left3 < 0 {
			sum = 1e9
		}
		c.loss[r] = sum
	}
}

// native is the kernel as a scorer of the pipeline, row by row from the snapshot.
type native struct {
	most  [4]float64
	known uint64 // joins that most was taken at
}

// Score implements sched.Scorer.
func (s *native) Score(b *state.Batch, loss []float64, devices []uint32) error {
	if s.known != b.Snap.Joins() {
		s.known = b.Snap.Joins()
		for row := range uint32(b.Snap.Rows()) {
			for d := range dims {
				capacity, _ := amounts(b.Snap, row, d)
				s.most[d] = max(s.most[d], float64(capacity))
			}
		}
	}
	q := request(&b.Job.Shape.Request)
	for i, row := range b.Rows {
		sum, short := 0.0, false
		for d := range dims {
			capacity, allocated := amounts(b.Snap, row, d)
			left := float64(capacity) - float64(allocated) - q[d]
			short = short || left < 0
			sum += float64(left * (weights[d] / s.most[d]))
		}
		labels := b.Snap.Labels(row)
		if labels[1].Value != "a" {
			sum += 0.25
		}
		if labels[0].Value != "class-1" {
			sum += 0.125
		}
		if short {
			sum = 1e9
		}
		loss[i], devices[i] = sum, 0
	}
	return nil
}
