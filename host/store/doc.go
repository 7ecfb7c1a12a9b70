// Package store keeps a daemon's events durably, and beside them snapshots of
// its state and the history that people ask for: jobs, placements, decisions and
// idempotency keys. It is an SQLite database in a directory of its own.
//
// It may import host/poise and modernc.org/sqlite, and knows nothing of what
// events mean: bodies are bytes, states are words.
//
// Invariants: a Batch is durable in whole or not at all, and in the order of
// Append; sequence numbers have no gaps; Pending reports success only after the
// write-ahead log is on disk; one process at a time has the directory open; a
// transaction that fails leaves everything queued, and the store goes on by
// itself once the disk lets it.
package store
