// Package state holds what is known of the fleet and its jobs, and changes it
// only by Apply(Event): recovery is the same code as live. Nodes live in
// columns cut into pages of 64 rows that are copied on the first write after a
// snapshot, so taking a snapshot costs a struct copy and a snapshot never
// changes under its reader. Every visible change of a row gives it a new row
// version from one counter that never goes back, and the row numbers in order
// of that counter form the change log from which caches catch up. The package
// imports poise, resource and the standard library; it has no clock, no I/O and
// no goroutine. Invariant: per node and dimension, allocated equals the sum over
// the tasks in its list.
package state
