//go:build !linux

package main

import "time"

// began is when the program started.
var began = time.Now()

// spent is the time since the program started, in microseconds, where the system has
// no clock of a thread's own.
func spent() float64 { return float64(time.Since(began).Nanoseconds()) / 1e3 }
