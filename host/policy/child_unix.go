//go:build unix && !freebsd && !dragonfly

package policy

import (
	"runtime/debug"
	"syscall"
	"time"
)

// LimitProcess puts this process under the limits on compiling. The kernel
// kills it when its CPU time is over, in whole seconds; there is no core dump.
func LimitProcess(l Limits) {
	seconds := uint64((l.Compile + time.Second - 1) / time.Second)
	// A system that refuses leaves the clock of the parent.
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	debug.SetMemoryLimit(l.CompileMemory / 4 * 3)
}
