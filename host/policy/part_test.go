package policy

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// Whether instances have their whole memory or a part of it shows nowhere: a
// guest that reaches for an address of what is left off finds it there, as zero
// before each job, and uses the same calls and fuel; behind the memory's end it
// traps as ever.
func TestPartOfMemory(t *testing.T) {
	f := func(nodes int, from func(size int) int, traps, reaches bool) {
		t.Helper()
		w := newWorld(t)
		fleet(w, nodes)
		size := 0
		of := func(whole bool) (losses []float64, uses []poise.PluginUse) {
			g := guestOf(t, "reach", map[string]string{"at": fmt.Sprint(from(size))})
			g.whole = whole
			for range 3 {
				a, err := ask(w, g, w.submit("t", request(1000, 0, 0), nil))
				var fault *Fault
				if traps != (errors.As(err, &fault) && fault.Code == abi.CodeTrap) || !traps && err != nil {
					t.Fatalf("%d nodes, address %d: %v", nodes, from(size), err)
				}
				losses, uses = append(losses, a.loss...), append(uses, g.Use())
			}
			if g.whole != whole && !reaches {
				t.Errorf("%d nodes, address %d: has all its memory, expected a part", nodes, from(size))
			}
			for _, s := range []*slot{g.small, g.large} {
				switch {
				case s == nil:
				case g.whole:
					size = int(s.in.mem.Size())
				case int(s.in.mem.Size()) > size-partLeast:
					t.Errorf("%d nodes: %d bytes of memory, expected a part of %d", nodes, s.in.mem.Size(), size)
				}
			}
			return losses, uses
		}
		if size = 1 << 16; nodes > smallRows {
			size = 3 << 16
		}
		losses, uses := of(true)
		for i := 0; i < len(losses) && !traps; i += nodes { // later calls of a job find what the first one left
			if losses[i] != 1 {
				t.Errorf("%d nodes, address %d: loss %v, expected 1", nodes, from(size), losses[i])
			}
		}
		if l, u := of(false); !slices.Equal(l, losses) || !slices.Equal(u, uses) {
			t.Errorf("%d nodes, address %d: used %+v, with its whole memory %+v", nodes, from(size), u, uses)
		}
	}
	for _, nodes := range []int{3, 5000} {
		f(nodes, func(int) int { return 2048 }, false, false)
		f(nodes, func(size int) int { return size - 8 }, false, true)
		f(nodes, func(size int) int { return size - 4 }, true, true)
	}
}

// A module keeps all its memory where it could see how large that is, and where
// the host looks into it for an import.
func TestWhoHasAllMemory(t *testing.T) {
	f := func(guest string, params map[string]string, want bool) {
		t.Helper()
		if got := guestOf(t, guest, params).module.code.partible(); got != want {
			t.Errorf("%s: %v, expected %v", guest, got, want)
		}
	}
	f("reach", map[string]string{"at": "0"}, true)
	f("echo", nil, true)
	f("answer", nil, false) // memory.size in its score
}
