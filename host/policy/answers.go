package policy

import (
	"encoding/binary"
	"math"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// answers are what a guest wrote in one call, by table row: losses or reasons,
// and device masks where the plugin chooses devices.
type answers struct{ values, masks []byte }

// answers gives views of the outputs of a slot.
func (s *slot) answers() answers {
	arena := s.arena()
	a := answers{values: arena[s.layout.Values:]}
	if s.layout.Masks != 0 {
		a.masks = arena[s.layout.Masks:]
	}
	return a
}

func (a answers) reason(row int) uint32 { return binary.LittleEndian.Uint32(a.values[4*row:]) }

func (a answers) loss(row int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(a.values[8*row:]))
}

// mask gives a device mask, 0 where the plugin does not choose devices.
func (a answers) mask(row int) uint32 {
	if a.masks == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(a.masks[4*row:])
}

// said is where the answers about a batch go: reasons, or losses and devices.
type said struct {
	reasons []poise.Reason
	loss    []float64
	devices []uint32
}

// from gives the part that begins with the batch's row of that number.
func (s said) from(at int) said {
	if s.reasons != nil {
		return said{reasons: s.reasons[at:]}
	}
	return said{loss: s.loss[at:], devices: s.devices[at:]}
}

// read checks and gives what a guest said about the rows of a window.
func (g *Guest) read(b *state.Batch, rows []uint32, w window, a answers, to said) *Fault {
	if to.reasons != nil {
		return g.readReasons(rows, w, a, b.Snap, to.reasons)
	}
	if f := g.readLosses(rows, w, a, b.Snap, to.loss); f != nil {
		return f
	}
	if a.masks == nil {
		clear(to.devices[:len(rows)])
		return nil
	}
	return g.readMasks(rows, w, a, b.Snap, &b.Job.Shape.Request.Device, to.devices)
}

// readReasons checks and gives the reasons for the rows of a window.
func (g *Guest) readReasons(rows []uint32, w window, a answers, snap *state.Snapshot, reasons []poise.Reason) *Fault {
	for i := range rows {
		code := a.reason(w.at(rows, i))
		if reasons[i] = 0; code == 0 {
			continue
		}
		if _, ok := g.module.Manifest.Reason(code); !ok || code > abi.MaxReason {
			return g.fault(abi.CodeBadOutput, abi.Filter, "reason of node %q: %d, expected 0 or a key of the manifest's reasons", snap.Name(rows[i]), code)
		}
		reasons[i] = poise.NewPolicyReason(0, uint8(code))
	}
	return nil
}

// readLosses checks and gives the losses for the rows of a window.
func (g *Guest) readLosses(rows []uint32, w window, a answers, snap *state.Snapshot, loss []float64) *Fault {
	lo, hi := -math.MaxFloat64, math.MaxFloat64
	declared := g.module.Manifest.LossRange
	if len(declared) == 2 {
		lo, hi = declared[0], declared[1]
	}
	loss = loss[:len(rows)]
	values := a.values[8*w.lead : 8*w.rows]
	if !w.dense() {
		for i := range loss {
			l := a.loss(w.at(rows, i))
			if !(l >= lo && l <= hi) { // NaN is within no bounds
				return g.badLoss(snap, rows[i], l)
			}
			loss[i] = l
		}
		return nil
	}
	from := 0
	if declared == nil {
		from = copyFinite(loss, values)
	}
	for i := from; i < len(loss); i++ {
		l := math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:]))
		if !(l >= lo && l <= hi) {
			return g.badLoss(snap, rows[i], l)
		}
		loss[i] = l
	}
	return nil
}

// copyFinite copies numbers, four at a time, for as long as all four are finite,
// and gives how many it copied. values has as many as loss.
func copyFinite(loss []float64, values []byte) int {
	// The exponent of NaN and the infinities is all ones: one more at its end and
	// it runs over into the sign.
	const exponent, end = 0x7ff << 52, 1 << 52
	i := 0
	for ; len(loss) >= 4 && len(values) >= 32; i += 4 {
		a, b := binary.LittleEndian.Uint64(values), binary.LittleEndian.Uint64(values[8:])
		c, d := binary.LittleEndian.Uint64(values[16:]), binary.LittleEndian.Uint64(values[24:])
		if ((a&exponent+end)|(b&exponent+end)|(c&exponent+end)|(d&exponent+end))>>63 != 0 {
			break
		}
		loss[0], loss[1] = math.Float64frombits(a), math.Float64frombits(b)
		loss[2], loss[3] = math.Float64frombits(c), math.Float64frombits(d)
		loss, values = loss[4:], values[32:]
	}
	return i
}

// badLoss is the fault of a loss that is not finite or not in the range.
func (g *Guest) badLoss(snap *state.Snapshot, row uint32, l float64) *Fault {
	if l-l != 0 { // NaN or an infinity
		return g.fault(abi.CodeBadOutput, abi.Score, "loss of node %q: %v, expected a finite number", snap.Name(row), l)
	}
	r := g.module.Manifest.LossRange
	return g.fault(abi.CodeBadOutput, abi.Score, "loss of node %q: %v, expected %v to %v as declared", snap.Name(row), l, r[0], r[1])
}

// readMasks checks and gives the device masks for the rows of a window.
func (g *Guest) readMasks(rows []uint32, w window, a answers, snap *state.Snapshot, ask *poise.DeviceRequest, devices []uint32) *Fault {
	for i := range rows {
		mask := a.mask(w.at(rows, i))
		if mask != 0 && !snap.MaskFits(rows[i], mask, ask) {
			return g.fault(abi.CodeBadOutput, abi.Score, "devices of node %q: mask %b, expected %d devices with %d milli free", snap.Name(rows[i]), mask, ask.Count, ask.Milli)
		}
		devices[i] = mask
	}
	return nil
}
