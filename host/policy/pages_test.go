package policy

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// Whatever pages hold when they are sealed, once and again, and whatever was
// written over them, restore gives it back outside the kept range and leaves the
// kept range alone.
func TestPagesRestore(t *testing.T) {
	page := os.Getpagesize()
	probe := newPages(4 * page)
	if probe == nil {
		if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
			t.Fatal("no pages, expected some on this system")
		}
		t.Skip("no pages on ", runtime.GOOS, runtime.GOARCH)
	}
	probe.free()
	rapid.Check(t, func(t *rapid.T) {
		most := 8 * page
		p := newPages(most)
		if p == nil {
			t.Fatal("no pages")
		}
		defer p.free()
		memory := p.Reallocate(uint64(rapid.IntRange(1, most).Draw(t, "size")))
		if p.Reallocate(uint64(most)+1) != nil {
			t.Fatal("more than there can be, expected nil")
		}
		for range rapid.IntRange(1, 3).Draw(t, "seals") {
			for range rapid.IntRange(0, 4).Draw(t, "bytes") {
				if len(memory) > 0 {
					memory[rapid.IntRange(0, len(memory)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "value")
				}
			}
			want := bytes.Clone(memory)
			if !p.seal(memory) {
				t.Fatal("not sealed")
			}
			if !bytes.Equal(memory, want) {
				t.Fatal("another state after it was sealed")
			}
			from := rapid.IntRange(0, len(memory)).Draw(t, "from")
			to := rapid.IntRange(from, len(memory)).Draw(t, "to")
			for i := range memory {
				memory[i] = 0xa5
			}
			if !p.restore(0, from) || !p.restore(to, len(memory)) {
				t.Fatal("not restored")
			}
			for i, b := range memory {
				if w := want[i]; i >= from && i < to && b != 0xa5 || (i < from || i >= to) && b != w {
					t.Fatalf("byte %d of %d, kept %d to %d: %#x, expected %#x", i, len(memory), from, to, b, w)
				}
			}
		}
	})
}

// However often an instance was set back, and whatever was written to it since,
// all of its memory but the kept range is as sealed, in the engine's memory and in
// pages.
func TestInstanceGoesBack(t *testing.T) {
	for _, name := range []string{"answer", "echo", "fickle"} {
		m := guestOf(t, name, nil).Module()
		rapid.Check(t, func(t *rapid.T) {
			in, err := m.instantiate()
			if err != nil {
				t.Fatal(err)
			}
			defer in.close()
			if err := in.seal(); err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(in.memory())
			from := rapid.IntRange(0, len(want)).Draw(t, "from")
			to := rapid.IntRange(from, len(want)).Draw(t, "to")
			for range rapid.IntRange(1, 10).Draw(t, "rounds") {
				mem := in.memory()
				for range rapid.IntRange(0, 3).Draw(t, "writes") {
					at := rapid.IntRange(0, len(mem)-1).Draw(t, "at")
					for i := range mem[at:min(at+rapid.IntRange(1, 5000).Draw(t, "length"), len(mem))] {
						mem[at+i] = 0xa5
					}
				}
				kept := bytes.Clone(mem[from:to])
				if !in.restore(uint32(from), uint32(to)) {
					t.Fatal("not restored")
				}
				if !bytes.Equal(mem[:from], want[:from]) || !bytes.Equal(mem[to:], want[to:]) || !bytes.Equal(mem[from:to], kept) {
					t.Fatalf("another memory than before, or what is kept changed")
				}
			}
		})
	}
}
