// Package registry holds what tenants' plugins are to a daemon: how a version is
// named, what a push has to pass, and how many pushes a tenant may have under
// way. It may import the contract with its conformance kit, package policy,
// package minisign and nouns; the rows are in package store, and package daemon
// puts both together. A name, once resolved, is a digest, and only digests run.
package registry
