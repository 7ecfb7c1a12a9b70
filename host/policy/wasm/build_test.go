package wasm

// builder puts modules together byte by byte, good ones and bad ones.
type builder struct{ out []byte }

func newBuilder() *builder { return &builder{out: []byte(header)} }

func (b *builder) section(id byte, content ...byte) *builder {
	b.out = appendUnsigned(append(b.out, id), uint64(len(content)))
	b.out = append(b.out, content...)
	return b
}

// vector gives a count and the entries.
func vector(entries ...[]byte) []byte {
	out := appendUnsigned(nil, uint64(len(entries)))
	for _, e := range entries {
		out = append(out, e...)
	}
	return out
}

func sized(content []byte) []byte {
	return append(appendUnsigned(nil, uint64(len(content))), content...)
}

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func types(v ...ValType) []byte {
	out := appendUnsigned(nil, uint64(len(v)))
	for _, t := range v {
		out = append(out, byte(t))
	}
	return out
}

// fnType is an entry of the type section.
func fnType(params, results []ValType) []byte {
	return cat([]byte{0x60}, types(params...), types(results...))
}

func export(name string, kind byte, index uint64) []byte {
	return appendUnsigned(append(appendName(nil, name), kind), index)
}

// fnBody is an entry of the code section: groups of locals, and instructions
// without the last end.
func fnBody(locals [][]byte, code ...byte) []byte {
	return sized(cat(vector(locals...), code, []byte{byte(opEnd)}))
}

// i32s declares n locals.
func i32s(n uint64) [][]byte {
	return [][]byte{append(appendUnsigned(nil, n), byte(I32))}
}

// simple is a module of one function, "f" of type [i32] -> [i32], with a
// memory of one to three pages and a passive segment of 100 bytes.
func simple(code ...byte) []byte { return simpleLocals(i32s(1), code...) }

func simpleLocals(locals [][]byte, code ...byte) []byte {
	return newBuilder().
		section(secType, vector(fnType([]ValType{I32}, []ValType{I32}))...).
		section(secFunction, 1, 0).
		section(secMemory, 1, 1, 1, 3).
		section(secExport, vector(export("memory", kindMemory, 0), export("f", kindFunc, 0))...).
		section(secDataCount, 1).
		section(secCode, vector(fnBody(locals, code...))...).
		section(secData, vector(cat([]byte{1}, sized(make([]byte, 100))))...).
		out
}
