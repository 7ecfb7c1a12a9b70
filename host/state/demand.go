package state

import (
	"encoding/binary"
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// mib is the unit of memory in the demand profile.
const mib = 1 << 20

// Seen is one kind of device job that has arrived, with how often.
type Seen struct {
	Kind   string
	CPU    int64 // milli-cores
	Memory int64 // MiB, rounded up
	Count  int32
	Milli  int32
	Models []string
	Times  float64 // arrivals, decayed where a half-life is set

	at uint64 // arrival number of the last one
}

// demand counts the arrivals of device jobs by kind of request.
type demand struct {
	halfLife float64 // arrivals after which a count has halved; 0 = never
	seen     []Seen  // in order of first arrival
	index    map[string]int
	arrivals uint64
}

// arrive counts one arrival. A job without devices counts as an arrival only.
func (d *demand) arrive(r *poise.Request) {
	d.arrivals++
	if r.Device.Count == 0 {
		return
	}
	cpu, _ := r.Amounts.Find("cpu")
	memory, _ := r.Amounts.Find("memory")
	e := Seen{
		Kind: r.Device.Kind, CPU: cpu, Memory: ceilMiB(memory),
		Count: r.Device.Count, Milli: r.Device.Milli, Models: r.Device.Models,
	}
	key := e.key()
	i, ok := d.index[key]
	if !ok {
		i = len(d.seen)
		d.index[key] = i
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
	return s.Times * math.Exp2(-float64(d.arrivals-s.at)/d.halfLife)
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

func (s *Seen) key() string {
	b := appendString(nil, s.Kind)
	b = binary.AppendVarint(b, s.CPU)
	b = binary.AppendVarint(b, s.Memory)
	b = binary.AppendVarint(b, int64(s.Count))
	b = binary.AppendVarint(b, int64(s.Milli))
	return string(appendStrings(b, s.Models))
}

func ceilMiB(bytes int64) int64 {
	return bytes/mib + min(bytes%mib, 1)
}
