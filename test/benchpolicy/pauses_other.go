//go:build !linux

package main

import "time"

var start = time.Now()

// processorTime stands for the thread's processor time where there is no telling
// it: wall-clock time, so other programs do add to what is measured.
func processorTime() time.Duration { return time.Since(start) }
