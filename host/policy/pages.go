package policy

import "github.com/tetratelabs/wazero/experimental"

// allocate implements experimental.MemoryAllocator: the pages are the memory.
func (p *pages) allocate(_, _ uint64) experimental.LinearMemory { return p }

// Free implements experimental.LinearMemory. An engine may be closed beside a call
// that still runs: the pages go with the instance.
func (*pages) Free() {}
