package kube

import (
	"syscall"
	"time"
	"unsafe"
)

// sinceBoot is the time since this machine started, also that in which it was
// suspended, which the monotonic clock of Go does not count.
func sinceBoot() time.Duration {
	const boottime = 7
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, boottime, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("BUG: no CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(t.Nano())
}
