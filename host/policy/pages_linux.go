//go:build amd64 || arm64

package policy

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// pages are the memory of a large guest: a private mapping of a file that has no
// name. What a guest writes goes to pages of its own. Once the file holds the
// sealed state, giving those up goes back to it, at the price of what was written
// and not of all that there is.
type pages struct {
	file   int
	all    []byte // as much as the memory can ever have
	sealed bool
}

// newPages makes the memory of a guest that can have so many bytes, nil where
// there is no such mapping to be had.
func newPages(most int) *pages {
	const closeOnExec = 1
	number := map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]
	name := [...]byte{'p', 'o', 'i', 's', 'e', 0}
	file, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(&name)), closeOnExec, 0) // memfd_create
	if errno != 0 {
		return nil
	}
	p := &pages{file: int(file)}
	err := syscall.Ftruncate(p.file, int64(most))
	if err == nil {
		p.all, err = syscall.Mmap(p.file, 0, most, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	}
	if err != nil {
		_ = syscall.Close(p.file) // it holds nothing
		return nil
	}
	return p
}

// Reallocate implements experimental.LinearMemory. The memory never moves.
func (p *pages) Reallocate(size uint64) []byte {
	if size > uint64(len(p.all)) {
		return nil
	}
	return p.all[:size]
}

// seal makes this the state to go back to. false = it could not be kept.
func (p *pages) seal(memory []byte) bool {
	for _, r := range runsOf(memory) {
		if r.zero && !p.sealed {
			continue // as the file is
		}
		if n, err := syscall.Pwrite(p.file, memory[r.from:r.to], int64(r.from)); err != nil || n != r.to-r.from {
			return false
		}
	}
	p.sealed = true
	return syscall.Madvise(p.all[:roundUpTo(len(memory), os.Getpagesize())], syscall.MADV_DONTNEED) == nil
}

// restore goes back to the sealed state in [from, to). false = it did not.
func (p *pages) restore(from, to int) bool {
	size := os.Getpagesize()
	lo, hi := roundUpTo(from, size), to/size*size
	if lo >= hi {
		return p.read(from, to)
	}
	return p.read(from, lo) && syscall.Madvise(p.all[lo:hi], syscall.MADV_DONTNEED) == nil && p.read(hi, to)
}

// read writes the sealed state over a part of a page.
func (p *pages) read(from, to int) bool {
	if from == to {
		return true
	}
	n, err := syscall.Pread(p.file, p.all[from:to], int64(from))
	return err == nil && n == to-from
}

// free gives all of it back. Nobody may look at the memory from then on.
func (p *pages) free() {
	if p == nil || p.all == nil {
		return
	}
	// Neither can fail: both are ours.
	_ = syscall.Munmap(p.all)
	_ = syscall.Close(p.file)
	p.all = nil
}

func roundUpTo(n, unit int) int { return (n + unit - 1) / unit * unit }
