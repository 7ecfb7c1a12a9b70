package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// Bounds of what one query of Read takes into memory.
const (
	pageRecords = 512
	pageBytes   = 4 << 20
)

// Read gives fn every durable record from Seq from on, in order; from 0 means
// the first that is still there. An error of fn ends it and is returned as it
// is. No transaction is open while fn runs, so a slow one holds up nobody.
func (s *Store) Read(ctx context.Context, from uint64, fn func(Record) error) error {
	return readEvents(ctx, s.reads, from, fn)
}

func readEvents(ctx context.Context, db querier, from uint64, fn func(Record) error) error {
	op := "read the log"
	if from == 0 {
		cut, err := cutSeq(ctx, db)
		if err != nil {
			return failure(op, err)
		}
		from = cut + 1
	}
	for {
		page, err := readPage(ctx, db, from)
		if err != nil {
			return failure(op, err)
		}
		if len(page) == 0 {
			return failure(op, checkCut(ctx, db, from))
		}
		for i := range page {
			if page[i].Seq != from {
				if err := checkCut(ctx, db, from); err != nil {
					return failure(op, err)
				}
				return &poise.Error{Kind: poise.Internal, Op: op, Detail: fmt.Sprintf("seq: %d, expected %d: the log has a gap; restore a backup into an empty directory", page[i].Seq, from)}
			}
			if err := fn(page[i]); err != nil {
				return err
			}
			from++
		}
	}
}

func readPage(ctx context.Context, db querier, from uint64) ([]Record, error) {
	rows, err := db.QueryContext(ctx, "SELECT seq, kind, schema, at, body FROM events WHERE seq >= ? ORDER BY seq LIMIT ?", int64(from), pageRecords)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []Record
	for size := 0; size < pageBytes && rows.Next(); {
		var r Record
		if err := rows.Scan(&r.Seq, &r.Kind, &r.Schema, &r.At, &r.Body); err != nil {
			return nil, err
		}
		size += len(r.Body)
		page = append(page, r)
	}
	return page, rows.Err()
}

// cutSeq is the Seq up to which events are cut.
func cutSeq(ctx context.Context, db querier) (uint64, error) {
	var cut int64
	err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'cut'").Scan(&cut)
	return uint64(cut), err
}

// checkCut refuses a Seq whose event is cut.
func checkCut(ctx context.Context, db querier, from uint64) error {
	cut, err := cutSeq(ctx, db)
	if err == nil && from <= cut {
		err = &poise.Error{Kind: poise.NotFound, Detail: fmt.Sprintf("from: %d, expected %d or later: events before are cut", from, cut+1)}
	}
	return err
}

// collect scans every row into a T.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
