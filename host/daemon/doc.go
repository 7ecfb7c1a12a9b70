// Package daemon puts the parts together: the deciding loop, the store, the
// engines, the model and the API's answers. It is the one place that may import
// them all; they do not know each other.
//
// One goroutine owns the loop. Whoever wants something sends it a function. What
// a turn of the loop decided is appended to the store as one batch, and takes
// effect (an answer to a client, a task that starts) once it is durable, in the
// order of the log. Engines are asked beside that, in order for one placement, so
// that a slow one delays its own tasks only. While the store is stalled nothing is
// decided and nothing accepted; reads go on.
package daemon
