package wasm

// scan is what one pass over a function's body finds: facts for the verifier,
// and the sites at which the meter inserts code.
type scan struct {
	typ      funcType
	locals   uint64 // parameters included
	groups   int    // entries of the local declarations
	localsTo int    // end of these in code
	targets  int    // control targets, see Limits
	height   int    // largest number of operands on the stack

	tableWrite  int // offsets of the first of its kind, -1 if none
	segmentDrop int
	importRef   int

	callees  []uint32 // functions that are called by name
	indirect bool     // calls through a table
	sizes    bool     // looks at the size of the memory, or changes it

	code  []byte // local declarations without their number, then instructions
	sites []site
	calls bool // calls a function of the module, so it hands on its depth
	bulk  bool // needs a local for the length of a bulk operation or memory.grow
	grows bool
}

// site is a place in front of which code goes.
type site struct {
	at    int // in scan.code
	kind  siteKind
	units uint64 // of a charge
	test  bool
}

type siteKind byte

const (
	siteCharge siteKind = iota
	siteEntry
	siteCall
	siteBulk
	siteGrow
)

// frame is a construct that is open. Stretches of code run together or not at
// all on the way to a normal return, and share one charge: what follows a
// construct belongs to the stretch in front of it, unless a branch inside
// leads further out.
type frame struct {
	op     opcode
	outer  int // site of the stretch in front of it
	lowest int // outermost frame that a branch inside leads to

	base            int // height of the operand stack below its parameters
	params, results int
	stopped         bool // what follows is dead

	called  bool // scanner.called in front of the construct
	arrives bool // and at a branch to its end, or at the end of its first arm
}

// dead stands for the site of a stretch that no path leads to.
const dead = -1
