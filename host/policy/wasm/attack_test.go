package wasm

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Modules made to cost more than they weigh. Memory is asserted; time by the
// tests' own limit, which anything quadratic in 4 MiB would meet.
func TestAttacks(t *testing.T) {
	f := func(what string, bin []byte, words string) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(bin, Defaults(), contract())
		runtime.ReadMemStats(&after)
		_, ierr := Instrument(bin, Defaults())
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), words) || len(err.Error()) > 300 {
			t.Errorf("%s: %.300v, want %q", what, err, words)
		}
		if ierr != nil && !errors.As(ierr, &r) {
			t.Errorf("%s: Instrument gives %v", what, ierr)
		}
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(len(bin))*16+32<<20; used > most {
			t.Errorf("%s: %d bytes allocated, want at most %d", what, used, most)
		}
	}
	code := func(code ...byte) []byte { return goodParts(code...).module() }
	section := func(change func(*parts)) []byte {
		p := goodParts(0x20, 0)
		change(&p)
		return p.module()
	}
	many := func(n int, b ...byte) []byte { return bytes.Repeat(b, n) }
	const large = 4<<20 - 1000

	f("nothing", nil, "header")
	f("version", []byte("\x00asm\x02\x00\x00\x00"), "header")
	f("component", []byte("\x00asm\x0d\x00\x01\x00"), "header")
	f("half a section", []byte(header+"\x01"), "unexpected end")
	f("section length beyond the end", []byte(header+"\x01\xff\xff\xff\xff\x0f"), "length: 4294967295")
	f("section length too short", newBuilder().section(secType, 1, 0x60, 0).out, "unexpected end")
	f("section length too long", newBuilder().section(secType, 0, 0, 0).out, "2 bytes too long")
	f("endless integer", cat([]byte(header), []byte{1}, many(large, 0x80)), "at most 32 bits")
	f("integer of 33 bits", newBuilder().section(secType, 0xff, 0xff, 0xff, 0xff, 0x1f).out, "at most 32 bits")
	f("types that are not there", newBuilder().section(secType, 0xff, 0xff, 0xff, 0xff, 0x0f).out, "4294967295, expected at most one for each")
	f("a million types", newBuilder().section(secType, cat(appendUnsigned(nil, large/3), many(large/3, 0x60, 0, 0))...).out, "expected at most 100000")
	f("a million exports", section(func(p *parts) {
		p.exports = cat(appendUnsigned(nil, large/4), many(large/4, 1, 'f', 0, 1))
	}), "expected at most 100000")
	f("a million empty custom sections", cat([]byte(header), many(large/3, 0, 1, 0)), "memories: 0")
	f("unknown section", newBuilder().section(13).out, "section: 13")
	f("section twice", newBuilder().section(secType, 0).section(secType, 0).out, "once and in order")
	f("section out of order", newBuilder().section(secFunction, 0).section(secType, 0).out, "once and in order")
	f("2^32 locals", section(func(p *parts) {
		p.code = vector(fnBody([][]byte{{0xff, 0xff, 0xff, 0xff, 0x0f, byte(I32)}, {0xff, 0xff, 0xff, 0xff, 0x0f, byte(I32)}}, 0x20, 0))
	}), "locals: 4294967296")
	f("2^31 locals", section(func(p *parts) {
		p.code = vector(fnBody([][]byte{{0xff, 0xff, 0xff, 0xff, 0x07, byte(I64)}}, 0x20, 0))
	}), "locals: 2147483648, expected at most 4096")
	f("100,000 blocks deep", code(cat(many(100_000, 0x02, 0x40), many(100_000, 0x0b), []byte{0x20, 0})...), "body: 300")
	f("2 million blocks deep, without end", code(many(large/2, 0x02, 0x40)...), "body: 4")
	f("each block left by a branch to the function", code(cat(many(8000, 0x02, 0x40, 0x20, 0, 0x0d, 0x7f), many(8000, 0x0b), []byte{0x20, 0})...), "")
	f("2^31 labels", code(0x20, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x07), "labels: 2147483647")
	f("4 million labels", code(cat([]byte{0x20, 0, 0x0e}, appendUnsigned(nil, large-100), many(large-99, 0))...), "body: 4")
	f("a name of 1 MiB", section(func(p *parts) {
		p.imports = vector(cat(appendName(nil, strings.Repeat("\x1b[31m", 1<<18)), appendName(nil, "x"), []byte{kindFunc, 1}))
	}), `import: \x1b[31m`)
	f("export that claims a global of the host", section(func(p *parts) {
		p.exports = vector(export("memory", kindMemory, 0), export("f", kindFunc, 1), export("poise:g0", kindFunc, 1))
	}), "poise:g0")
	f("memory of 2^32-1 pages", section(func(p *parts) { p.memory = []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f} }), "4294967295 to 0 pages")
	f("table of 2^32-1 elements", section(func(p *parts) { p.tables = []byte{1, byte(FuncRef), 0, 0xff, 0xff, 0xff, 0xff, 0x0f} }), "4294967295 elements")
	f("too long", append(code(0x20, 0), make([]byte, 5<<20)...), "bytes")
}

