// Package snapshot reads and writes snapshot files: everything that a decision
// depends on, in one file. That is the state (columns, jobs that wait and run,
// demand profile, model of classes, symbols, tenants, and the policies in force
// with their history), in it the part of the configuration that decisions depend
// on, seed included, as poise.Scheduler; the bytes of the plugins that are in
// force or can be rolled back to, by digest; the time, the index of the last
// event, and the ABI. Tokens and the commands and environments of jobs are in no
// state, so no file has them. A plugin whose bytes were not to be had when the
// file was written is not in it either: its failure rule decides, as it does live.
//
// It may import the core. The same state gives the same bytes. What is read is
// checked whole before it is used: bounds, checksum, the digest of each plugin,
// that nothing is left over, and that the state holds together.
package snapshot
