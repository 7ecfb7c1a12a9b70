// Package engine is the contract between the daemon and what runs tasks: bind
// a task, evict it, watch all of them, forget one whose end is on record. It
// may import host/poise and host/resource, and the engines below it (local,
// sim, kube) implement Engine and never import each other. Binding is
// idempotent by placement: an engine starts a placement once or not at all,
// and reports exactly one end of it. Board holds what every engine of this
// machine needs, the statuses and who watches them; Memory is the twin for
// tests, which does what it is told.
package engine
