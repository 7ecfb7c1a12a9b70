//go:build !linux

package kube

import "time"

var started = time.Now()

// sinceBoot is the time since this program started, by a clock that nobody sets.
func sinceBoot() time.Duration { return time.Since(started) }
