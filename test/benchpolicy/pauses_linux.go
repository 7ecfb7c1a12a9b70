package main

import (
	"syscall"
	"time"
	"unsafe"
)

// processorTime gives what the calling thread has used of a processor. getrusage
// would count in ticks on some kernels.
func processorTime() time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID, which package syscall does not name
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("BUG: clock_gettime: " + errno.Error())
	}
	return time.Duration(t.Nano())
}
