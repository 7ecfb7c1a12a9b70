package wasm

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// Contract is what the host offers to a module and asks of it.
type Contract struct {
	// Imports gives the signature of a function that may be imported. A module
	// may import one twice: the Go linker does.
	Imports func(module, name string) (Signature, bool)
	// Offer says in words what may be imported, for who imports something else.
	Offer string
	// Exports holds the names that mean something to the host, with the
	// signature that the function must have if it is exported.
	Exports map[string]Signature
	// Required lists the exports that must be there; "memory" always must.
	Required []string
	// ReservedPrefix is what no export may start with.
	ReservedPrefix string
}

const memoryName = "memory"

// Verify checks a module against the limits and the contract. The error is a
// *Refusal. What it accepts may still be invalid, in that its types do not
// match: the engine finds that when it compiles what Instrument makes of it.
func Verify(bin []byte, l Limits, c Contract) (*Info, error) {
	if len(bin) > l.Bytes {
		return nil, &Refusal{Rule: RuleBytes, Func: -1, Offset: l.Bytes, Detail: fmt.Sprintf("module: %d bytes, expected at most %d", len(bin), l.Bytes)}
	}
	m, refusal := parse(bin)
	if refusal != nil {
		return nil, refusal
	}
	v := &verifier{m: m, l: l, c: c}
	for _, check := range [...]func(){v.types, v.imports, v.functions, v.tables, v.memory, v.globals, v.exports, v.start} {
		check()
		if v.err != nil {
			return nil, v.err
		}
	}
	info := m.info()
	v.code(info)
	if v.err != nil {
		return nil, v.err
	}
	return info, nil
}

// verifier collects the first refusal.
type verifier struct {
	m   *module
	l   Limits
	c   Contract
	err *Refusal
}

func (v *verifier) refuse(at int, rule, format string, args ...any) {
	if v.err == nil {
		v.err = &Refusal{Rule: rule, Func: -1, Offset: at, Detail: fmt.Sprintf(format, args...)}
	}
}

func (v *verifier) types() {
	for i, t := range v.m.types {
		if n := len(t.params) + len(t.results); n > maxArity {
			v.refuse(v.m.sections[secType].from, RuleArity, "type %d: %d parameters and results, expected at most %d", i, n, maxArity)
		}
	}
}

func (v *verifier) imports() {
	for _, e := range v.m.imports {
		who := printable(e.module) + "." + printable(e.name)
		if e.kind != kindFunc {
			v.refuse(e.at, RuleImport, "import: %s, expected functions only", who)
			continue
		}
		want, offered := v.c.offer(e.module, e.name)
		got := v.m.types[e.index]
		switch {
		case !offered:
			v.refuse(e.at, RuleImport, "import: %s, expected %s", who, cmp.Or(v.c.Offer, "none"))
		case !got.is(want):
			v.refuse(e.at, RuleImport, "import: %s is %s, expected %s", who, got.signature(), want)
		}
	}
	// Behind a reference, a call of an import would cost what a plain call does.
	if v.m.importRefAt >= 0 {
		v.refuse(v.m.importRefAt, RuleImportByRef, "reference: to an imported function, expected imports to be called by name only")
	}
}

func (c Contract) offer(module, name string) (Signature, bool) {
	if c.Imports == nil {
		return Signature{}, false
	}
	return c.Imports(module, name)
}

func (t funcType) is(s Signature) bool {
	same := func(got []byte, want []ValType) bool {
		b := make([]byte, len(want))
		for i, w := range want {
			b[i] = byte(w)
		}
		return bytes.Equal(got, b)
	}
	return same(t.params, s.Params) && same(t.results, s.Results)
}

func (v *verifier) functions() {
	if n := len(v.m.funcs); n > v.l.Functions {
		v.refuse(v.m.sections[secFunction].from, RuleFunctions, "functions: %d, expected at most %d", n, v.l.Functions)
	}
}

func (v *verifier) tables() {
	at := v.m.sections[secTable].from
	if v.m.importedTables > 0 || len(v.m.tables) > maxTables {
		v.refuse(at, RuleTable, "tables: %d, %d of them imported, expected at most %d of its own", len(v.m.tables), v.m.importedTables, maxTables)
	}
	var sum uint64
	for _, t := range v.m.tables {
		if sum += uint64(t.min); sum > maxTable {
			v.refuse(t.at, RuleTable, "tables: %d elements, expected at most %d", sum, maxTable)
		}
	}
}

func tooManyPages(mem limited, l Limits) string {
	return fmt.Sprintf("memory: at least %d pages, expected at most %d (%d KiB)", mem.min, l.MemoryPages, l.MemoryPages*64)
}

func (v *verifier) memory() {
	at := v.m.sections[secMemory].from
	if len(v.m.memories) != 1 || v.m.importedMemory {
		v.refuse(at, RuleMemory, "memories: %d, expected one, the module's own", len(v.m.memories))
		return
	}
	if mem := v.m.memories[0]; mem.min > v.l.MemoryPages {
		v.refuse(mem.at, RuleMemory, "%s", tooManyPages(mem, v.l))
	}
}

func (v *verifier) globals() {
	if n := len(v.m.globals); n > maxGlobal {
		v.refuse(v.m.sections[secGlobal].from, RuleGlobals, "globals: %d, expected at most %d", n, maxGlobal)
	}
	for i, g := range v.m.globals {
		if g.mutable && (g.typ == V128 || g.typ.reference()) {
			v.refuse(g.at, RuleGlobals, "global %d: mutable %s, expected a number, which can be restored", i, g.typ)
		}
	}
}

func reservedDetail(name, prefix string) string {
	return fmt.Sprintf("export: %s, expected no name that starts with %s", printable(name), prefix)
}

func (v *verifier) exports() {
	found := make(map[string]bool, len(v.m.exports))
	for _, e := range v.m.exports {
		found[e.name] = true
		want, known := v.c.Exports[e.name]
		switch {
		case v.c.ReservedPrefix != "" && strings.HasPrefix(e.name, v.c.ReservedPrefix):
			v.refuse(e.at, RuleReservedName, "%s", reservedDetail(e.name, v.c.ReservedPrefix))
		case e.name == memoryName:
			if e.kind != kindMemory {
				v.refuse(e.at, RuleExport, "export: memory, expected to be the memory")
			}
		case known:
			v.function(e, want)
		}
	}
	for _, name := range append([]string{memoryName}, v.c.Required...) {
		if !found[name] {
			v.refuse(v.m.sections[secExport].from, RuleExport, "exports: no %s, expected one", name)
		}
	}
}

// function checks an export that the host will call. An imported function
// would run without a meter.
func (v *verifier) function(e exported, want Signature) {
	if e.kind != kindFunc || int64(e.index) < int64(v.m.importedFuncs) {
		v.refuse(e.at, RuleExport, "export: %s, expected a function of the module", e.name)
		return
	}
	if got := v.m.types[v.m.funcs[e.index]]; !got.is(want) {
		v.refuseIn(int(e.index), e.at, RuleExport, "export: %s is %s, expected %s", e.name, got.signature(), want)
	}
}

func (v *verifier) start() {
	if v.m.hasStart {
		v.refuse(v.m.startAt, RuleStart, "start: a start section, expected none; use _initialize")
	}
}
