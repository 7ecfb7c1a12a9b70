// Package loop is the deciding loop as data: the state, the queue of waiting
// jobs, and lanes in which policies plan. Whoever drives it applies events, asks
// for the next piece of work, carries the work out, here or on another
// goroutine, and settles it; the loop says which events that makes. It imports
// the core, has no clock and starts no goroutine, so the simulator and the daemon
// drive the same code: what differs is who waits for the work.
//
// Its invariants: a job is in the queue, in one piece of work, or placed, never
// in two of these; a lane plans one job at a time; a decision that a change of
// its node overtook is not committed.
package loop
