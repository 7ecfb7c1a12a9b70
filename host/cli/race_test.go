//go:build race

package cli

// raced says that the race detector is on. The compile child is the test program
// then, too slow to compile a module of stock Go within its limit.
const raced = true
