// Package workload makes and reads workloads for the simulator: synthetic ones
// from a seed, and records of the Standard Workload Format of the Parallel
// Workloads Archive. It imports host/poise and host/resource and has no files and
// no clock: lines come in, lines go out, and host/manifest reads and writes
// files. Its invariants: a seed and a Spec give the same jobs on every build, as
// draws come from PCG and no function of package math that a target may have in
// assembly is used; a record that was written reads back as it was.
package workload
