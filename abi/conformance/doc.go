// Package conformance is the kit that any policy plugin in any language must
// pass: it asks a loaded plugin about made-up fleets and compares what it says
// with what the contract (abi/SPEC.md) demands. It may import the core and
// host/policy. Every fleet is made from fixed numbers, so one plugin with one set
// of parameters has the same report every time; a check that fails says on which
// node, for which job, what was answered and what was expected.
package conformance
