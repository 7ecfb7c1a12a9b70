// Package cli is the command tree of poise: it reads flags and files, runs what
// they ask for and prints the answer. Every command is built by a function from
// its environment, and what a command does is a plain function with typed
// options, so tests call it without a process. The package composes the others
// and holds no logic of theirs.
package cli
