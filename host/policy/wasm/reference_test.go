package wasm

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// reference is a small interpreter of integer code that counts units by the
// letter of the definition: each instruction's weight when it is executed. It
// shares the reading of sections with the product, and nothing of the code.
type reference struct {
	m       *module
	memory  []byte
	most    int // pages
	globals []uint64
	table   []uint32
	data    [][]byte
	units   int64
	denied  int32
	fuel    int64 // stop about here
	depth   int   // calls that may still nest
	ends    map[int]int
	elses   map[int]int
}

var (
	errTrap  = errors.New("trap")
	errLimit = errors.New("limit")
)

type label struct {
	loop   bool
	pc     int // where a branch goes on
	arity  int // values that a branch takes along
	height int
}

// call runs a function. Values are raw 64-bit words.
func (x *reference) call(fn uint32, args []uint64) (results []uint64, err error) {
	if x.depth < 0 {
		return nil, errLimit
	}
	t := x.m.types[x.m.funcs[fn]]
	r := &reader{bin: x.m.bin, pos: x.m.bodies[fn].from, end: x.m.bodies[fn].to}
	locals := append([]uint64(nil), args...)
	for n := r.u32(); n > 0; n-- {
		locals = append(locals, make([]uint64, r.u32())...)
		r.byte()
	}
	var stack []uint64
	push := func(v uint64) { stack = append(stack, v) }
	pop := func() uint64 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	push32 := func(v uint32) { push(uint64(v)) }
	pop32 := func() uint32 { return uint32(pop()) }
	flag := func(b bool) {
		if b {
			push(1)
		} else {
			push(0)
		}
	}
	address := func(size int) []byte {
		r.u32()
		at := uint64(r.u32()) + uint64(pop32())
		if at+uint64(size) > uint64(len(x.memory)) {
			return nil
		}
		return x.memory[at : at+uint64(size)]
	}
	// Moves of values and of locals beyond 64, where ways meet.
	move := func(values int) { x.units += int64(values/4 + max(len(locals)-64, 0)/4) }
	labels := []label{{pc: r.end, arity: len(t.results)}}
	branch := func(depth uint32) {
		l := labels[len(labels)-1-int(depth)]
		stack = append(stack[:l.height], stack[len(stack)-l.arity:]...)
		labels = labels[:len(labels)-int(depth)]
		if !l.loop {
			labels = labels[:len(labels)-1]
		}
		r.pos = l.pc
	}
	for len(labels) > 0 && r.pos < r.end {
		if x.units > x.fuel {
			return nil, errLimit
		}
		at := r.pos
		op := r.byte()
		switch op {
		case 0x02, 0x03, 0x05, 0x0b:
		case 0x11, 0x28, 0x29, 0x2d, 0x36, 0x37, 0x3a, 0x6e, 0x80:
			x.units += 4
		case 0x40:
			x.units += 50
		default:
			x.units++
		}
		switch op {
		case 0x00:
			return nil, errTrap
		case 0x01:
		case 0x02, 0x03, 0x04:
			params, results := x.blockArity(r)
			move(max(params, results))
			height := len(stack) - params
			if op == 0x04 {
				height--
			}
			switch {
			case op == 0x03:
				labels = append(labels, label{loop: true, pc: r.pos, arity: params, height: height})
			case op == 0x04 && pop32() == 0:
				if e, ok := x.elses[at]; ok {
					r.pos = e
				} else {
					r.pos = x.ends[at]
					continue
				}
				fallthrough
			default:
				labels = append(labels, label{pc: x.ends[at], arity: results, height: height})
			}
		case 0x05: // Reached from the first arm only.
			branch(0)
		case 0x0b:
			labels = labels[:len(labels)-1]
		case 0x0c:
			l := r.u32()
			move(labels[len(labels)-1-int(l)].arity)
			branch(l)
		case 0x0d:
			l := r.u32()
			move(labels[len(labels)-1-int(l)].arity)
			if pop32() != 0 {
				branch(l)
			}
		case 0x0e:
			n := r.u32()
			i := min(pop32(), n)
			var l uint32
			for k := range n + 1 {
				if d := r.u32(); k == i {
					l = d
				}
			}
			move(labels[len(labels)-1-int(l)].arity)
			branch(l)
		case 0x0f:
			branch(uint32(len(labels) - 1))
		case 0x10, 0x11:
			callee := r.u32()
			if op == 0x11 {
				want := x.m.types[callee]
				r.u32()
				i := pop32()
				if uint64(i) >= uint64(len(x.table)) {
					return nil, errTrap
				}
				callee = x.table[i]
				got := x.m.types[x.m.funcs[callee]]
				if string(got.params) != string(want.params) || string(got.results) != string(want.results) {
					return nil, errTrap
				}
			}
			n := len(x.m.types[x.m.funcs[callee]].params)
			args := append([]uint64(nil), stack[len(stack)-n:]...)
			stack = stack[:len(stack)-n]
			x.depth--
			got, err := x.call(callee, args)
			x.depth++
			if err != nil {
				return nil, err
			}
			stack = append(stack, got...)
		case 0x1a:
			pop()
		case 0x1b:
			c, b, a := pop32(), pop(), pop()
			if c == 0 {
				a = b
			}
			push(a)
		case 0x20:
			push(locals[r.u32()])
		case 0x21:
			locals[r.u32()] = pop()
		case 0x22:
			locals[r.u32()] = stack[len(stack)-1]
		case 0x23:
			push(x.globals[r.u32()])
		case 0x24:
			x.globals[r.u32()] = pop()
		case 0x28, 0x29, 0x2d:
			b := address(map[byte]int{0x28: 4, 0x29: 8, 0x2d: 1}[op])
			if b == nil {
				return nil, errTrap
			}
			var word [8]byte
			copy(word[:], b)
			push(binary.LittleEndian.Uint64(word[:]))
		case 0x36, 0x37, 0x3a:
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], pop())
			b := address(map[byte]int{0x36: 4, 0x37: 8, 0x3a: 1}[op])
			if b == nil {
				return nil, errTrap
			}
			copy(b, word[:])
		case 0x3f:
			r.byte()
			push32(uint32(len(x.memory) >> 16))
		case 0x40:
			r.byte()
			n, old := pop32(), len(x.memory)>>16
			if uint64(n)+uint64(old) > uint64(x.most) {
				x.denied++
				push32(^uint32(0))
				continue
			}
			x.units += 4096 * int64(n)
			x.memory = append(x.memory, make([]byte, int(n)<<16)...)
			push32(uint32(old))
		case 0x41:
			push32(uint32(r.signed(32)))
		case 0x42:
			push(uint64(r.signed(64)))
		case 0x45:
			flag(pop32() == 0)
		case 0x50:
			flag(pop() == 0)
		case 0xa7, 0xad:
			push32(pop32())
		case 0xac:
			push(uint64(int32(pop32())))
		case 0xfc:
			if err := x.bulk(r, pop32); err != nil {
				return nil, err
			}
		default:
			b, a := pop(), pop()
			v, ok, err := binaryOp(op, a, b)
			if err != nil {
				return nil, err
			}
			if !ok {
				panic("BUG: the reference does not know " + opcode(op).String())
			}
			push(v)
		}
	}
	return stack[len(stack)-len(t.results):], nil
}

