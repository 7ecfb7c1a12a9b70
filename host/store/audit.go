package store

import (
	"context"
	"database/sql"
	"math"
)

// AuditRow is what somebody changed, or tried to. Seq is given to it as it is
// written.
type AuditRow struct {
	Seq            uint64
	At             int64  // ms since the Unix epoch
	Who, Role      string // the caller
	Tenant         string // whose thing it is, "" = nobody's
	Action, Object string
	Status         int // of the answer
	Detail         string
}

const insertAudit = "INSERT INTO audit (at, who, role, tenant, action, object, status, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

func (w *writer) putAudit(r *AuditRow) error {
	return w.exec(insertAudit, r.At, r.Who, r.Role, r.Tenant, r.Action, r.Object, r.Status, r.Detail)
}

// AuditQuery picks rows of the audit log.
type AuditQuery struct {
	Tenant string // "" = of all
	Before uint64 // only rows with a smaller Seq; 0 = all
	Limit  int    // 0 = 100, at most 1,000
}

// Audit lists what was changed, the latest first.
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]AuditRow, error) {
	var where conditions
	if q.Tenant != "" {
		where.add("tenant = ?", q.Tenant)
	}
	if q.Before > 0 {
		where.add("seq < ?", int64(min(q.Before, math.MaxInt64)))
	}
	rows, err := s.reads.QueryContext(ctx, "SELECT seq, at, who, role, tenant, action, object, status, detail FROM audit"+where.String()+" ORDER BY seq DESC LIMIT ?",
		append(where.args, limit(q.Limit))...)
	list, err := collect(rows, err, func(r *sql.Rows, a *AuditRow) error {
		return r.Scan(&a.Seq, &a.At, &a.Who, &a.Role, &a.Tenant, &a.Action, &a.Object, &a.Status, &a.Detail)
	})
	return list, failure("list the audit log", err)
}

// cutAudit cuts the oldest rows.
func (s *Store) cutAudit(ctx context.Context, r Retention, now int64) error {
	first, err := s.firstKept(ctx, "audit", r.Audit, now)
	if err != nil {
		return err
	}
	return s.repeat(ctx, "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE seq < ? ORDER BY seq LIMIT ?)", int64(first), chunk)
}
