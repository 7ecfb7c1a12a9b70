package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// spares is how many snapshots are there beside those kept for replay: the
// latest, and the one before in case the latest cannot be used.
const spares = 2

// SnapshotInfo is what there is to know of a snapshot without its body.
type SnapshotInfo struct {
	Seq   uint64
	At    int64 // ms since the Unix epoch
	Keep  bool  // kept for replay until Retain lets go of it
	Bytes int64
}

// PutSnapshot stores the state after the record seq, which is durable already.
// Earlier snapshots go, but for one spare and those put with keep.
func (s *Store) PutSnapshot(ctx context.Context, seq uint64, body []byte, keep bool) error {
	op := fmt.Sprintf("put snapshot %d", seq)
	if last := s.Last(); seq > last {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("seq: %d, expected at most %d, the last durable", seq, last)}
	}
	if len(body) > maxSnapshot {
		return &poise.Error{Kind: poise.Limit, Op: op, Detail: fmt.Sprintf("body: %d bytes, expected at most %d", len(body), maxSnapshot)}
	}
	at := s.options.Now()
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			err := w.exec("INSERT INTO snapshots VALUES (?, ?, ?, ?) ON CONFLICT (seq) DO UPDATE SET at = excluded.at, keep = max(keep, excluded.keep), body = excluded.body",
				int64(seq), at, keep, blob(body))
			if err != nil {
				return err
			}
			return w.dropSnapshots()
		})
	}))
}

// maxSnapshot keeps a snapshot below the largest row of SQLite, 1e9 bytes.
const maxSnapshot = 900 << 20

// LatestSnapshot gives the snapshot with the largest Seq; ok is false if there
// is none.
func (s *Store) LatestSnapshot(ctx context.Context) (seq uint64, body []byte, ok bool, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT seq, body FROM snapshots ORDER BY seq DESC LIMIT 1").Scan(&seq, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, false, nil
	}
	return seq, body, err == nil, failure("read the latest snapshot", err)
}

// Snapshot gives the body of one snapshot.
func (s *Store) Snapshot(ctx context.Context, seq uint64) (body []byte, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT body FROM snapshots WHERE seq = ?", int64(seq)).Scan(&body)
	return body, found(fmt.Sprintf("snapshot %d", seq), err)
}

// Snapshots lists what snapshots there are, the earliest first.
func (s *Store) Snapshots(ctx context.Context) ([]SnapshotInfo, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT seq, at, keep, length(body) FROM snapshots ORDER BY seq")
	infos, err := collect(rows, err, func(r *sql.Rows, i *SnapshotInfo) error { return r.Scan(&i.Seq, &i.At, &i.Keep, &i.Bytes) })
	return infos, failure("list snapshots", err)
}

// found makes "no such row" an error of kind NotFound.
func found(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return &poise.Error{Kind: poise.NotFound, Op: op, Detail: "not in the store"}
	}
	return failure(op, err)
}
