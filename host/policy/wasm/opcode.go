package wasm

import "fmt"

// opcode is an instruction: its byte, or for 0xfc and 0xfd the prefix and the
// number behind it.
type opcode uint16

// The opcodes that are more than a weight and immediates.
const (
	opUnreachable  opcode = 0x00
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opEnd          opcode = 0x0b
	opBr           opcode = 0x0c
	opBrIf         opcode = 0x0d
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opSelectTyped  opcode = 0x1c
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opLocalTee     opcode = 0x22
	opGlobalGet    opcode = 0x23
	opGlobalSet    opcode = 0x24
	opTableGet     opcode = 0x25
	opTableSet     opcode = 0x26
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opI32Const     opcode = 0x41
	opI64Const     opcode = 0x42
	opF32Const     opcode = 0x43
	opF64Const     opcode = 0x44
	opI32Add       opcode = 0x6a
	opI32Sub       opcode = 0x6b
	opI32Eq        opcode = 0x46
	opI64LtS       opcode = 0x53
	opI64Sub       opcode = 0x7d
	opI64Mul       opcode = 0x7e
	opI64Or        opcode = 0x84
	opI64ShrU      opcode = 0x88
	opI64ExtendS   opcode = 0xac
	opI64ExtendU   opcode = 0xad
	opRefNull      opcode = 0xd0
	opRefIsNull    opcode = 0xd1
	opRefFunc      opcode = 0xd2

	opMemoryInit opcode = 0xfc<<8 | 8
	opDataDrop   opcode = 0xfc<<8 | 9
	opMemoryCopy opcode = 0xfc<<8 | 10
	opMemoryFill opcode = 0xfc<<8 | 11
	opTableInit  opcode = 0xfc<<8 | 12
	opElemDrop   opcode = 0xfc<<8 | 13
	opTableCopy  opcode = 0xfc<<8 | 14
	opTableGrow  opcode = 0xfc<<8 | 15
	opTableSize  opcode = 0xfc<<8 | 16
	opTableFill  opcode = 0xfc<<8 | 17

	opV128Const   opcode = 0xfd<<8 | 12
	opI8x16Shuffl opcode = 0xfd<<8 | 13
)

// Weights in units of fuel, measured so that no instruction buys much more
// time than another for its price.
const (
	weightPlain  = 1
	weightMemory = 4
	weightDivide = 4
	weightAssist = 16
	weightImport = 50
	weightGrow   = 50 // of memory.grow, given or denied: it leaves the compiled code
	weightCall   = 4  // of call_indirect, for its two loads and the check
	weightRef    = 50 // of ref.func, which leaves the compiled code too

	// A branch, and what it leads to or past, costs a unit more for each four
	// values that it takes along and for each four locals of the function above
	// 64. In a loop of 3 units that may set 4,000 locals the engine moves them all
	// in each round: 6 µs, and 9 where they are vectors.
	movesPerUnit = 4
	freeLocals   = 64

	bulkShift = 4    // a bulk operation costs one unit per 1<<bulkShift bytes
	pageUnits = 4096 // what a page costs that memory.grow is given: its bytes at the bulk rate
)

// within says whether op is one of the inclusive range.
func (op opcode) within(lo, hi opcode) bool { return lo <= op && op <= hi }

// vector says whether op has the prefix of SIMD, and gives its number.
func (op opcode) vector() (n opcode, ok bool) { return op & 0xff, op>>8 == 0xfd }

// accesses says whether op loads or stores one value.
func (op opcode) accesses() bool {
	if n, ok := op.vector(); ok {
		return n <= 11 || n.within(84, 93)
	}
	return op.within(0x28, 0x3e)
}

// divides says whether op is a division, a remainder or a square root.
func (op opcode) divides() bool {
	switch op {
	case 0x6d, 0x6e, 0x6f, 0x70, 0x7f, 0x80, 0x81, 0x82: // i32 and i64 div and rem
		return true
	}
	return false
}

// assisted says whether op is one that the processor takes some 45 ns for where
// a number is subnormal, whatever it takes else.
func (op opcode) assisted() bool {
	switch op {
	case 0x91, 0x94, 0x95, 0x9f, 0xa2, 0xa3, // f32 and f64 sqrt, mul, div
		0xb6, 0xbb, // f32.demote, f64.promote
		0xfd5e, 0xfd5f, // f32x4.demote, f64x2.promote
		0xfde3, 0xfde6, 0xfde7, 0xfdef, 0xfdf2, 0xfdf3: // f32x4 and f64x2 sqrt, mul, div
		return true
	}
	return false
}

// weight gives the units that op costs, the size of a bulk operation and the
// surcharge of an import aside.
func (op opcode) weight() uint64 {
	switch {
	case op == opBlock, op == opLoop, op == opElse, op == opEnd:
		return 0
	case op.accesses():
		return weightMemory
	case op.divides():
		return weightDivide
	case op.assisted():
		return weightAssist
	case op == opMemoryGrow:
		return weightGrow
	case op == opCallIndirect:
		return weightCall
	case op == opRefFunc:
		return weightRef
	}
	return weightPlain
}

// plain says whether op is a known instruction without immediates and without
// an effect on control.
func (op opcode) plain() bool {
	if n, ok := op.vector(); ok {
		return vectorPlain(n)
	}
	return op == 0x01 || op == 0x1a || op == 0x1b || // nop, drop, select
		op.within(0x45, 0xc4) || op == opRefIsNull || op.within(0xfc00, 0xfc07)
}

// vectorPlain is plain for the numbers behind the SIMD prefix. The gaps are
// numbers that proposals gave up.
func vectorPlain(n opcode) bool {
	switch n {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb,
		0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return false
	}
	return n.within(14, 20) || n.within(35, 83) || n.within(94, 255)
}

// lane says whether op has a lane number as its last immediate.
func (op opcode) lane() bool {
	n, ok := op.vector()
	return ok && (n.within(21, 34) || n.within(84, 91))
}

// String gives the instruction's bytes.
func (op opcode) String() string {
	if op > 0xff {
		return fmt.Sprintf("%#x %#x", uint16(op)>>8, uint16(op)&0xff)
	}
	return fmt.Sprintf("%#x", uint16(op))
}
