//go:build !linux || !(amd64 || arm64)

package policy

// pages are a way to set large guests back that this system does not offer.
type pages struct{}

func newPages(int) *pages                { return nil }
func (*pages) Reallocate(uint64) []byte  { return nil }
func (*pages) seal([]byte) bool          { return false }
func (*pages) restore(from, to int) bool { return false }
func (*pages) free()                     {}
