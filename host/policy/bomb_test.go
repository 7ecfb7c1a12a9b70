package policy

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Modules too large to be kept as text are made here: a frame that keeps the
// contract, around bodies made to measure.

// body is a function () -> () of the frame.
type body struct {
	locals int // of type i64
	code   []byte
}

// bomb makes a module whose score calls the first of the bodies. With a data
// segment of pad bytes it is as long as wanted.
func bomb(bodies []body, pad int) []byte {
	const manifest = `{"name":"bomb","version":"1.0.0"}`
	var m bytes.Buffer
	m.WriteString("\x00asm\x01\x00\x00\x00")
	section := func(id byte, parts ...[]byte) {
		content := append(uleb(len(parts)), slices.Concat(parts...)...)
		m.WriteByte(id)
		m.Write(uleb(len(content)))
		m.Write(content)
	}
	name := func(s string) []byte { return append(uleb(len(s)), s...) }
	section(1,
		[]byte{0x60, 0, 1, 0x7f},
		[]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f},
		[]byte{0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f},
		[]byte{0x60, 0, 0})
	functions := [][]byte{{0}, {0}, {1}, {2}}
	for range bodies {
		functions = append(functions, []byte{3})
	}
	section(3, functions...)
	section(5, []byte{0, 2})
	section(7,
		append(name("memory"), 2, 0), append(name("poise_abi_v1"), 0, 0), append(name("poise_describe"), 0, 1),
		append(name("poise_alloc"), 0, 2), append(name("poise_score"), 0, 3))
	score := []byte{0x41, 0, 0x0b}
	if len(bodies) > 0 {
		score = append([]byte{0x10, 4}, score...)
	}
	all := [][]byte{codeOf(body{code: []byte{0x41, 0, 0x0b}}), codeOf(body{code: []byte{0x41, 16, 0x0b}}), codeOf(body{code: []byte{0x41, 0x80, 0x08, 0x0b}}), codeOf(body{code: score})}
	for _, b := range bodies {
		all = append(all, codeOf(b))
	}
	section(10, all...)
	pair := binary.LittleEndian.AppendUint32(nil, 32)
	pair = binary.LittleEndian.AppendUint32(pair, uint32(len(manifest)))
	data := [][]byte{slices.Concat([]byte{0, 0x41, 16, 0x0b}, uleb(8), pair), slices.Concat([]byte{0, 0x41, 32, 0x0b}, name(manifest))}
	if pad > 0 {
		data = append(data, slices.Concat([]byte{1}, uleb(pad), make([]byte, pad)))
	}
	section(11, data...)
	return m.Bytes()
}

func codeOf(b body) []byte {
	locals := []byte{0}
	if b.locals > 0 {
		locals = slices.Concat([]byte{1}, uleb(b.locals), []byte{0x7e})
	}
	return slices.Concat(uleb(len(locals)+len(b.code)), locals, b.code)
}

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// ifs is a body of n times "if local i is not 0, set it": it makes a compiler
// merge every local at every end.
func ifs(n, locals int) body {
	var code []byte
	for i := range n {
		local := uleb(i % locals)
		code = append(append(code, 0x20), local...)
		code = append(append(code, 0xa7, 0x04, 0x40, 0x42, 1, 0x21), local...)
		code = append(code, 0x0b)
	}
	return body{locals: locals, code: append(code, 0x0b)}
}

// straight is a body of about size bytes without any branch, which ends with a
// call of the next function, unless that is 0.
func straight(size, next int) body {
	code := bytes.Repeat([]byte{0x41, 1, 0x1a}, size/3) // i32.const 1, drop
	if next > 0 {
		code = slices.Concat(code, []byte{0x10}, uleb(next))
	}
	return body{code: append(code, 0x0b)}
}

// chain is n straight bodies, each of which calls the next.
func chain(n, size int) []body {
	bodies := make([]body, n)
	for i := range bodies {
		next := 4 + i + 1
		if i == n-1 {
			next = 0
		}
		bodies[i] = straight(size, next)
	}
	return bodies
}

// tree is n straight bodies, each of which calls the next one twice.
func tree(n, size int) []body {
	bodies := chain(n, size)
	for i := range n - 1 {
		end := len(bodies[i].code) - 1
		bodies[i].code = slices.Concat(bodies[i].code[:end], []byte{0x10}, uleb(4+i+1), []byte{0x0b})
	}
	return bodies
}
