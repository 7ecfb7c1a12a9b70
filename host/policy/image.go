package policy

import "github.com/poise-sched/poise/abi"

// image is the state that an instance goes back to: all that a guest can change.
type image struct {
	memory  []byte
	globals []uint64
	wasi    wasi
}

// seal remembers the state as it is now.
func (in *instance) seal() error {
	if in.dead != nil {
		f := *in.dead
		return &f
	}
	in.image.memory = append(in.image.memory[:0], in.memory()...)
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
	if in.dead != nil || len(mem) != len(in.image.memory) {
		return false
	}
	copy(mem[:keepFrom], in.image.memory)
	copy(mem[keepTo:], in.image.memory[keepTo:])
	for i, g := range in.state {
		g.Set(in.image.globals[i])
	}
	in.wasi = in.image.wasi
	in.line = in.line[:0]
	return true
}
