// Package advice says which nodes a fleet lacks and which nobody needs: what the
// jobs that wait could start on if there were more nodes of a class, and which
// empty nodes none of them would go to. It imports the core and is a function of
// a state: no clock, no I/O. Its invariants: the same state gives the same advice,
// whatever the order of its maps; a job that is said to start on new nodes fits on
// empty ones of that class by the native filters, all of those at once.
package advice
