package main

import (
	"syscall"
	"unsafe"
)

// spent is the time of the processor that this thread has used, in microseconds: a
// collection of garbage beside it is not in it, and what a pass has to help with is.
func spent() float64 {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID, which package syscall does not name
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("BUG: clock_gettime: " + errno.Error())
	}
	return float64(t.Sec)*1e6 + float64(t.Nsec)/1e3
}
