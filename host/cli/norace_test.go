//go:build !race

package cli

// raced says that the race detector is on.
const raced = false
