//go:build !unix || freebsd || dragonfly

package policy

import "runtime/debug"

// LimitProcess puts this process under the limits on compiling that this system
// has: the garbage collector's. The parent's clock bounds the time.
func LimitProcess(l Limits) { debug.SetMemoryLimit(l.CompileMemory / 4 * 3) }
