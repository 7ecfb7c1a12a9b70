// Package sched decides where a job goes: Plan(snapshot, job) gives a Decision.
// Native filters narrow the rows, a Scorer ranks what is left by loss (smaller
// is better), and the order (tier, rounded loss, tie) picks one. What a policy
// answers for one job shape and one row version is kept, so a decision looks
// only at rows that changed, and the best row stands at the root of a
// tournament tree, so picking it scans nothing. The package imports state, poise,
// resource and the standard library; it has no clock, I/O, goroutine or hidden
// randomness, and the same snapshot, policy and seed give the same Decision in
// whatever order nodes joined.
package sched
