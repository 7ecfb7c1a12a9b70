// Package archtest holds the tests of the repository's own shape: who may
// import whom, what the core may not touch, what each package must say of
// itself, how long a file may grow, and what may lie at the top. It has no code
// but tests, reads the source with go/parser for every platform and build tag
// at once, and imports nothing of Poise. Every checker is a function from
// source to findings, and is itself tested on small sources that break its
// rule, so that a checker that sees nothing cannot pass for a clean tree. The
// rules are the table in rules_test.go; a package that has no row there fails.
package archtest
