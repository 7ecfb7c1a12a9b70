// Package daemon holds the tests of the poise program on real API servers: it is
// built as a user builds it, started, asked by its own command line, killed and
// started again, beside kubelets that are played. It imports the other packages of
// this module and nothing of the product. Nothing in it is for anyone but its tests.
package daemon
