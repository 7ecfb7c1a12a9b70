package daemon

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// recorded is a daemon's data directory with a history: a plugin of the cluster
// and one of a tenant, changed and rolled back, nodes that join and leave.
type recorded struct {
	t   testing.TB
	dir string
}

// wasm reads a first-party plugin, and gives its digest too.
func wasm(t testing.TB, name string) (bin []byte, digest string) {
	t.Helper()
	bin, err := os.ReadFile(filepath.Join("../../plugins", name, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bin)
	return bin, "sha256:" + hex.EncodeToString(sum[:])
}

// activate puts a first-party plugin in force for a tenant, "" = the cluster.
func activate(t testing.TB, d *Daemon, tenant poise.TenantID, name string, params map[string]string) {
	t.Helper()
	bin, _ := wasm(t, name)
	now, err := d.inForce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := poise.Activation{Tenant: tenant, Params: params, By: "test"}
	if err := d.admit(t.Context(), now.Scheduler(), bin, &a); err != nil {
		t.Fatal(err)
	}
	if err := d.change(t.Context(), poise.PolicySet{Activation: a}); err != nil {
		t.Fatal(err)
	}
}

// record makes such a history.
func record(t testing.TB, s settings) *recorded {
	t.Helper()
	if s == nil {
		s = settings{"store.snapshot_every": "100"}
	}
	dir := folder(t)
	d, err := Open(t.Context(), options(t, dir, s))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	join := func(cluster string, count int, cpu string) {
		t.Helper()
		if _, err := d.JoinCluster(ctx, cluster, nodes(cluster, count, cpu), ""); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(tenant poise.TenantID, count int) {
		t.Helper()
		for i := range count {
			jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job(fmt.Sprint(tenant, i), fmt.Sprintf("%dm", 100*(1+i%5)))}, "")
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "a task", func() bool {
				j, err := d.Job(ctx, tenant, jobs[0].ID)
				return err == nil && j.State == client.Running
			})
		}
	}
	join("a", 5, "8")
	submit("t", 8)
	activate(t, d, "", "dotproduct", nil)
	submit("t", 8)
	join("b", 3, "16")
	activate(t, d, "u", "fgd", nil)
	submit("u", 8)
	submit("t", 8)
	if err := d.LeaveCluster(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	activate(t, d, "u", "dotproduct", nil)
	submit("u", 8)
	if err := d.change(ctx, poise.PolicyRolledBack{Tenant: "u"}); err != nil {
		t.Fatal(err)
	}
	submit("u", 8)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return &recorded{t, dir}
}