// What Instrument must refuse even without Verify, as the caller may only have
// tests in mind.
func TestInstrumentRefuses(t *testing.T) {
	f := func(what, rule string, bin []byte) {
		t.Helper()
		_, err := Instrument(bin, Defaults())
		var r *Refusal
		if !errors.As(err, &r) || r.Rule != rule {
			t.Errorf("%s: %v, want rule %s", what, err, rule)
		}
	}
	f("reserved export", RuleReservedName, newBuilder().section(secMemory, 1, 0, 1).section(secExport, vector(export("poise:x", kindMemory, 0))...).out)
	f("fuel by its index", RuleIndex, goodParts(0x42, 0, 0x24, 1, 0x20, 0).module())
	f("local by its index", RuleIndex, goodParts(0x20, 2).module())
	f("large memory", RuleMemory, newBuilder().section(secMemory, 1, 0, 65).out)
	f("rewritten already", RuleReservedName, func() []byte {
		bin, err := Instrument(goodParts(0x20, 0).module(), Defaults())
		if err != nil {
			t.Fatal(err)
		}
		return bin
	}())
}

// Every beginning of a good module ends in a refusal, not in a panic.
func TestTruncated(t *testing.T) {
	bin := goodParts(0x20, 0, 0x04, 0x7f, 0x42, 0x80, 0x80, 0x01, 0xa7, 0x05, 0x41, 2, 0x0b).module()
	for n := range bin {
		if _, err := Verify(bin[:n], Defaults(), contract()); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(bin))
		}
	}
}

func TestReader(t *testing.T) {
	unsigned := func(want uint32, ok bool, b ...byte) {
		t.Helper()
		r := &reader{bin: b, end: len(b)}
		if got := r.u32(); got != want || (r.err == nil) != ok {
			t.Errorf("%x: %d, %v", b, got, r.err)
		}
	}
	unsigned(0, true, 0)
	unsigned(127, true, 0x7f)
	unsigned(128, true, 0x80, 1)
	unsigned(1, true, 0x81, 0x80, 0x80, 0x80, 0)
	unsigned(1<<32-1, true, 0xff, 0xff, 0xff, 0xff, 0x0f)
	unsigned(0, false, 0xff, 0xff, 0xff, 0xff, 0x1f)
	unsigned(0, false, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
	unsigned(0, false, 0x80)
	signed := func(bits int, want int64, ok bool, b ...byte) {
		t.Helper()
		r := &reader{bin: b, end: len(b)}
		if got := r.signed(bits); got != want || (r.err == nil) != ok {
			t.Errorf("%x: %d, %v", b, got, r.err)
		}
	}
	signed(32, -1, true, 0x7f)
	signed(32, 64, true, 0xc0, 0)
	signed(32, -1, true, 0xff, 0xff, 0xff, 0xff, 0x7f)
	signed(32, -1<<31, true, 0x80, 0x80, 0x80, 0x80, 0x78)
	signed(32, 1<<31-1, true, 0xff, 0xff, 0xff, 0xff, 0x07)
	signed(32, 0, false, 0xff, 0xff, 0xff, 0xff, 0x0f)
	signed(33, 1<<32-1, true, 0xff, 0xff, 0xff, 0xff, 0x0f)
	signed(33, 0, false, 0xff, 0xff, 0xff, 0xff, 0x1f)
	signed(64, -1<<63, true, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f)
	signed(64, 0, false, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02)
}
