package wasm

// Limits are the caps on a module. They bound the time that compiling and
// restoring it can take.
type Limits struct {
	Bytes     int // length of the module
	Functions int // imported and defined
	Body      int // bytes of one function
	Targets   int // control targets of one function, see below

	// A control target is a block, loop, if or br_if: what makes a compiler
	// start a new block. It counts once for each loop that it is in (a loop is in
	// itself), and at least once, since compilers carry locals around loops:
	// 1,000 loops in each other with 60 locals compile for 9 s, one after the
	// other for 0.1 s. A function counts at least one target. Entries of a
	// br_table are free: 4,000 compile in 30 ms. Locals include the parameters.
	TargetsByLocals      int // targets times locals of one function
	TotalTargetsByLocals int // the same, summed over all functions

	MemoryPages uint32 // largest maximum of the memory
	Depth       int32  // nesting of calls, what the host sets DepthGlobal to
}

// Defaults gives the limits of an installation that sets none. Modules of
// stock Go need more memory.
func Defaults() Limits {
	return Limits{
		Bytes:                4 << 20,
		Functions:            8192,
		Body:                 64 << 10,
		Targets:              4096,
		TargetsByLocals:      65536,
		TotalTargetsByLocals: 2_000_000,
		MemoryPages:          64,
		Depth:                1000,
	}
}

// Caps that no real module comes near, so that nobody needs to set them. Each
// bounds what an engine allocates or repeats for a few bytes of input.
const (
	maxEntries = 100_000 // of any section: what is kept of an entry is larger than the entry
	maxArity   = 128     // parameters and results of a type: popped again at each call in dead code
	maxTables  = 16      // tables
	maxTable   = 65536   // elements of all tables: allocated at instantiation
	maxGlobal  = 1024    // globals: each mutable one is saved and restored per job
	maxLocals  = 4096    // locals of a function: the interpreter zeroes them at each call
)
