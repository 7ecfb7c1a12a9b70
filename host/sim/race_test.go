//go:build race

package sim

// raced says that the race detector is on, under which the published experiment is ten
// times slower: a run has one goroutine, so that a part of it is enough there.
const raced = true
