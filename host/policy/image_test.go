package policy

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a memory holds and whatever was written over it, restore gives it
// back outside the kept range and leaves the kept range alone.
func TestImageRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := make([]byte, rapid.IntRange(0, 6).Draw(t, "blocks")*runBlock+rapid.IntRange(0, 40).Draw(t, "more"))
		for range rapid.IntRange(0, 4).Draw(t, "bytes") {
			if len(memory) > 0 {
				memory[rapid.IntRange(0, len(memory)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "value")
			}
		}
		im := image{memory: bytes.Clone(memory), runs: runsOf(memory)}
		keepFrom := rapid.IntRange(0, len(memory)).Draw(t, "from")
		keepTo := rapid.IntRange(keepFrom, len(memory)).Draw(t, "to")
		spoilt := bytes.Repeat([]byte{0xa5}, len(memory))
		im.restore(spoilt, 0, keepFrom)
		im.restore(spoilt, keepTo, len(memory))
		for i, b := range spoilt {
			if want := memory[i]; i >= keepFrom && i < keepTo && b != 0xa5 || (i < keepFrom || i >= keepTo) && b != want {
				t.Fatalf("byte %d of %d, kept %d to %d: %#x, expected %#x", i, len(memory), keepFrom, keepTo, b, want)
			}
		}
	})
}
