package state

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// mib is the unit of memory in the demand profile.
const mib = 1 << 20

// Seen is one kind of job that has arrived, with how often. Models must not be
// changed.
type Seen struct {
	Kind   string // device kind, "" = no device
	CPU    int64  // milli-cores
	Memory int64  // MiB, rounded up
	Count  int32
	Milli  int32
	Models []string
	Times  float64 // arrivals, decayed where a half-life is set

	at uint64 // arrival number of the last one
}

// maxSeen bounds the kinds of request that are counted, so that requests made
// up to differ from each other take neither memory nor time without end.
const maxSeen = 8192

// Count counts requests as if jobs had arrived with them, in this order. Unlike
// those of a valid job, models may be named twice and in any order: kinds are
// told apart by the list as it stands.
func Count(requests []poise.Request) []Seen {
	d := demand{index: map[string]int{}}
	for i := range requests {
		d.arrive(&requests[i])
	}
	return d.counts()
}

// demand counts the arrivals of jobs by kind of request.
type demand struct {
	halfLife float64 // arrivals after which a count has halved; 0 = never
	seen     []Seen  // in order of first arrival, at most maxSeen
	index    map[string]int
	arrivals uint64
	buf      []byte
}

// arrive counts one arrival.
func (d *demand) arrive(r *poise.Request) {
	d.arrivals++
	cpu, _ := r.Amounts.Find("cpu")
	memory, _ := r.Amounts.Find("memory")
	e := Seen{
		Kind: r.Device.Kind, CPU: cpu, Memory: ceilMiB(memory),
		Count: r.Device.Count, Milli: r.Device.Milli, Models: r.Device.Models,
	}
	d.buf = e.appendKey(d.buf[:0])
	i, ok := d.index[string(d.buf)]
	if !ok {
		if len(d.seen) == maxSeen {
			d.thin()
		}
		e.Models = slices.Clone(e.Models)
		i = len(d.seen)
		d.index[string(d.buf)] = i
		d.seen = append(d.seen, e)
	}
	s := &d.seen[i]
	s.Times = d.decayed(s) + 1
	s.at = d.arrivals
}

func (d *demand) decayed(s *Seen) float64 {
	if d.halfLife == 0 || s.Times == 0 {
		return s.Times
	}
	// The conversion keeps the product from being fused with a sum.
	return float64(s.Times * math.Exp2(-float64(d.arrivals-s.at)/d.halfLife))
}

// thin forgets the lighter half of the kinds: those with the smaller decayed
// times * (1 + devices asked for), which is what a demand profile ranks them
// by, and of equal ones those that were last seen longer ago. One that comes
// again later is counted from 1.
func (d *demand) thin() {
	weight := make([]float64, len(d.seen))
	order := make([]int, len(d.seen))
	for i := range d.seen {
		s := &d.seen[i]
		order[i] = i
		weight[i] = d.decayed(s) * (1 + float64(int64(s.Count)*int64(s.Milli))/poise.WholeDevice)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(d.seen[b].at, d.seen[a].at))
	})
	keep := order[:len(order)/2]
	slices.Sort(keep)
	kept := make([]Seen, len(keep), maxSeen)
	clear(d.index)
	for i, k := range keep {
		kept[i] = d.seen[k]
		d.index[string(kept[i].appendKey(nil))] = i
	}
	d.seen = kept
}

// counts gives all kinds of request in order of first arrival, decayed to now.
func (d *demand) counts() []Seen {
	out := make([]Seen, len(d.seen))
	for i := range d.seen {
		out[i] = d.seen[i]
		out[i].Times = d.decayed(&d.seen[i])
	}
	return out
}

// appendKey writes what tells the kind of request from others.
func (s *Seen) appendKey(b []byte) []byte {
	b = appendString(b, s.Kind)
	b = binary.AppendVarint(b, s.CPU)
	b = binary.AppendVarint(b, s.Memory)
	b = binary.AppendVarint(b, int64(s.Count))
	b = binary.AppendVarint(b, int64(s.Milli))
	return appendStrings(b, s.Models)
}

func ceilMiB(bytes int64) int64 {
	return bytes/mib + min(bytes%mib, 1)
}
