package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Health is what an operator watches.
type Health struct {
	Free     int64 // bytes that the file system still takes, -1 = not known
	Database int64 // bytes
	WAL      int64 // bytes of the write-ahead log
	First    uint64
	Last     uint64 // durable; First is larger where there is no event
	Waiting  int    // batches queued, not yet durable
	Stalled  error  // why nothing becomes durable, nil while all is well
}

// Health gives the state of the store and of the disk that it is on.
func (s *Store) Health(ctx context.Context) (Health, error) {
	s.mu.Lock()
	h := Health{Last: s.durable, Waiting: len(s.queue), Stalled: s.cause}
	s.mu.Unlock()
	cut, err := cutSeq(ctx, s.reads)
	if err != nil {
		return h, failure("check the store", err)
	}
	h.First = cut + 1
	h.Free = freeSpace(s.options.Dir)
	name := filepath.Join(s.options.Dir, databaseFile)
	if h.Database, err = fileSize(name); err == nil {
		h.WAL, err = fileSize(name + "-wal")
	}
	return h, failure("check the store", err)
}

func fileSize(name string) (int64, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
