// Package sim is the engine of fleets that are not real: a task does nothing
// but take its declared run time, in real time that passes so many times
// faster. So it needs no command, and one that it has is not run. It may import host/engine, host/poise and host/resource. One
// goroutine and one timer serve all tasks, which end in the order of their
// time, those of one time in the order of their binds. Nothing is on disk: an
// engine that is made anew knows no task, so tasks bound again start over.
package sim