func (x *reference) bulk(r *reader, pop32 func() uint32) error {
	op := r.u32()
	segment := uint32(0)
	if op == 8 {
		segment = r.u32()
		r.byte()
	} else {
		r.byte()
		if op == 10 {
			r.byte()
		}
	}
	n, b, a := uint64(pop32()), uint64(pop32()), uint64(pop32())
	x.units += int64(n / 16)
	if x.units > x.fuel {
		return errLimit
	}
	if a+n > uint64(len(x.memory)) {
		return errTrap
	}
	to := x.memory[a : a+n]
	switch op {
	case 8:
		if b+n > uint64(len(x.data[segment])) {
			return errTrap
		}
		copy(to, x.data[segment][b:])
	case 10:
		if b+n > uint64(len(x.memory)) {
			return errTrap
		}
		copy(to, x.memory[b:])
	case 11:
		for i := range to {
			to[i] = byte(b)
		}
	}
	return nil
}

func binaryOp(op byte, a, b uint64) (v uint64, ok bool, err error) {
	x, y := uint32(a), uint32(b)
	flag := func(c bool) (uint64, bool, error) {
		if c {
			return 1, true, nil
		}
		return 0, true, nil
	}
	switch op {
	case 0x46:
		return flag(x == y)
	case 0x48:
		return flag(int32(x) < int32(y))
	case 0x49:
		return flag(x < y)
	case 0x51:
		return flag(a == b)
	case 0x54:
		return flag(a < b)
	case 0x6a:
		return uint64(x + y), true, nil
	case 0x6b:
		return uint64(x - y), true, nil
	case 0x6c:
		return uint64(x * y), true, nil
	case 0x6e:
		if y == 0 {
			return 0, false, errTrap
		}
		return uint64(x / y), true, nil
	case 0x71:
		return uint64(x & y), true, nil
	case 0x72:
		return uint64(x | y), true, nil
	case 0x73:
		return uint64(x ^ y), true, nil
	case 0x77:
		return uint64(bits.RotateLeft32(x, int(y&31))), true, nil
	case 0x7c:
		return a + b, true, nil
	case 0x7d:
		return a - b, true, nil
	case 0x7e:
		return a * b, true, nil
	case 0x80:
		if b == 0 {
			return 0, false, errTrap
		}
		return a / b, true, nil
	case 0x84:
		return a | b, true, nil
	case 0x85:
		return a ^ b, true, nil
	}
	return 0, false, nil
}

