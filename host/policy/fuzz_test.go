package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
)

// FuzzLife runs whatever the bytes are as a plugin, on both engines: they agree
// on the fault and on the fuel, and the fault has a code.
func FuzzLife(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "hostile", "*.wasm"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%v, %v, expected guests", names, err)
	}
	for _, name := range names {
		f.Add(hostileBin(f, strings.TrimSuffix(filepath.Base(name), ".wasm")))
	}
	f.Add(bomb(tree(3, 300), 0))
	limit := func(o *Options) {
		o.Limits.SetupFuel, o.Limits.CallFuel = 100_000, 100_000
		o.Limits.Module.MemoryPages, o.Limits.GoMemoryPages = 4, 4
		o.Log = func(string) {}
	}
	compiler := testEngine(f, limit)
	interpreter := testEngine(f, func(o *Options) { limit(o); o.Interpreter = true })
	f.Fuzz(func(t *testing.T, bin []byte) {
		used, a := life(t, compiler, bin, abi.Score)
		usedAgain, b := life(t, interpreter, bin, abi.Score)
		switch {
		case (a == nil) != (b == nil):
			t.Errorf("%v, interpreted %v", a, b)
		case a != nil && (a.Code != b.Code || a.Export != b.Export || !slices.Contains(abi.Codes(), a.Code)):
			t.Errorf("%v, interpreted %v", a, b)
		case used != usedAgain:
			t.Errorf("%d units, interpreted %d", used, usedAgain)
		}
	})
}
