//go:build race

package wasm

// slow says that the race detector is on, which makes the engine's compiler ten
// times slower and has nothing to find in code without goroutines.
const slow = true
