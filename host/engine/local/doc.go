// Package local runs tasks as processes of this machine. It may import
// host/engine, host/poise and host/resource. Each task has a small process of
// its own above it, the shim, which outlives the daemon: it starts the command,
// keeps its output within limits, ends it when told or when its time is over,
// and puts how it ended on disk before it goes.
//
// What always holds: a command is started once or never, because the shim's
// claim is on disk before it starts anything and nobody takes a claimed task
// again; an end that was reached is found by the next daemon; no process is
// sent a signal that is not proven to be the one that is meant (pid, start time
// and boot, or a mark in its environment).
//
// A task's folder, tasks/PLACEMENT below the engine's:
//
//	spec.json     what to run, complete before the folder has its name
//	alive         a fifo whose one writer is the shim: the end of file tells
//	              the daemon, at once and after any restart, that the shim is gone
//	claim.json    which process is the shim, then which one the task
//	evict.json    that the task must end, and how long it may take to
//	status.json   how it ended
//	out.log.N     output; the largest N is written to
//	work, tmp     working and temporary folder of the task
package local
