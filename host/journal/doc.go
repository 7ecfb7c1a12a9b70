// Package journal writes events and states as JSON and reads them again: what
// the store keeps and what a snapshot file holds. It imports poise, state and
// model, and has no state of its own. What it has written once it can read for
// ever: a body carries the number of its schema, and a change of a body's fields
// comes with a new number and a reader for the old one.
package journal
