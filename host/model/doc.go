// Package model groups the nodes of a fleet into classes and says of any node
// which class it belongs to. Build makes a Model from nodes: features on a log
// scale, equal and nearly equal nodes collapsed into cells, spectral clustering
// of the cells, names for people, and ids that stay from one model to the next.
// Assign puts a node into a class of a finished model without any clustering,
// and Index keeps the nodes by class, to leave out of a decision those that
// cannot hold a job. It may import the standard library, host/spectral,
// host/state, host/poise and host/resource.
//
// A Model never changes. Everything in it is plain data (Record), to be written
// down as an event and restored from there, never computed again: the bits of
// eigenvalues differ between builds of the program for different processors.
// The order of nodes has no influence on a model.
package model
