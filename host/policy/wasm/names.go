package wasm

// functionName gives the name under which people know a function: the first
// export of it, or else its entry in the name section. It is for messages; a
// damaged name section gives none.
func (m *module) functionName(fn int) string {
	for _, e := range m.exports {
		if e.kind == kindFunc && int64(e.index) == int64(fn) {
			return e.name
		}
	}
	r := &reader{bin: m.bin, pos: m.names.from, end: m.names.to}
	for r.pos < r.end {
		id := r.byte()
		s := r.sub(r.u32())
		const functions = 1
		if id != functions {
			continue
		}
		for n := s.count("names"); n > 0 && s.err == nil; n-- {
			index, name := s.u32(), s.name()
			if s.err == nil && int64(index) == int64(fn) {
				return name
			}
		}
	}
	return ""
}
