// Package baseline holds the policies that others have published or run, to
// measure Poise against: each is one scorer behind sched.Scorer, made by its
// name. The package is core: it imports sched, state, poise, resource and the
// standard library, and keeps nothing but scratch between calls. Every answer
// depends on the job's shape and the row alone, each published score s becomes
// the loss 100 - s, and no sum holds a product that a compiler could fuse into
// it, so the same input gives the same losses on every machine.
package baseline
