//go:build race

package store

// raceDetector says that the race detector is on, under which the transpiled SQLite
// is ten times slower.
const raceDetector = true
