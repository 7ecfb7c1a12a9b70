package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// Keep bounds what stays of one kind of row: what is older than Age or beyond
// the latest Count is cut. A bound of 0 does not apply.
type Keep struct {
	Age   int64 // ms
	Count int64
}

// Retention says what history stays.
type Retention struct {
	Events    Keep // never those after the earliest snapshot, which recovery or replay needs
	Snapshots Keep // of those kept for replay; the latest and its spare stay anyhow
	Jobs      Keep // with their placements and decisions; only those in one of the states Final
	Decisions Keep
	Keys      Keep
	Audit     Keep
	Final     []string
}

// chunk is how many rows one transaction cuts, so that the log waits briefly.
const chunk = 256

// Retain cuts what is beyond the retention. The file does not shrink: what is
// cut makes room for what comes.
func (s *Store) Retain(ctx context.Context, r Retention) error {
	now := s.options.Now()
	for _, cut := range []func(context.Context, Retention, int64) error{s.cutSnapshots, s.cutEvents, s.cutJobs, s.cutDecisions, s.cutKeys, s.cutAudit} {
		if err := cut(ctx, r, now); err != nil {
			return failure("retain", err)
		}
	}
	return nil
}

// before is the moment up to which age cuts.
func (k Keep) before(now int64) int64 { return now - k.Age }

func (s *Store) cutSnapshots(ctx context.Context, r Retention, now int64) error {
	if r.Snapshots == (Keep{}) {
		return nil
	}
	return s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			if r.Snapshots.Age > 0 {
				if err := w.exec("UPDATE snapshots SET keep = 0 WHERE keep AND at < ?", r.Snapshots.before(now)); err != nil {
					return err
				}
			}
			if r.Snapshots.Count > 0 {
				if err := w.exec("UPDATE snapshots SET keep = 0 WHERE keep AND seq NOT IN (SELECT seq FROM snapshots WHERE keep ORDER BY seq DESC LIMIT ?)", r.Snapshots.Count); err != nil {
					return err
				}
			}
			return w.dropSnapshots()
		})
	})
}

// dropSnapshots removes those that are neither kept for replay nor spares.
func (w *writer) dropSnapshots() error {
	return w.exec("DELETE FROM snapshots WHERE NOT keep AND seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)", spares)
}

func (s *Store) cutEvents(ctx context.Context, r Retention, now int64) error {
	cut, err := cutSeq(ctx, s.reads)
	if err != nil {
		return err
	}
	var floor int64 // no snapshot, no cut
	if err := s.reads.QueryRowContext(ctx, "SELECT ifnull(min(seq), 0) FROM snapshots").Scan(&floor); err != nil {
		return err
	}
	first, err := s.firstKept(ctx, "events", r.Events, now)
	if err != nil {
		return err
	}
	for target := min(first, uint64(floor)+1) - 1; cut < target; {
		cut = min(target, cut+chunk)
		err := s.upkeep(ctx, func(w *writer) error {
			return w.transact(func() error {
				if err := w.exec("DELETE FROM events WHERE seq <= ?", int64(cut)); err != nil {
					return err
				}
				w.step(pointRow)
				return w.exec("UPDATE meta SET value = ? WHERE key = 'cut'", int64(cut))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) cutDecisions(ctx context.Context, r Retention, now int64) error {
	first, err := s.firstKept(ctx, "decisions", r.Decisions, now)
	if err != nil {
		return err
	}
	return s.repeat(ctx, "DELETE FROM decisions WHERE seq IN (SELECT seq FROM decisions WHERE seq < ? ORDER BY seq LIMIT ?)", int64(first), chunk)
}

// firstKept is the Seq before which k lets go of the rows of a table that is in
// the order of time. The first row that is young ends what age cuts, even if the
// clock was set back later.
func (s *Store) firstKept(ctx context.Context, table string, k Keep, now int64) (uint64, error) {
	first := int64(1)
	if k.Age > 0 {
		var young int64 // behind all that are there now, if none is
		if err := s.reads.QueryRowContext(ctx, "SELECT ifnull(max(seq), 0) + 1 FROM "+table).Scan(&young); err != nil {
			return 0, err
		}
		err := s.reads.QueryRowContext(ctx, "SELECT seq FROM "+table+" WHERE at >= ? ORDER BY seq LIMIT 1", k.before(now)).Scan(&young)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		first = young
	}
	if k.Count > 0 {
		latest := first
		err := s.reads.QueryRowContext(ctx, "SELECT seq FROM "+table+" ORDER BY seq DESC LIMIT 1 OFFSET ?", k.Count-1).Scan(&latest)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		first = max(first, latest)
	}
	return uint64(first), nil
}

// cutJobs cuts what changed before the first job that is kept.
func (s *Store) cutJobs(ctx context.Context, r Retention, now int64) error {
	if len(r.Final) == 0 {
		return nil
	}
	final := make([]any, len(r.Final))
	for i, state := range r.Final {
		final[i] = state
	}
	among := " FROM jobs WHERE state IN (?" + strings.Repeat(", ?", len(final)-1) + ")"
	var changed int64
	var id string
	if r.Jobs.Age > 0 {
		changed = r.Jobs.before(now)
	}
	if r.Jobs.Count > 0 {
		var c int64
		var i string
		query := "SELECT changed, id" + among + " ORDER BY changed DESC, id DESC LIMIT 1 OFFSET ?"
		err := s.reads.QueryRowContext(ctx, query, slices.Concat(final, []any{r.Jobs.Count - 1})...).Scan(&c, &i)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if c > changed || c == changed && i > id {
			changed, id = c, i
		}
	}
	query := "SELECT id" + among + " AND (changed, id) < (?, ?) LIMIT ?"
	args := slices.Concat(final, []any{changed, id, chunk})
	for n := chunk; n == chunk; {
		err := s.upkeep(ctx, func(w *writer) error {
			return w.transact(func() (err error) {
				n, err = w.dropJobs(query, args)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropJobs removes the jobs whose ids the query gives.
func (w *writer) dropJobs(query string, args []any) (int, error) {
	rows, err := w.conn.QueryContext(context.Background(), query, args...)
	ids, err := collect(rows, err, func(r *sql.Rows, id *string) error { return r.Scan(id) })
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		for _, of := range []string{"placements WHERE job", "decisions WHERE job", "jobs WHERE id"} {
			if err := w.exec("DELETE FROM "+of+" = ?", id); err != nil {
				return 0, err
			}
		}
	}
	return len(ids), nil
}

func (s *Store) cutKeys(ctx context.Context, r Retention, now int64) error {
	const query = "DELETE FROM keys WHERE (tenant, key) IN (SELECT tenant, key FROM keys "
	if r.Keys.Age > 0 {
		if err := s.repeat(ctx, query+"WHERE at < ? LIMIT ?)", r.Keys.before(now), chunk); err != nil {
			return err
		}
	}
	if r.Keys.Count > 0 {
		return s.repeat(ctx, query+"ORDER BY at DESC, tenant DESC, key DESC LIMIT ? OFFSET ?)", chunk, r.Keys.Count)
	}
	return nil
}

// repeat runs a statement that changes at most chunk rows until it changes
// fewer.
func (s *Store) repeat(ctx context.Context, query string, args ...any) error {
	for changed := int64(chunk); changed == chunk; {
		err := s.upkeep(ctx, func(w *writer) error {
			return w.transact(func() error {
				if err := w.exec(query, args...); err != nil {
					return err
				}
				return w.conn.QueryRowContext(context.Background(), "SELECT changes()").Scan(&changed)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
