package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Points of a write at which a crash would differ.
const (
	pointBegun     = "begun"
	pointRecord    = "record"
	pointRow       = "row"
	pointWritten   = "written"
	pointCommitted = "committed"
)

// walLimit is what the write-ahead log shrinks to after a peak.
const walLimit = 64 << 20

// cacheSize is for the pages of a transaction, which is to be written once: SQLite's
// own 2 MiB are less than the largest takes.
const cacheSize = 16 << 20

const (
	insertEvent = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
	upsertJob   = `INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
		name = excluded.name, tenant = excluded.tenant, state = excluded.state, seq = excluded.seq, submitted = excluded.submitted,
		changed = excluded.changed, node = excluded.node, reason = excluded.reason, exit_code = excluded.exit_code, body = excluded.body,
		attempts = excluded.attempts, signal = excluded.signal, decision = excluded.decision, grp = excluded.grp, grp_name = excluded.grp_name`
	upsertPlacement = `INSERT INTO placements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
		job = excluded.job, node = excluded.node, devices = excluded.devices, placed = excluded.placed, started = excluded.started,
		ended = excluded.ended, state = excluded.state, decision = excluded.decision,
		exit_code = excluded.exit_code, signal = excluded.signal, detail = excluded.detail`
	upsertDecision = `INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO UPDATE SET
		job = excluded.job, node = excluded.node, policy = excluded.policy, at = excluded.at, snapshot = excluded.snapshot,
		"commit" = excluded."commit", body = excluded.body, tenant = excluded.tenant`
	upsertKey = `INSERT INTO keys VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, key) DO UPDATE SET
		job = excluded.job, hash = excluded.hash, at = excluded.at`
)

// writer has the one connection that changes the database. Its methods run on
// the goroutine of the store only, and know no context: half a write is none.
type writer struct {
	name  string
	step  func(string)
	db    *sql.DB
	conn  *sql.Conn // nil after a reconnect that failed
	stmts map[string]*sql.Stmt
}

func newWriter(name string, step func(string)) *writer { return &writer{name: name, step: step} }

func (w *writer) connect(ctx context.Context) error {
	db, err := database(w.name, waits, "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)",
		fmt.Sprintf("journal_size_limit(%d)", walLimit), fmt.Sprintf("cache_size(-%d)", cacheSize>>10))
	if err != nil {
		return err
	}
	w.db, w.stmts = db, map[string]*sql.Stmt{}
	if w.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	var mode string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode: %s, expected wal: the file system of the directory has no shared memory", mode)
	}
	return nil
}

func (w *writer) close() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	if w.db != nil {
		errs = append(errs, w.db.Close())
	}
	w.stmts, w.conn, w.db = nil, nil, nil
	return errors.Join(errs...)
}

// exec runs a statement, prepared at its first use.
func (w *writer) exec(query string, args ...any) error {
	ctx := context.Background()
	s := w.stmts[query]
	if s == nil {
		var err error
		if s, err = w.conn.PrepareContext(ctx, query); err != nil {
			return err
		}
		w.stmts[query] = s
	}
	_, err := s.ExecContext(ctx, args...)
	return err
}

// begin starts a transaction. A connection that cannot is replaced: whatever
// ails it ends with it.
func (w *writer) begin() error {
	if w.conn != nil {
		err := w.exec("BEGIN IMMEDIATE")
		if err == nil || code(err) == sqliteBusy {
			return err
		}
	}
	w.close() // its error would hide the reason
	if err := w.connect(context.Background()); err != nil {
		w.close()
		return err
	}
	return w.exec("BEGIN IMMEDIATE")
}

// transact runs do in a transaction.
func (w *writer) transact(do func() error) error {
	if err := w.begin(); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back by itself, which makes this one an error.
		// Where it does matter, the next begin fails and has the remedy.
		w.exec("ROLLBACK")
	}
	return err
}

// write makes the group durable: the records after first-1 up to last.
func (w *writer) write(group []*Pending, first, last uint64) error {
	err := w.transact(func() error {
		w.step(pointBegun)
		switch got, err := lastSeq(context.Background(), w.conn); {
		case err != nil:
			return err
		case got == last && first <= last:
			return nil // a commit that reported an error had reached the disk
		case got != first-1:
			return fmt.Errorf("last event: %d, expected %d: something else changed the database", got, first-1)
		}
		batches := latest(group)
		for i := range batches {
			if err := w.put(&batches[i]); err != nil {
				return err
			}
		}
		w.step(pointWritten)
		return nil
	})
	if err == nil {
		w.step(pointCommitted)
	}
	return err
}

// put writes the batch within the transaction that is open.
func (w *writer) put(b *Batch) error {
	for i := range b.Records {
		r := &b.Records[i]
		if err := w.exec(insertEvent, int64(r.Seq), r.Kind, r.Schema, r.At, blob(r.Body)); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		w.step(pointRecord)
	}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		if err := w.exec(upsertJob, j.ID, j.Name, j.Tenant, j.State, j.Seq, j.Submitted, j.Changed, j.Node, j.Reason, maybe(j.ExitCode), blob(j.Body), j.Attempts,
			j.Signal, blob(j.Decision), j.Group, j.GroupName); err != nil {
			return fmt.Errorf("job %q: %w", j.ID, err)
		}
		w.step(pointRow)
	}
	for i := range b.Placements {
		p := &b.Placements[i]
		if err := w.exec(upsertPlacement, p.ID, p.Job, p.Node, formatDevices(p.Devices), p.Placed, p.Started, p.Ended, p.State, int64(p.Decision),
			maybe(p.ExitCode), p.Signal, p.Detail); err != nil {
			return fmt.Errorf("placement %q: %w", p.ID, err)
		}
		w.step(pointRow)
	}
	for i := range b.Decisions {
		d := &b.Decisions[i]
		if err := w.exec(upsertDecision, int64(d.Seq), d.Job, d.Node, d.Policy, d.At, int64(d.Snapshot), int64(d.Commit), blob(d.Body), d.Tenant); err != nil {
			return fmt.Errorf("decision %d: %w", d.Seq, err)
		}
		w.step(pointRow)
	}
	for i := range b.Keys {
		k := &b.Keys[i]
		if err := w.exec(upsertKey, k.Tenant, k.Key, k.Job, blob(k.Hash), k.At); err != nil {
			return fmt.Errorf("key %q: %w", k.Key, err)
		}
		w.step(pointRow)
	}
	for i := range b.Audit {
		if err := w.putAudit(&b.Audit[i]); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		w.step(pointRow)
	}
	return nil
}

// blob makes an empty value of nil, which SQLite would take as NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// formatDevices writes "0,3": a list that a person can read in the database.
func formatDevices(devices []uint16) string {
	var b strings.Builder
	for i, d := range devices {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(d)))
	}
	return b.String()
}

func parseDevices(text string) ([]uint16, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	devices := make([]uint16, len(parts))
	for i, p := range parts {
		d, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("devices: %q, expected numbers with commas between them", text)
		}
		devices[i] = uint16(d)
	}
	return devices, nil
}

// maybe gives a number that may not be there as a column takes it.
func maybe(n *int32) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}
