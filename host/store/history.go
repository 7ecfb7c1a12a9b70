package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// Sizes of a page of history.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// JobMark is a place in the list of jobs.
type JobMark struct {
	Seq int64
	ID  string
}

// JobQuery picks jobs. A field that is empty picks all.
type JobQuery struct {
	Tenant, State, NamePrefix string
	After                     JobMark // of the last job of the page before
	Limit                     int     // 0 = 100, at most 1,000
}

const selectJob = "SELECT id, name, tenant, state, seq, submitted, changed, node, reason, exit_code, body, attempts, signal, decision, grp, grp_name FROM jobs"

// Jobs lists jobs, the latest arrival first.
func (s *Store) Jobs(ctx context.Context, q JobQuery) ([]JobRow, error) {
	var where conditions
	if q.Tenant != "" {
		where.add("tenant = ?", q.Tenant)
	}
	if q.State != "" {
		where.add("state = ?", q.State)
	}
	if q.NamePrefix != "" {
		// Lengths in bytes; LIKE would give meaning to some characters.
		where.add("substr(CAST(name AS BLOB), 1, ?) = ?", len(q.NamePrefix), []byte(q.NamePrefix))
	}
	if q.After != (JobMark{}) {
		where.add("(seq, id) < (?, ?)", q.After.Seq, q.After.ID)
	}
	rows, err := s.reads.QueryContext(ctx, selectJob+where.String()+" ORDER BY seq DESC, id DESC LIMIT ?", append(where.args, limit(q.Limit))...)
	jobs, err := collect(rows, err, scanJob)
	return jobs, failure("list jobs", err)
}

// Job gives one job.
func (s *Store) Job(ctx context.Context, id string) (JobRow, error) {
	return s.job(ctx, fmt.Sprintf("job %q", id), selectJob+" WHERE id = ?", id)
}

// JobByName gives the tenant's job of that name which arrived last.
func (s *Store) JobByName(ctx context.Context, tenant, name string) (JobRow, error) {
	return s.job(ctx, fmt.Sprintf("job %q of tenant %q", name, tenant), selectJob+" WHERE tenant = ? AND name = ? ORDER BY seq DESC, id DESC LIMIT 1", tenant, name)
}

// GroupByName gives the last job of the tenant's group of that name which arrived
// last.
func (s *Store) GroupByName(ctx context.Context, tenant, name string) (JobRow, error) {
	return s.job(ctx, fmt.Sprintf("group %q of tenant %q", name, tenant),
		selectJob+" WHERE grp <> '' AND tenant = ? AND grp_name = ? ORDER BY seq DESC, id DESC LIMIT 1", tenant, name)
}

// Group gives the jobs of a group in the order of their arrival.
func (s *Store) Group(ctx context.Context, id string) ([]JobRow, error) {
	rows, err := s.reads.QueryContext(ctx, selectJob+" WHERE grp <> '' AND grp = ? ORDER BY seq, id", id)
	jobs, err := collect(rows, err, scanJob)
	return jobs, failure(fmt.Sprintf("list group %q", id), err)
}

func (s *Store) job(ctx context.Context, op, query string, args ...any) (JobRow, error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	jobs, err := collect(rows, err, scanJob)
	return first(op, jobs, err)
}

// Placements lists the placements of a job in their order.
func (s *Store) Placements(ctx context.Context, job string) ([]PlacementRow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT id, job, node, devices, placed, started, ended, state, decision, exit_code, signal, detail FROM placements WHERE job = ? ORDER BY placed, id", job)
	placements, err := collect(rows, err, scanPlacement)
	return placements, failure(fmt.Sprintf("list placements of job %q", job), err)
}

// DecisionQuery picks decisions. The page after another begins at the Seq of
// its last decision and 1.
type DecisionQuery struct {
	Job      string // "" = of all jobs
	Tenant   string // "" = of all tenants
	From, To uint64 // To 0 = up to the last
	Newest   bool   // the latest first, in place of the earliest
	Limit    int    // 0 = 100, at most 1,000
}

const selectDecision = `SELECT seq, job, node, policy, at, snapshot, "commit", body, tenant FROM decisions`

// Decisions lists decisions by Seq, or backwards.
func (s *Store) Decisions(ctx context.Context, q DecisionQuery) ([]DecisionRow, error) {
	var where conditions
	if q.Job != "" {
		where.add("job = ?", q.Job)
	}
	if q.Tenant != "" {
		where.add("tenant = ?", q.Tenant)
	}
	if q.To == 0 {
		q.To = math.MaxInt64
	}
	where.add("seq BETWEEN ? AND ?", int64(min(q.From, math.MaxInt64)), int64(min(q.To, math.MaxInt64)))
	order := " ORDER BY seq LIMIT ?"
	if q.Newest {
		order = " ORDER BY seq DESC LIMIT ?"
	}
	rows, err := s.reads.QueryContext(ctx, selectDecision+where.String()+order, append(where.args, limit(q.Limit))...)
	decisions, err := collect(rows, err, scanDecision)
	return decisions, failure("list decisions", err)
}

// Decision gives one decision.
func (s *Store) Decision(ctx context.Context, seq uint64) (DecisionRow, error) {
	rows, err := s.reads.QueryContext(ctx, selectDecision+" WHERE seq = ?", int64(min(seq, math.MaxInt64)))
	decisions, err := collect(rows, err, scanDecision)
	return first(fmt.Sprintf("decision %d", seq), decisions, err)
}

// Key gives what a tenant's idempotency key stands for.
func (s *Store) Key(ctx context.Context, tenant, key string) (KeyRow, error) {
	k := KeyRow{Tenant: tenant, Key: key}
	err := s.reads.QueryRowContext(ctx, "SELECT job, hash, at FROM keys WHERE tenant = ? AND key = ?", tenant, key).Scan(&k.Job, &k.Hash, &k.At)
	if err != nil {
		return KeyRow{}, found(fmt.Sprintf("key %q of tenant %q", key, tenant), err)
	}
	return k, nil
}

func scanJob(r *sql.Rows, j *JobRow) error {
	return r.Scan(&j.ID, &j.Name, &j.Tenant, &j.State, &j.Seq, &j.Submitted, &j.Changed, &j.Node, &j.Reason, &j.ExitCode, &j.Body, &j.Attempts, &j.Signal, &j.Decision, &j.Group, &j.GroupName)
}

func scanDecision(r *sql.Rows, d *DecisionRow) error {
	var snapshot, commit int64
	err := r.Scan(&d.Seq, &d.Job, &d.Node, &d.Policy, &d.At, &snapshot, &commit, &d.Body, &d.Tenant)
	d.Snapshot, d.Commit = uint64(snapshot), uint64(commit)
	return err
}

// first gives the one row that a query for one row found.
func first[T any](op string, rows []T, err error) (T, error) {
	if err == nil && len(rows) > 0 {
		return rows[0], nil
	}
	if err == nil {
		err = sql.ErrNoRows
	}
	var none T
	return none, found(op, err)
}

// conditions are those that all must hold.
type conditions struct {
	terms []string
	args  []any
}

func (c *conditions) add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

func (c *conditions) String() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

func limit(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return min(n, maxLimit)
}
