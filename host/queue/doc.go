// Package queue orders the jobs that wait and says which may be tried now. Jobs
// of one shape form a group; the job of a group that cannot be placed parks the
// whole group, so a pass costs in the number of shapes that an event may help
// and not in the number of jobs. The package imports poise and the standard
// library; it has no clock, no I/O and no goroutine, and a Queue belongs to one
// caller at a time.
//
// Invariants: the order is total and never depends on the order of calls; a
// popped job is the caller's until it is handed back, and every other job is in
// exactly one of three places: ready, parked with its group, or delayed; a
// parked group is ready again at the latest one sweep after it was parked.
//
// What holds a job back for reasons of its tenant (shares, quotas, a hold) fits
// in as further Causes and as a tenant in the key of a group, with one heap of
// ready groups per tenant; a gang that waits to start is one job of a shape of its own, and a
// reservation is the business of whoever tries the popped job.
package queue
