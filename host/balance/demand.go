package balance

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Demand is the form (D) of the loss: its columns are what the expected jobs
// could use of the node, and what room they have in the fleet. With the
// profile's shapes m (share p, ask a in devices, scarcity h), k_m(i) how many
// copies of shape m fit into what is idle on node i, idle in devices, C_max the
// devices of the largest node and S_tot the idle devices of all:
//
//	device: w = idle/C_max,        b = ( sum_m p_m*k_m*a_m / idle )^beta
//	room:   w = (S_tot+1)/C_max,   b = sum_m h_m*k_m / w
//	L = (M1_device - M2_device) + lambda*(M1_room - M2_room)
//
// A node without devices has L = 0. A job for a share of a device is evaluated
// once per distinct free amount that fits; the smallest loss counts, and the
// lowest device with that amount is part of the answer. A Demand keeps what it
// has evaluated and belongs to one goroutine.
type Demand struct {
	params Params
	byKind []*kernel // by kind symbol, nil without a profile
	memo   *memo
	rows   []rowDegrees
}

// rowDegrees is what the row's node state and its degrees were at a row
// version, within one epoch.
type rowDegrees struct {
	version uint64
	state   nodeState
	degrees degrees
}

// NewDemand makes the scorer with these constants.
func NewDemand(p Params) (*Demand, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Demand{params: p, memo: newMemo()}, nil
}

// Epoch says which profile the losses were computed with.
func (d *Demand) Epoch(snap *state.Snapshot) uint64 { return snap.Epoch() }

// Score implements the scorer of package sched.
func (d *Demand) Score(b *state.Batch, loss []float64, devices []uint32) error {
	d.prepare(b.Snap)
	take := newTake(b.Job.Shape)
	for i, row := range b.Rows {
		loss[i], devices[i] = d.score(b.Snap, row, &take)
	}
	return nil
}

// take is what a job takes from a node.
type take struct {
	cpu    int64 // milli-cores
	memory int64 // bytes
	device *poise.DeviceRequest
}

func newTake(shape *state.Shape) take {
	cpu, _ := shape.Request.Amounts.Find("cpu")
	memory, _ := shape.Request.Amounts.Find("memory")
	return take{cpu: cpu, memory: memory, device: &shape.Request.Device}
}

// prepare makes kernels for the profiles in force.
func (d *Demand) prepare(snap *state.Snapshot) {
	if n := snap.Rows(); n > len(d.rows) {
		d.rows = append(d.rows, make([]rowDegrees, n-len(d.rows))...)
	}
	kinds := snap.Kinds()
	current := len(d.byKind) == len(kinds)
	for i := 1; current && i < len(kinds); i++ {
		current = d.byKind[i].profileIs(snap.Profile(kinds[i]))
	}
	if current {
		return
	}
	d.memo.forget()
	clear(d.rows)
	d.byKind = d.byKind[:0]
	for _, kind := range kinds {
		var k *kernel
		if p := snap.Profile(kind); p != nil {
			k = newKernel(p, &d.params)
		}
		d.byKind = append(d.byKind, k)
	}
}

func (k *kernel) profileIs(p *poise.Profile) bool {
	if k == nil {
		return p == nil
	}
	return k.profile == p
}

// score gives the loss of one row and, for a share, the mask of its device.
func (d *Demand) score(snap *state.Snapshot, row uint32, t *take) (float64, uint32) {
	kind := snap.Kind(row)
	if kind == 0 || d.byKind[kind] == nil {
		return 0, 0
	}
	k, before := d.byKind[kind], d.before(snap, row)
	after := before.state
	after.cpu -= t.cpu
	after.memory = (snap.Idle(row, 1) - t.memory) / mib
	if t.device.Shared() {
		return d.share(k, snap, row, before, &after, uint16(t.device.Milli))
	}
	after.whole -= uint8(t.device.Count)
	return d.loss(k, before, d.degrees(k, &after, snap)), 0
}

// before gives the row's state and degrees, which all shapes share.
func (d *Demand) before(snap *state.Snapshot, row uint32) *rowDegrees {
	r := &d.rows[row]
	if v := snap.RowVersion(row); r.version != v {
		r.version, r.state = v, readState(snap, row)
		r.degrees = d.degrees(d.byKind[r.state.kind], &r.state, snap)
	}
	return r
}

// share evaluates the placement on each distinct free amount that fits and
// gives the smallest loss with the lowest device that has that amount.
func (d *Demand) share(k *kernel, snap *state.Snapshot, row uint32, before *rowDegrees, after *nodeState, milli uint16) (float64, uint32) {
	best, rounded, device := 0.0, 0.0, -1
	free := snap.Free(row)
	for i, amount := range free {
		if amount < milli || seenBefore(free[:i], amount) {
			continue
		}
		s := *after
		s.takePart(amount, milli)
		l := d.loss(k, before, d.degrees(k, &s, snap))
		if r := poise.RoundLoss(l); device < 0 || r < rounded {
			best, rounded, device = l, r, i
		}
	}
	return best, 1 << device
}

func seenBefore(free []uint16, amount uint16) bool {
	for _, f := range free {
		if f == amount {
			return true
		}
	}
	return false
}

// loss is the difference of the matrices for the state's idle weights.
func (d *Demand) loss(k *kernel, before *rowDegrees, is degrees) float64 {
	w, was := k.idleWeight(&before.state), before.degrees
	m1, m2 := float64(w*was.gpu), float64(w*is.gpu)
	return float64(d.params.Lambda*(was.room-is.room)) + (m1 - m2)
}

func (d *Demand) degrees(k *kernel, s *nodeState, snap *state.Snapshot) degrees {
	return d.memo.degrees(s, func() degrees { return k.degrees(s, snap.Models()) })
}

// Explain gives the columns of the matrices for one row and the devices chosen
// on it.
func (d *Demand) Explain(snap *state.Snapshot, job *state.Job, row uint32, devices []uint16) (string, []poise.Column) {
	d.prepare(snap)
	kind := snap.Kind(row)
	if kind == 0 || d.byKind[kind] == nil {
		return "demand", nil
	}
	k, t, before := d.byKind[kind], newTake(job.Shape), d.before(snap, row)
	after := before.state
	after.cpu -= t.cpu
	after.memory = (snap.Idle(row, 1) - t.memory) / mib
	for _, i := range devices {
		after.takePart(snap.Free(row)[i], uint16(t.device.Milli))
	}
	was, is := before.degrees, d.degrees(k, &after, snap)
	w, room := k.idleWeight(&before.state), (k.profile.IdleDevices+1)/k.profile.LargestDevices
	return "demand", []poise.Column{
		{Name: k.profile.Kind, Factor: 1, Weight: w, Before: was.gpu, After: is.gpu, M1: w * was.gpu, M2: w * is.gpu},
		{Name: "room", Factor: d.params.Lambda, Weight: room, Before: was.room / room, After: is.room / room, M1: was.room, M2: is.room},
	}
}

// idleWeight is w: the idle devices against those of the largest node.
func (k *kernel) idleWeight(s *nodeState) float64 {
	return float64(s.idleMilli()) / poise.WholeDevice / k.profile.LargestDevices
}
