//go:build race

package daemon

// raced says that the race detector is on.
const raced = true
