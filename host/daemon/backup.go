package daemon

import (
	"context"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/store"
)

// storeDir is where the store of a data directory is.
func storeDir(dataDir string) string { return filepath.Join(dataDir, "store") }

// Backup copies the store of a data directory, which no daemon may be using, to
// a file that is not there yet.
func Backup(ctx context.Context, dataDir, path string) error {
	s, err := store.Open(ctx, store.Options{Dir: storeDir(dataDir), Now: func() int64 { return int64(now()) }})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.Backup(ctx, path)
}

// Restore makes the store of a data directory from a backup.
func Restore(ctx context.Context, backup, dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	return store.Restore(ctx, backup, storeDir(dataDir))
}