// replay replays all of it.
func (r *recorded) replay(o ReplayOptions) *Replayed {
	r.t.Helper()
	if o.From == 0 {
		o.From = 1
	}
	opt := options(r.t, r.dir, nil)
	o.Compile = opt.Compile
	got, err := Replay(r.t.Context(), &opt.Config.Current().Config, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// both replays with the answers of plugins from the records, and with plugins.
func (r *recorded) both(check func(got *Replayed, rerun bool)) {
	r.t.Helper()
	for _, rerun := range []bool{false, true} {
		check(r.replay(ReplayOptions{RerunGuests: rerun}), rerun)
	}
}

// copied gives a copy of its own, to be changed.
func (r *recorded) copied() *recorded {
	r.t.Helper()
	c := &recorded{r.t, folder(r.t)}
	if err := os.CopyFS(c.dir, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// query reads one row of the store.
func (r *recorded) query(query string, arg any, into ...any) {
	r.t.Helper()
	r.with(func(db *sql.DB) {
		if err := db.QueryRow(query, arg).Scan(into...); err != nil {
			r.t.Fatal(err)
		}
	})
}

// edit changes the store behind the daemon's back.
func (r *recorded) edit(query string, args ...any) {
	r.t.Helper()
	r.with(func(db *sql.DB) {
		result, err := db.Exec(query, args...)
		if err != nil {
			r.t.Fatal(err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			r.t.Fatalf("%s: %d rows, %v, expected some", query, n, err)
		}
	})
}

func (r *recorded) with(f func(db *sql.DB)) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(storeDir(filepath.Join(r.dir, "data")), "poise.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	f(db)
	if err := db.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// Every decision is made again and is equal, whether plugins run or their answers
// come from the records, from the beginning and from the middle.
func TestReplay(t *testing.T) {
	r := record(t, nil)
	r.both(func(got *Replayed, rerun bool) {
		recorded := 40
		if rerun {
			recorded = 0
		}
		if got.Index != 0 || got.Decisions != 48 || got.Recorded != recorded || got.Snapshots == 0 {
			t.Errorf("rerun %v: %+v, expected 48 decisions, 40 of them of plugins, and snapshots met", rerun, got)
		}
	})
	all := r.replay(ReplayOptions{})
	for from := uint64(1); from < 117; from += 29 {
		head, tail := 0, r.replay(ReplayOptions{From: from})
		if from > 1 {
			head = r.replay(ReplayOptions{To: from - 1}).Decisions
		}
		if tail.Index != 0 || head+tail.Decisions != all.Decisions {
			t.Errorf("from %d: %+v, and %d before, expected %d together", from, tail, head, all.Decisions)
		}
	}
	opt := options(t, r.dir, nil)
	_, err := Replay(t.Context(), &opt.Config.Current().Config, ReplayOptions{From: 1 << 40})
	refused(t, err, poise.Invalid, "from: 1099511627776, expected 1 to")
}

// Whatever is changed behind the daemon's back is found and named.
func TestReplayFindsTampering(t *testing.T) {
	whole := record(t, nil)
	f := func(want string, change func(r *recorded)) {
		t.Helper()
		r := whole.copied()
		change(r)
		r.both(func(got *Replayed, rerun bool) {
			if got.Index == 0 || !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(got.Field, w) }) || got.Was == got.Is {
				t.Errorf("rerun %v: %+v, expected %q to differ", rerun, got, want)
			}
		})
	}
	// decision changes the first decision of a policy.
	decision := func(policy string, change func(d *poise.Decision)) func(*recorded) {
		return func(r *recorded) {
			var seq int64
			var body []byte
			var d poise.Decision
			r.query("SELECT seq, body FROM decisions WHERE policy = ? ORDER BY seq LIMIT 1", policy, &seq, &body)
			if err := json.Unmarshal(body, &d); err != nil {
				t.Fatal(err)
			}
			change(&d)
			body, err := json.Marshal(&d)
			if err != nil {
				t.Fatal(err)
			}
			r.edit("UPDATE decisions SET body = ? WHERE seq = ?", body, seq)
		}
	}
	// event replaces in the first event of a kind that has it.
	event := func(kind, was, is string) func(*recorded) {
		return func(r *recorded) {
			r.edit(`UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB)
				WHERE seq = (SELECT min(seq) FROM events WHERE kind = ? AND instr(CAST(body AS TEXT), ?))`, was, is, kind, was)
		}
	}
	for _, policy := range []string{"idle-balance", "dotproduct", "fgd"} {
		f("tie rule", decision(policy, func(d *poise.Decision) { d.Ties = "seeded" }))
		f("seed", decision(policy, func(d *poise.Decision) { d.Seed++ }))
		f("snapshot version", decision(policy, func(d *poise.Decision) { d.Version++ }))
		f("demand profile", decision(policy, func(d *poise.Decision) { d.Epoch++ }))
		f("policy", decision(policy, func(d *poise.Decision) { d.Policy = "another" }))
		f("nodes", decision(policy, func(d *poise.Decision) { d.Nodes++ }))
		f("fitting nodes|ranking", decision(policy, func(d *poise.Decision) { d.Fitting++ }))
		f("ranking|event that commits it", decision(policy, func(d *poise.Decision) {
			d.Ranked[0], d.Ranked[1] = d.Ranked[1], d.Ranked[0]
			d.Node = d.Ranked[0].Node
			d.Ranked[0].Loss = d.Ranked[1].Loss - 1
		}))
		f("ranking", decision(policy, func(d *poise.Decision) { d.Ranked[0].Loss += 1e9 }))
		f("ranking", decision(policy, func(d *poise.Decision) { d.Ranked[1].Tier = 1 }))
		f("ranking", decision(policy, func(d *poise.Decision) { d.Ranked = d.Ranked[:3] }))
		f("node", decision(policy, func(d *poise.Decision) { d.Node = d.Ranked[1].Node }))
		f("devices", decision(policy, func(d *poise.Decision) { d.Devices = []uint16{0} }))
		f("fault", decision(policy, func(d *poise.Decision) { d.Fault = "trap" }))
	}
	f("event that commits it", event("job-placed", `"Node":"a0"`, `"Node":"a4"`))
	f("job as it was submitted: Request.Amounts[0].Value", event("job-submitted", `"Value":300`, `"Value":301`))
	f("job as it was submitted: Tenant", event("job-submitted", `"Tenant":"u"`, `"Tenant":"v"`))
	f("policy", event("policy-set", `"Tenant":"u"`, `"Tenant":"w"`))
	f("node a0, capacity:cpu as the plugin saw it", event("node-joined", `"Value":8000`, `"Value":9000`))
	f(`module of plugin "dotproduct"`, func(r *recorded) {
		_, digest := wasm(t, "dotproduct")
		other, _ := wasm(t, "fgd")
		r.edit("UPDATE modules SET body = ? WHERE digest = ?", other, digest)
	})
	f(`module of plugin "fgd"`, func(r *recorded) {
		_, digest := wasm(t, "fgd")
		r.edit("DELETE FROM modules WHERE digest = ?", digest)
	})
	f("snapshot: State.Policies.Scheduler.Lambda", event("scheduler-set", `"Lambda":0.15`, `"Lambda":0.25`))
	f("seed", event("scheduler-set", `"Seed":0`, `"Seed":4`))
}
