package apitest

import (
	"context"
	"fmt"
)

// Snapshot implements api.Backend: a file that no reader would take.
func (b *Backend) Snapshot(_ context.Context, index uint64) ([]byte, error) {
	return fmt.Appendf(nil, "\x89file of %d", index), b.Fault
}
