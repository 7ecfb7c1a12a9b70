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
