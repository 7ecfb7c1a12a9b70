//go:build race

package daemon

// raced says that the race detector is on. The child that checks a plugin is the
// test program itself, and would take ten times as long.
const raced = true
