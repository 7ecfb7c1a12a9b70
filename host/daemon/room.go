package daemon

import (
	"runtime"
	"sync"
)

// cores is how many processors the process had for Go when it began.
var cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// planners is how many lanes plan at one time: a core is left for the loop.
func planners() int { return max(1, cores()-1) }

// makeRoom lets the loop run beside as many guests as may be at work at one time.
// Go cannot take a processor back from a guest before its call is over, and where
// the machine is full, a call lasts as long as the machine has its thread wait.
func makeRoom() { runtime.GOMAXPROCS(cores() + planners() + shadowSlots) }
