// Package poise is the guest side of Poise's plugin ABI for stock Go: an author
// declares a plugin with New and gets typed handles to its columns, parameters,
// reasons, job fields and blocks, and the sub-packages filter and score export
// the two functions that he writes. It imports strconv and unsafe and nothing
// else, so that a module needs none of the system calls of os, net and time and
// can be copied into a project as it is. Views point into the host's blocks and
// copy nothing; no function that takes a Call allocates, because the host sets
// memory back between jobs and a collection would be charged to the policy.
package poise
