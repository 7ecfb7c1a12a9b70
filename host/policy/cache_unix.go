//go:build unix

package policy

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs says whether a file belongs to the user that runs this process.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
