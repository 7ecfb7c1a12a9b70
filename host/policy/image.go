package policy

import (
	"bytes"

	"github.com/poise-sched/poise/abi"
)

// image is the state that an instance goes back to: all that a guest can change.
type image struct {
	size    int    // of the memory
	memory  []byte // empty where the instance's pages have it
	runs    []run  // of memory, in order and without gaps
	globals []uint64
	wasi    wasi
}

// run is a stretch of memory that is all zero, or that holds something. Most of
// a small guest's memory is zero, and clearing it costs half of copying it.
type run struct {
	from, to int
	zero     bool
}

// runBlock is what runs are made of.
const runBlock = 1 << 10

// runsOf finds the runs of a memory.
func runsOf(memory []byte) []run {
	var runs []run
	zeros := make([]byte, runBlock)
	for from := 0; from < len(memory); from += runBlock {
		to := min(from+runBlock, len(memory))
		zero := bytes.Equal(memory[from:to], zeros[:to-from])
		if n := len(runs); n > 0 && runs[n-1].zero == zero {
			runs[n-1].to = to
			continue
		}
		runs = append(runs, run{from, to, zero})
	}
	return runs
}

// restore writes the image's memory in [from, to).
func (m *image) restore(memory []byte, from, to int) {
	for _, r := range m.runs {
		lo, hi := max(r.from, from), min(r.to, to)
		switch {
		case lo >= hi:
		case r.zero:
			clear(memory[lo:hi])
		default:
			copy(memory[lo:hi], m.memory[lo:hi])
		}
	}
}

// seal remembers the state as it is now.
func (in *instance) seal() error {
	if in.dead != nil {
		f := *in.dead
		return &f
	}
	memory := in.memory()
	in.image.size = len(memory)
	in.image.memory, in.image.runs = in.image.memory[:0], nil
	if in.pages == nil || !in.pages.seal(memory) {
		in.image.memory = append(in.image.memory, memory...)
		in.image.runs = runsOf(memory)
	}
	in.image.globals = in.image.globals[:0]
	for _, g := range in.state {
		in.image.globals = append(in.image.globals, g.Get())
	}
	in.image.wasi = in.wasi
	// The engine keeps a stack for every function that was called, as large as it
	// ever was: those of set-up are not called again.
	for _, name := range []string{abi.Initialize, abi.Marker, abi.Describe, abi.Alloc} {
		delete(in.functions, name)
	}
	return nil
}

// restore goes back to the sealed state, except for memory in [keepFrom,
// keepTo), which is the host's to write. false = the memory has grown or the
// instance is dead: it is of no more use.
func (in *instance) restore(keepFrom, keepTo uint32) bool {
	mem := in.memory()
	if in.dead != nil || len(mem) != in.image.size {
		return false
	}
	if len(in.image.memory) > 0 {
		in.image.restore(mem, 0, int(keepFrom))
		in.image.restore(mem, int(keepTo), len(mem))
	} else if in.pages != nil && !(in.pages.restore(0, int(keepFrom)) && in.pages.restore(int(keepTo), len(mem))) {
		return false
	}
	for i, g := range in.state {
		g.Set(in.image.globals[i])
	}
	in.wasi = in.image.wasi
	in.line = in.line[:0]
	return true
}
