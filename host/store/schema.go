package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// applicationID marks the file as ours: "Pois" in the header of the database.
const applicationID = 0x506f6973

// migrations lead from an empty database to today's, one version a step. A step
// that was ever released stays as it is.
var migrations = [...]string{`
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('cut', 0); -- all events up to this one are cut

CREATE TABLE events (
	seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, schema INTEGER NOT NULL,
	at INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;

CREATE TABLE snapshots (
	seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, keep INTEGER NOT NULL,
	body BLOB NOT NULL
) STRICT;

CREATE TABLE jobs (
	id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL,
	state TEXT NOT NULL, seq INTEGER NOT NULL, submitted INTEGER NOT NULL,
	changed INTEGER NOT NULL, node TEXT NOT NULL, reason TEXT NOT NULL,
	exit_code INTEGER, body BLOB NOT NULL
) STRICT;
CREATE INDEX jobs_seq ON jobs (seq, id);
CREATE INDEX jobs_tenant ON jobs (tenant, seq, id);
CREATE INDEX jobs_state ON jobs (state, seq, id);
CREATE INDEX jobs_name ON jobs (tenant, name, seq, id);
CREATE INDEX jobs_changed ON jobs (state, changed, id);

CREATE TABLE placements (
	id TEXT NOT NULL PRIMARY KEY, job TEXT NOT NULL, node TEXT NOT NULL,
	devices TEXT NOT NULL, placed INTEGER NOT NULL, started INTEGER NOT NULL,
	ended INTEGER NOT NULL, state TEXT NOT NULL, decision INTEGER NOT NULL
) STRICT;
CREATE INDEX placements_job ON placements (job, placed, id);

CREATE TABLE decisions (
	seq INTEGER PRIMARY KEY, job TEXT NOT NULL, node TEXT NOT NULL,
	policy TEXT NOT NULL, at INTEGER NOT NULL, snapshot INTEGER NOT NULL,
	"commit" INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE INDEX decisions_job ON decisions (job, seq);

CREATE TABLE keys (
	tenant TEXT NOT NULL, key TEXT NOT NULL, job TEXT NOT NULL,
	hash BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_at ON keys (at);
`, `
-- What decisions depend on beside the events: modules by digest.
CREATE TABLE modules (
	digest TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;

-- A tenant's plugins: a version is one digest for good, a tag is a name for a
-- digest. Tenant '' = all tenants.
CREATE TABLE versions (
	tenant TEXT NOT NULL, plugin TEXT NOT NULL, version TEXT NOT NULL,
	digest TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
	signature BLOB NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (tenant, plugin, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_digest ON versions (digest);
CREATE TABLE tags (
	tenant TEXT NOT NULL, plugin TEXT NOT NULL, tag TEXT NOT NULL,
	digest TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (tenant, plugin, tag)
) STRICT, WITHOUT ROWID;

-- Clusters that follow an inventory file.
CREATE TABLE follows (
	cluster TEXT NOT NULL PRIMARY KEY, path TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may do what: tokens by the hash of their secret.
CREATE TABLE tokens (
	id TEXT NOT NULL PRIMARY KEY, hash BLOB NOT NULL UNIQUE, tenant TEXT NOT NULL,
	role TEXT NOT NULL, name TEXT NOT NULL, created INTEGER NOT NULL,
	expires INTEGER NOT NULL, revoked INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_tenant ON tokens (tenant, id);

-- Who changed what.
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT NOT NULL,
	role TEXT NOT NULL, tenant TEXT NOT NULL, action TEXT NOT NULL,
	object TEXT NOT NULL, status INTEGER NOT NULL, detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, seq);
`, `
-- Whose decision it is: a tenant lists its own without a look at others'.
ALTER TABLE decisions ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
UPDATE decisions SET tenant = ifnull((SELECT tenant FROM jobs WHERE id = decisions.job), '');
CREATE INDEX decisions_tenant ON decisions (tenant, seq);
`, `
-- How often a place was looked for, what ended the task, and why it waits.
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN signal TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN decision BLOB NOT NULL DEFAULT x'';
`, `
-- Plugins that run beside the policy in force and decide nothing, with what they
-- have shown so far. Tenant '' = the cluster's.
CREATE TABLE shadows (
	tenant TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
`, `
-- How each task ended, and which jobs belong together.
ALTER TABLE placements ADD COLUMN exit_code INTEGER;
ALTER TABLE placements ADD COLUMN signal TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN detail TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN grp TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN grp_name TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_group ON jobs (grp, seq, id) WHERE grp <> '';
CREATE INDEX jobs_group_name ON jobs (tenant, grp_name, seq, id) WHERE grp <> '';
`, `
-- Kubernetes clusters that joined, and how they are reached.
CREATE TABLE kubes (
	cluster TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL
) STRICT;
`}

// migrate brings the database to the version that steps lead to. A crash on the
// way leaves the version before.
func migrate(ctx context.Context, c *sql.Conn, steps []string) error {
	version, err := schemaVersion(ctx, c, len(steps))
	if err != nil {
		return err
	}
	for ; version < len(steps); version++ {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", steps[version], applicationID, version+1))
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			tx.Rollback()
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	return nil
}

// schemaVersion gives the version of the database, 0 for an empty one, and
// refuses one that is not ours or newer than newest.
func schemaVersion(ctx context.Context, c *sql.Conn, newest int) (int, error) {
	var id, version, tables int
	err := c.QueryRowContext(ctx, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version").
		Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case version > newest && id == applicationID:
		return 0, &poise.Error{
			Kind:   poise.Invalid,
			Detail: fmt.Sprintf("schema: version %d, expected at most %d; a newer poise wrote this store, run that one", version, newest),
		}
	case id == applicationID && version > 0, id == 0 && version == 0 && tables == 0:
		return version, nil
	}
	return 0, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("application id: %#x, expected %#x; this database is not a store of poise", id, applicationID)}
}
