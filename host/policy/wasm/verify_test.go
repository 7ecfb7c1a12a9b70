package wasm

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// contract offers one import and knows one export.
func contract() Contract {
	return Contract{
		Imports: func(module, name string) (Signature, bool) {
			return Signature{Params: []ValType{I32}}, module == "host" && name == "log"
		},
		Offer:          "log",
		Exports:        map[string]Signature{"f": {[]ValType{I32}, []ValType{I32}}},
		Required:       []string{"f"},
		ReservedPrefix: reserved,
	}
}

// refused checks rule, function, name and where the offset points: at the
// first appearance of the given bytes.
func refused(t *testing.T, what string, bin []byte, l Limits, rule string, fn int, name string, at []byte, words string) {
	t.Helper()
	_, err := Verify(bin, l, contract())
	var r *Refusal
	if !errors.As(err, &r) {
		t.Errorf("%s: %v, want a refusal", what, err)
		return
	}
	if r.Rule != rule || r.Func != fn || r.Name != name || !strings.Contains(r.Error(), words) {
		t.Errorf("%s: %+v, want rule %s, function %d (%s) and %q", what, *r, rule, fn, name, words)
	}
	if at != nil && (r.Offset >= len(bin) || !strings.HasPrefix(string(bin[r.Offset:]), string(at))) {
		t.Errorf("%s: offset %#x of %x, want it to be where %x is", what, r.Offset, bin, at)
	}
}

// parts are the sections of a good module, to be changed one at a time.
type parts struct {
	types, imports, functions, tables, memory, globals, exports, start, elements, dataCount, code, data []byte
}

func goodParts(code ...byte) parts {
	return parts{
		types:     vector(fnType([]ValType{I32}, []ValType{I32}), fnType([]ValType{I32}, nil), fnType(nil, []ValType{F64, V128})),
		imports:   vector(cat(appendName(nil, "host"), appendName(nil, "log"), []byte{kindFunc, 1})),
		functions: []byte{1, 0},
		tables:    []byte{1, byte(FuncRef), 0, 10},
		memory:    []byte{1, 0, 1},
		globals:   vector([]byte{byte(I32), 1, byte(opI32Const), 0, byte(opEnd)}),
		exports:   vector(export("memory", kindMemory, 0), export("f", kindFunc, 1)),
		elements:  vector([]byte{0, byte(opI32Const), 0, byte(opEnd), 1, 1}, []byte{1, 0, 1, 1}),
		dataCount: []byte{1},
		code:      vector(fnBody(i32s(1), code...)),
		data:      vector([]byte{1, 3, 'a', 'b', 'c'}),
	}
}

func (p parts) module() []byte {
	b := newBuilder()
	for _, s := range []struct {
		id      byte
		content []byte
	}{
		{secType, p.types},
		{secImport, p.imports},
		{secFunction, p.functions},
		{secTable, p.tables},
		{secMemory, p.memory},
		{secGlobal, p.globals},
		{secExport, p.exports},
		{secStart, p.start},
		{secElement, p.elements},
		{secDataCount, p.dataCount},
		{secCode, p.code},
		{secData, p.data},
	} {
		if s.content != nil {
			b.section(s.id, s.content...)
		}
	}
	return b.out
}

func TestVerifyAccepts(t *testing.T) {
	f := func(p parts) {
		t.Helper()
		if _, err := Verify(p.module(), Defaults(), contract()); err != nil {
			t.Error(err)
		}
	}
	f(goodParts(0x20, 0))
	f(goodParts(0x20, 0, 0x10, 0, 0x20, 0)) // calls the import
	f(goodParts(0x20, 0, 0x25, 0, 0x1a, 0x20, 0, 0x20, 0, 0x11, 0, 0))
	p := goodParts(0x20, 0)
	p.imports = vector(p.imports[1:], p.imports[1:])
	p.exports = vector(export("memory", kindMemory, 0), export("f", kindFunc, 2))
	p.elements = nil
	f(p) // the Go linker imports twice
	p = goodParts(0x20, 0)
	p.memory = []byte{1, 1, 1, 0x80, 0x80, 0x04}
	f(p)
}

