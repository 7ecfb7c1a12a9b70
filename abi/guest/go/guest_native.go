//go:build !wasm

package poise

// register has nothing to do where there is no host: a test may declare any
// number of plugins.
func register(*Plugin) {}
