//go:build linux || darwin || freebsd

package store

import "syscall"

// freeSpace is what a user without privileges may still write.
func freeSpace(dir string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize)
}