func TestInfo(t *testing.T) {
	p := goodParts(0x03, 0x40, 0x03, 0x40, 0x20, 0, 0x0d, 0, 0x0b, 0x0b, 0x20, 0)
	info, err := Verify(p.module(), Defaults(), contract())
	if err != nil {
		t.Fatal(err)
	}
	// Targets: a loop in no other 1, one in it 2, a br_if in both 2.
	if !slices.Equal(info.Imports, []Import{{"host", "log"}}) || len(info.Exports) != 2 || info.Functions != 1 || info.Globals != 1 ||
		info.MemoryMin != 1 || info.HasMax || info.Targets != 5 || info.TargetsByLocals != 10 || info.TotalTargetsByLocals != 10 ||
		info.Code != len(p.code) || info.Data != len(p.data) || info.ImportsWASI {
		t.Errorf("%+v", *info)
	}
}

// Which exports can come to the size of the memory: by itself, through others,
// through a table; not one that another calls.
func TestInfoSizes(t *testing.T) {
	size, grow := []byte{0x3f, 0}, []byte{0x41, 0, 0x40, 0}
	f := func(want string, elements []byte, bodies ...[]byte) {
		t.Helper()
		p := goodParts()
		p.imports, p.elements = nil, elements
		p.functions = []byte{byte(len(bodies))}
		exports, code := [][]byte{export("memory", kindMemory, 0)}, [][]byte{}
		for i, b := range bodies {
			p.functions = append(p.functions, 1)
			exports = append(exports, export(string(rune('a'+i)), kindFunc, uint64(i)))
			code = append(code, fnBody(nil, b...))
		}
		p.exports, p.code = vector(exports...), vector(code...)
		info, err := Verify(p.module(), Defaults(), Contract{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range info.Exports {
			if e.Sizes {
				got += e.Name
			}
		}
		if got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	drop, call, indirect := []byte{0x1a}, func(n byte) []byte { return []byte{0x41, 0, 0x10, n} }, []byte{0x41, 0, 0x41, 0, 0x11, 1, 0}
	inTable := vector([]byte{0, byte(opI32Const), 0, byte(opEnd), 1, 2})
	f("", nil, call(1), nil)
	f("a", nil, cat(size, drop), nil)
	f("a", nil, cat(grow, drop), nil)
	f("abd", nil, call(1), call(3), nil, cat(call(0), size, drop)) // in a ring
	f("bc", nil, nil, call(2), cat(size, drop, call(0)))
	f("ac", inTable, indirect, nil, cat(size, drop))
	f("a", inTable, cat(indirect, size, drop), nil, nil)
	f("b", inTable, indirect, cat(size, drop), nil)
}

// Each rule that a function's code can break, with where it does.
func TestRefusedCode(t *testing.T) {
	f := func(what, rule string, at []byte, words string, code ...byte) {
		t.Helper()
		refused(t, what, goodParts(code...).module(), Defaults(), rule, 1, "f", at, words)
	}
	f("table.set", RuleTableWrite, []byte{0x26, 0}, "writes to a table", 0x20, 0, 0x41, 0, 0xd0, 0x70, 0x26, 0)
	f("table.grow", RuleTableWrite, []byte{0xfc, 15}, "writes to a table", 0xd0, 0x70, 0x41, 1, 0xfc, 15, 0)
	f("table.fill", RuleTableWrite, []byte{0xfc, 17}, "", 0x41, 0, 0xd0, 0x70, 0x41, 1, 0xfc, 17, 0, 0x20, 0)
	f("table.copy", RuleTableWrite, []byte{0xfc, 14}, "", 0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 14, 0, 0, 0x20, 0)
	f("table.init", RuleTableWrite, []byte{0xfc, 12}, "", 0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 12, 1, 0, 0x20, 0)
	f("elem.drop", RuleSegmentDrop, []byte{0xfc, 13}, "drops a segment", 0xfc, 13, 1, 0x20, 0)
	f("data.drop", RuleSegmentDrop, []byte{0xfc, 9}, "drops a segment", 0xfc, 9, 0, 0x20, 0)
	f("ref.func of an import", RuleImportByRef, []byte{0xd2, 0}, "imported", 0xd2, 0, 0x1a, 0x20, 0)
	f("global that is appended", RuleIndex, []byte{1, 0x1a}, "global index: 1, expected below 1", 0x23, 1, 0x1a, 0x20, 0)
	f("global.set of it", RuleIndex, []byte{1, 0x20}, "global index: 1", 0x42, 0, 0x24, 1, 0x20, 0)
	f("local that is appended", RuleIndex, []byte{2, 0x0b}, "local index: 2, expected below 2", 0x20, 2)
	f("local, index padded", RuleIndex, []byte{0x82, 0x80}, "local index: 2, expected below 2", 0x20, 0x82, 0x80, 0x80, 0x80, 0)
	f("function", RuleIndex, []byte{2, 0x20}, "function index: 2", 0x10, 2, 0x20, 0)
	f("type of a call", RuleIndex, []byte{3, 0}, "type index: 3", 0x20, 0, 0x11, 3, 0)
	f("type of a block", RuleIndex, []byte{3, 0x0b}, "type index: 3", 0x02, 3, 0x0b, 0x20, 0)
	f("table", RuleIndex, []byte{1, 0x20}, "table index: 1", 0x20, 0, 0x11, 0, 1, 0x20, 0)
	f("label", RuleIndex, []byte{2, 0x0b}, "label index: 2", 0x02, 0x40, 0x0c, 2, 0x0b, 0x20, 0)
	f("label of a table", RuleIndex, []byte{3, 0x0b}, "label index: 3", 0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 3, 0x0b, 0x20, 0)
	f("data segment", RuleIndex, []byte{1, 0, 0x20}, "data index: 1", 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 8, 1, 0, 0x20, 0)
	f("element segment", RuleIndex, []byte{2, 0, 0x20}, "element index: 2", 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 12, 2, 0, 0x20, 0)
	f("exceptions", RuleOpcode, []byte{0x06, 0x40}, "0x6", 0x06, 0x40, 0x0b, 0x20, 0)
	f("tail call", RuleOpcode, []byte{0x12, 1}, "0x12", 0x20, 0, 0x12, 1)
	f("threads", RuleOpcode, []byte{0xfe, 0}, "0xfe", 0xfe, 0, 0x20, 0)
	f("relaxed vectors", RuleOpcode, []byte{0xfd, 0x80, 2}, "0xfd 0x100", 0xfd, 0x80, 2, 0x20, 0)
	f("gap in the vectors", RuleOpcode, []byte{0xfd, 0x9a, 1}, "0xfd 0x9a", 0xfd, 0x9a, 1, 0x20, 0)
	f("gap in the others", RuleOpcode, []byte{0xfc, 18}, "0xfc 0x12", 0xfc, 18, 0, 0x20, 0)
	f("padded vector instruction", RuleOpcode, []byte{0xfd, 0x8c}, "shortest", 0xfd, 0x8c, 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0x1a, 0x20, 0)
	f("another memory", RuleFormat, []byte{1, 0x20}, "memory index", 0x3f, 1, 0x20, 0)
	f("another memory, by alignment", RuleFormat, []byte{0x42, 0}, "alignment", 0x20, 0, 0x28, 0x42, 0, 0)
	f("value type", RuleFormat, []byte{0x69, 0x0b}, "block type", 0x02, 0x69, 0x0b, 0x20, 0)
	f("else outside", RuleFormat, []byte{0x05, 0x20}, "else", 0x05, 0x20, 0)
	f("second else", RuleFormat, []byte{0x05, 0x0b}, "else", 0x20, 0, 0x04, 0x40, 0x05, 0x05, 0x0b, 0x20, 0)
	f("end too early", RuleFormat, []byte{0x20, 0, 0x0b}, "behind its end", 0x41, 0, 0x0b, 0x20, 0)
	f("no end", RuleFormat, nil, "unexpected end", 0x02, 0x7f, 0x20, 0)
	f("stack too low", RuleFormat, []byte{0x6a, 0x0b}, "1 values too few", 0x20, 0, 0x6a)
	f("stack too low in a block", RuleFormat, []byte{0x1a, 0x0b}, "1 values too few", 0x20, 0, 0x02, 0x40, 0x1a, 0x0b)
	f("stack too high", RuleFormat, nil, "2 values at the end, expected 1", 0x20, 0, 0x20, 0)
	f("stack too low for a branch", RuleFormat, []byte{0x0c, 0}, "1 values too few", 0x0c, 0)
	f("too many targets", RuleTargets, nil, "control targets: 4097, expected at most 4096", slices.Concat(slices.Repeat([]byte{0x02, 0x40, 0x0b}, 4097), []byte{0x20, 0})...)
	f("loops in loops", RuleTargets, nil, "control targets: 4186", slices.Concat(slices.Repeat([]byte{0x03, 0x40}, 91), slices.Repeat([]byte{0x0b}, 91), []byte{0x20, 0})...)
	f("long body", RuleBody, nil, "body: 65538 bytes, expected at most 65536", slices.Concat(slices.Repeat([]byte{0x01}, 65532), []byte{0x20, 0})...)
}

// Each rule that something outside of code can break.
func TestRefusedSections(t *testing.T) {
	f := func(what, rule string, at []byte, words string, change func(*parts)) {
		t.Helper()
		p := goodParts(0x20, 0)
		change(&p)
		refused(t, what, p.module(), Defaults(), rule, -1, "", at, words)
	}
	f("import that is not offered", RuleImport, []byte("\x04host\x03lag"), "host.lag, expected log", func(p *parts) {
		p.imports = vector(cat(appendName(nil, "host"), appendName(nil, "lag"), []byte{kindFunc, 1}))
	})
	f("import of another type", RuleImport, nil, "host.log is (i32) -> i32, expected (i32) -> ()", func(p *parts) { p.imports[len(p.imports)-1] = 0 })
	f("imported memory", RuleImport, nil, "functions only", func(p *parts) {
		p.imports = vector(cat(appendName(nil, "host"), appendName(nil, "log"), []byte{kindMemory, 0, 1}))
		p.memory, p.exports, p.elements = nil, vector(export("memory", kindMemory, 0), export("f", kindFunc, 0)), nil
	})
	f("import in an element", RuleImportByRef, []byte{0, 0x0c}, "imported", func(p *parts) { p.elements = vector([]byte{0, 0x41, 0, 0x0b, 1, 0}) })
	f("import in an expression", RuleImportByRef, []byte{0xd2, 0}, "imported", func(p *parts) {
		p.elements = vector([]byte{4, 0x41, 0, 0x0b, 1, 0xd2, 0, 0x0b})
	})
	f("import as a known export", RuleExport, nil, "f, expected a function of the module", func(p *parts) {
		p.exports = vector(export("memory", kindMemory, 0), export("f", kindFunc, 0))
	})
	f("known export of another kind", RuleExport, nil, "f, expected a function of the module", func(p *parts) {
		p.exports = vector(export("memory", kindMemory, 0), export("f", kindGlobal, 0))
	})
	f("no memory exported", RuleExport, nil, "no memory", func(p *parts) { p.exports = vector(export("f", kindFunc, 1)) })
	f("memory that is none", RuleExport, nil, "expected to be the memory", func(p *parts) {
		p.exports = vector(export("memory", kindFunc, 1), export("f", kindFunc, 1))
	})
	f("missing export", RuleExport, nil, "no f, expected one", func(p *parts) { p.exports = vector(export("memory", kindMemory, 0)) })
	f("reserved export", RuleReservedName, []byte("\x0apoise:fuel"), "starts with poise:", func(p *parts) {
		p.exports = vector(export("memory", kindMemory, 0), export("poise:fuel", kindGlobal, 0))
	})
	f("no memory", RuleMemory, nil, "memories: 0", func(p *parts) { p.memory, p.exports = nil, vector(export("f", kindFunc, 1)) })
	f("two memories", RuleMemory, nil, "memories: 2", func(p *parts) { p.memory = []byte{2, 0, 1, 0, 1} })
	f("large memory", RuleMemory, []byte{0, 65}, "at least 65 pages, expected at most 64 (4096 KiB)", func(p *parts) { p.memory = []byte{1, 0, 65} })
	f("shared memory", RuleFormat, []byte{3, 1, 1}, "flag 0x3", func(p *parts) { p.memory = []byte{1, 3, 1, 1} })
	f("large table", RuleTable, nil, "65537 elements", func(p *parts) { p.tables = []byte{1, byte(FuncRef), 0, 0x81, 0x80, 4} })
	f("many tables", RuleTable, nil, "tables: 17", func(p *parts) {
		p.tables = append([]byte{17}, slices.Repeat([]byte{byte(FuncRef), 0, 1}, 17)...)
	})
	f("vector global", RuleGlobals, nil, "mutable v128", func(p *parts) {
		p.globals = vector(cat([]byte{byte(V128), 1, 0xfd, 12}, make([]byte, 16), []byte{0x0b}))
	})
	f("reference global", RuleGlobals, nil, "mutable funcref", func(p *parts) { p.globals = vector([]byte{byte(FuncRef), 1, 0xd0, 0x70, 0x0b}) })
	f("many globals", RuleGlobals, nil, "globals: 1025", func(p *parts) {
		p.globals = append(appendUnsigned(nil, 1025), slices.Repeat([]byte{byte(I32), 0, 0x41, 0, 0x0b}, 1025)...)
	})
	f("start", RuleStart, []byte{1, 9}, "use _initialize", func(p *parts) { p.start = []byte{1} })
	f("wide type", RuleArity, nil, "129 parameters and results", func(p *parts) {
		p.types = append([]byte{3}, cat(fnType([]ValType{I32}, []ValType{I32}), fnType([]ValType{I32}, nil), fnType(slices.Repeat([]ValType{F32}, 129), nil))...)
	})
	f("many functions", RuleFunctions, nil, "functions: 8193, expected at most 8192", func(p *parts) {
		p.functions = append(appendUnsigned(nil, 8192), make([]byte, 8192)...)
		p.code = append(appendUnsigned(nil, 8192), slices.Repeat([]byte{4, 0, 0x20, 0, 0x0b}, 8192)...)
	})
	f("global of a constant expression", RuleIndex, []byte{1, 0x0b}, "global index: 1", func(p *parts) {
		p.elements = vector([]byte{0, 0x23, 1, 0x0b, 0})
	})
	f("export of a global that is appended", RuleIndex, nil, "global index: 1, expected below 1", func(p *parts) {
		p.exports = vector(export("memory", kindMemory, 0), export("g", kindGlobal, 1))
	})
	f("data count", RuleFormat, nil, "data count: 2, expected the 1 data segments", func(p *parts) { p.dataCount = []byte{2} })
	f("bodies", RuleFormat, nil, "0 bodies, expected one for each of the 1", func(p *parts) { p.code = []byte{0} })
	f("extended constant", RuleFormat, []byte{0x41, 1, 0x6a}, "after one instruction", func(p *parts) {
		p.globals = vector([]byte{byte(I32), 0, 0x41, 0, 0x41, 1, 0x6a, 0x0b})
	})
}

// refused with an export's own function.
func TestRefusedSignature(t *testing.T) {
	p := goodParts(0x20, 0)
	p.functions[1] = 1
	refused(t, "signature", p.module(), Defaults(), RuleExport, 1, "f", []byte("\x01f"), "f is (i32) -> (), expected (i32) -> i32")
}

func TestRefusedLimits(t *testing.T) {
	l := Defaults()
	l.Bytes = 10
	refused(t, "bytes", goodParts(0x20, 0).module(), l, RuleBytes, -1, "", nil, "expected at most 10")
	l = Defaults()
	l.TargetsByLocals = 5
	refused(t, "targets by locals", goodParts(0x02, 0x40, 0x0b, 0x02, 0x40, 0x0b, 0x02, 0x40, 0x0b, 0x20, 0).module(), l, RuleTargets, 1, "f", nil, "times locals: 6, expected at most 5")
	l = Defaults()
	l.TotalTargetsByLocals = 3
	p := goodParts(0x20, 0)
	p.functions, p.code = []byte{2, 0, 0}, vector(fnBody(i32s(1), 0x20, 0), fnBody(i32s(1), 0x20, 0))
	refused(t, "sum", p.module(), l, RuleTargets, 2, "", nil, "in sum: 4, expected at most 3")
	p = goodParts(0x20, 0)
	p.code = vector(fnBody(i32s(4096), 0x20, 0))
	refused(t, "locals", p.module(), Defaults(), RuleLocals, 1, "f", nil, "locals: 4097")
}

// A function without an export has its name from the name section.
func TestRefusalName(t *testing.T) {
	p := goodParts(0x20, 0)
	p.functions, p.code = []byte{2, 0, 0}, vector(fnBody(nil, 0x20, 0), fnBody(nil, 0x20, 0, 0xd0, 0x70, 0x26, 0, 0x20, 0))
	names := cat(appendName(nil, "name"), []byte{1}, sized(vector(cat([]byte{2}, appendName(nil, "in\x1bner")))))
	b := &builder{out: p.module()}
	refused(t, "name", b.section(secCustom, names...).out, Defaults(), RuleTableWrite, 2, "in\x1bner", []byte{0x26, 0}, `table-write, function 2 (in\x1bner), offset 0x`)
}

// The modules that the benchmark runs are good ones.
func TestVerifyKernels(t *testing.T) {
	bin, err := os.ReadFile("testdata/kernels.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(bin, Defaults(), Contract{ReservedPrefix: reserved}); err != nil {
		t.Fatal(err)
	}
}
