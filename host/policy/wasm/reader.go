package wasm

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over a module. The first error sticks and moves the reader to
// its end, so that every loop over it ends; callers look at err once, when
// they need to know.
type reader struct {
	bin      []byte
	pos, end int
	fn       int // index of the function being read, -1 outside of one
	err      *Refusal

	// Where not nil, what is read is also written here, every integer in its
	// shortest form. An engine that reads the copy has no leeway to see other
	// instructions in it than this package did.
	copy *[]byte
}

func (r *reader) note(b ...byte) {
	if r.copy != nil {
		*r.copy = append(*r.copy, b...)
	}
}

func (r *reader) failAt(pos int, rule, format string, args ...any) {
	if r.err == nil {
		r.err = &Refusal{Rule: rule, Func: r.fn, Offset: pos, Detail: fmt.Sprintf(format, args...)}
	}
	r.pos = r.end
}

func (r *reader) byte() byte {
	b := r.next()
	r.note(b)
	return b
}

// next is byte without the copy.
func (r *reader) next() byte {
	if r.pos >= r.end {
		r.failAt(r.pos, RuleFormat, "unexpected end")
		return 0
	}
	b := r.bin[r.pos]
	r.pos++
	return b
}

// skip passes over n bytes.
func (r *reader) skip(n uint32) {
	if uint64(n) > uint64(r.end-r.pos) {
		r.failAt(r.pos, RuleFormat, "length: %d, expected at most the %d bytes that are left", n, r.end-r.pos)
		return
	}
	r.note(r.bin[r.pos : r.pos+int(n)]...)
	r.pos += int(n)
}

// u32 reads an unsigned LEB128 of at most 32 bits: five bytes at most, no bit
// set beyond the 32nd.
func (r *reader) u32() uint32 {
	start := r.pos
	var v uint32
	for i := range 5 {
		b := r.next()
		v |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			if i == 4 && b > 0x0f {
				break
			}
			if r.copy != nil {
				*r.copy = appendUnsigned(*r.copy, uint64(v))
			}
			return v
		}
	}
	r.failAt(start, RuleFormat, "integer: too long or too large, expected at most 32 bits in 5 bytes")
	return 0
}

// signed reads a signed LEB128 of at most the given bits. The last byte that
// is allowed may only repeat the sign in its unused bits.
func (r *reader) signed(bits int) int64 {
	start := r.pos
	most := (bits + 6) / 7
	var v int64
	for i := range most {
		b := r.next()
		v |= int64(b&0x7f) << (7 * i)
		if b >= 0x80 {
			continue
		}
		if i == most-1 {
			used := bits - 7*i
			if rest := int8(b<<1) >> used; rest != 0 && rest != -1 {
				break
			}
		}
		if shift := 64 - 7*(i+1); shift > 0 {
			v = v << shift >> shift
		}
		if r.copy != nil {
			*r.copy = appendSigned(*r.copy, v)
		}
		return v
	}
	r.failAt(start, RuleFormat, "integer: too long or too large, expected at most %d bits in %d bytes", bits, most)
	return 0
}

// count reads the length of a vector. Every entry takes at least a byte, so a
// count beyond the bytes left is a lie, found before anything is allocated.
func (r *reader) count(what string) int {
	start := r.pos
	n := r.u32()
	if uint64(n) > uint64(r.end-r.pos) {
		r.failAt(start, RuleFormat, "%s: %d, expected at most one for each of the %d bytes left", what, n, r.end-r.pos)
		return 0
	}
	return int(n)
}

func (r *reader) name() string {
	start := r.pos
	n := r.u32()
	from := r.pos
	r.skip(n)
	if r.err != nil {
		return ""
	}
	if s := r.bin[from:r.pos]; utf8.Valid(s) {
		return string(s)
	}
	r.failAt(start, RuleFormat, "name: not UTF-8")
	return ""
}

// sub gives a reader of the next n bytes and passes over them.
func (r *reader) sub(n uint32) reader {
	start := r.pos
	r.skip(n)
	return reader{bin: r.bin, pos: start, end: r.pos, fn: r.fn, err: r.err}
}
