package wasm

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// compiles says whether the engine takes a module.
func compiles(r wazero.Runtime, bin []byte) error {
	compiled, err := r.CompileModule(context.Background(), bin)
	if err != nil {
		return err
	}
	return compiled.Close(context.Background())
}

// sound checks on any bytes that Verify and Instrument end in a *Refusal or in
// a module that the engine takes if and only if it takes the original. The
// interpreter validates as the compiler does, and is quicker.
func sound(tb testing.TB, r wazero.Runtime, bin []byte) string {
	tb.Helper()
	limits := Defaults()
	var refusal *Refusal
	info, err := Verify(bin, limits, Contract{ReservedPrefix: reserved})
	if (info == nil) == (err == nil) || err != nil && !errors.As(err, &refusal) {
		tb.Fatalf("Verify gives %v and %v", info, err)
	}
	metered, merr := Instrument(bin, limits)
	switch {
	case merr != nil && err == nil:
		tb.Fatalf("Verify accepts what Instrument does not: %v\n%x", merr, bin)
	case merr != nil:
		if !errors.As(merr, &refusal) || refusal.Offset < 0 || refusal.Offset > len(bin) {
			tb.Fatalf("Instrument gives %v", merr)
		}
		return "refused"
	}
	plain, with := compiles(r, bin), compiles(r, metered)
	// The engine stumbles over an empty custom section at the end of a module,
	// which is valid. Custom sections do not get past Instrument.
	if plain != nil && strings.HasPrefix(plain.Error(), "failed to read custom section name") {
		return "custom"
	}
	if (plain == nil) != (with == nil) {
		tb.Fatalf("the engine says of the original %v, of the rewritten %v\n%x", plain, with, bin)
	}
	if plain != nil {
		return "invalid"
	}
	if _, err := Verify(metered, limits, Contract{ReservedPrefix: reserved}); err == nil {
		tb.Fatalf("Verify accepts a module that is rewritten already\n%x", bin)
	}
	return "valid"
}

// mutate changes some bytes, mostly in the code, where what is wrong is not
// found by the bounds of sections alone.
func mutate(src *rand.Rand, bin []byte) []byte {
	m, refusal := parse(bin)
	if refusal != nil {
		panic(refusal)
	}
	out := append([]byte(nil), bin...)
	for range 1 + src.IntN(3) {
		code := m.sections[secCode]
		at := code.from + src.IntN(code.to-code.from)
		if src.IntN(8) == 0 {
			at = src.IntN(len(out))
		}
		switch src.IntN(3) {
		case 0:
			out[at] = byte(src.Uint32())
		case 1:
			out[at]++
		case 2:
			out[at] = out[src.IntN(len(out))]
		}
	}
	return out
}

func interpreter(tb testing.TB) wazero.Runtime {
	tb.Helper()
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter())
	tb.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func TestSoundOnMutations(t *testing.T) {
	r := interpreter(t)
	tally := map[string]int{}
	mutations := 20000
	if slow {
		mutations = 5000
	}
	for seed := range uint64(mutations) {
		src := rand.New(rand.NewPCG(seed, 2))
		g := &generator{in: randomBytes(seed/20, 400), vectors: seed%2 == 0}
		tally[sound(t, r, mutate(src, g.module()))]++
	}
	t.Log(tally)
	for _, what := range []string{"refused", "invalid", "valid"} {
		if tally[what] < mutations/20 {
			t.Errorf("%d mutations are %s, expected at least %d", tally[what], what, mutations/20)
		}
	}
}

// Any bytes end in a refusal or a sound module, in time.
func FuzzVerify(f *testing.F) {
	r := interpreter(f)
	for seed := range uint64(8) {
		g := &generator{in: randomBytes(seed, 300), vectors: true}
		f.Add(g.module())
	}
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		bin, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bin)
	}
	f.Add([]byte(header))
	f.Add(newBuilder().section(secElement, 0).section(secCustom, 1, 's').out)
	f.Add(simple(0x20, 0))
	f.Fuzz(func(t *testing.T, bin []byte) {
		// The engine compiles whatever the bytes ask for.
		if len(bin) < 1<<14 {
			sound(t, r, bin)
		}
	})
}
