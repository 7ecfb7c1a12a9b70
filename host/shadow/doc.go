// Package shadow compares what a policy that is not in force would have decided
// with what was decided: how often it agrees, where it differs and by how much,
// what it used and how it failed, and how full and balanced the fleet would be
// by now. It may import state, balance, sched, poise and resource; it has no
// clock, I/O or goroutine. What it keeps is bounded, whatever it is shown, and
// nothing in it is part of what decisions depend on.
package shadow
