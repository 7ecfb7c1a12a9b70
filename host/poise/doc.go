// Package poise holds the nouns that every other package speaks of: Job, Node,
// Tenant, Request, Placement, Profile, Event and Error. It may import only the
// standard library and host/resource, and nothing here does I/O, reads a clock
// or keeps state. Every noun can be validated on its own; a valid noun holds no
// negative amount, no duplicate key and no NaN, so packages behind it never
// check again.
package poise