func (x *reference) blockArity(r *reader) (params, results int) {
	switch v := r.signed(33); {
	case v >= 0:
		t := x.m.types[v]
		return len(t.params), len(t.results)
	case v == -0x40:
		return 0, 0
	}
	return 0, 1
}

// newReference reads a module and matches its ends, by a list of the
// instructions with immediates that the reference knows.
func newReference(bin []byte) *reference {
	m, refusal := parse(bin)
	if refusal != nil {
		panic(refusal)
	}
	x := &reference{m: m, most: 1 << 16, fuel: 1 << 40, depth: 1000, ends: map[int]int{}, elses: map[int]int{}}
	x.memory = make([]byte, int(m.memories[0].min)<<16)
	if m.memories[0].hasMax {
		x.most = int(m.memories[0].max)
	}
	for _, b := range m.bodies {
		r := &reader{bin: bin, pos: b.from, end: b.to}
		for n := r.u32(); n > 0; n-- {
			r.u32()
			r.byte()
		}
		var open []int
		for r.pos < r.end {
			at := r.pos
			switch op := r.byte(); op {
			case 0x02, 0x03, 0x04:
				r.signed(33)
				open = append(open, at)
			case 0x05:
				x.elses[open[len(open)-1]] = r.pos
			case 0x0b:
				if len(open) > 0 {
					x.ends[open[len(open)-1]] = r.pos
					open = open[:len(open)-1]
				}
			case 0x0c, 0x0d, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24:
				r.u32()
			case 0x0e:
				for n := r.u32() + 1; n > 0; n-- {
					r.u32()
				}
			case 0x11, 0x28, 0x29, 0x2d, 0x36, 0x37, 0x3a:
				r.u32()
				r.u32()
			case 0x3f, 0x40:
				r.byte()
			case 0x41:
				r.signed(32)
			case 0x42:
				r.signed(64)
			case 0xfc:
				switch r.u32() {
				case 8:
					r.u32()
					r.byte()
				case 10:
					r.skip(2)
				case 11:
					r.skip(1)
				}
			}
		}
	}
	return x
}
