// Package sim runs jobs against a fleet in virtual time: the published
// experiment that inflates a workload until the fleet is full, and the replay
// of a trace with arrivals, run times and departures. It drives the same state,
// queue and pipeline as the daemon. The package is core: it imports the other
// core packages and the standard library, reads no file and no clock, and
// starts no goroutine; the one source of randomness is Go's classic generator,
// seeded by the caller, because the published experiment is defined by it.
package sim
