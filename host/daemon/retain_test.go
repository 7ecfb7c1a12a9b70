package daemon

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// counts says how much history there is.
func (d *day) counts() (events, jobs, decisions, snapshots int) {
	d.t.Helper()
	d.must(d.store.Read(d.t.Context(), 0, func(store.Record) error { events++; return nil }))
	q := store.JobQuery{Limit: 1000}
	for {
		rows, err := d.store.Jobs(d.t.Context(), q)
		d.must(err)
		if jobs += len(rows); len(rows) < q.Limit {
			break
		}
		last := rows[len(rows)-1]
		q.After = store.JobMark{Seq: last.Seq, ID: last.ID}
	}
	for from := uint64(1); ; {
		rows, err := d.store.Decisions(d.t.Context(), store.DecisionQuery{From: from, Limit: 1000})
		d.must(err)
		if decisions += len(rows); len(rows) < 1000 {
			break
		}
		from = rows[len(rows)-1].Seq + 1
	}
	infos, err := d.store.Snapshots(d.t.Context())
	d.must(err)
	return events, jobs, decisions, len(infos)
}

// However many jobs come and go, history stays within its bounds; what is left
// replays from the oldest snapshot, gives the same state after a restart, and
// names the modules that it needs.
func TestRetention(t *testing.T) {
	seconds, nodes := 600, 300
	if testing.Short() {
		seconds, nodes = 120, 60
	}
	c := config.Defaults()
	c.DataDir = folder(t)
	every := seconds / 3 // events between snapshots, and jobs kept
	c.Store.SnapshotEvery, c.Store.History, c.Store.Retention = int64(every), int64(every), time.Hour
	d := newDay(t, c.DataDir, &c)
	var first [4]int
	for hour := range 4 {
		if hour == 0 {
			d.live(nodes, time.Duration(seconds)*time.Second)
		} else {
			for range seconds {
				d.second()
			}
		}
		d.finish()
		before, err := journal.EncodeState(d.core.loop.State())
		d.must(err)
		d.must(d.store.Retain(t.Context(), retention(&c)))
		r, err := restore(t.Context(), d.store, state.Settings{}, d.log)
		d.must(err)
		after, err := journal.EncodeState(r.state)
		d.must(err)
		if !bytes.Equal(before, after) {
			t.Errorf("hour %d: the state is another after a restart", hour)
		}
		infos, err := d.store.Snapshots(t.Context())
		d.must(err)
		h, err := d.store.Health(t.Context())
		d.must(err)
		if len(infos) > replaySnapshots || h.First > infos[0].Seq+1 {
			t.Errorf("hour %d: %d snapshots from %d on, events from %d on, expected %d at most, and no event behind the first missing", hour, len(infos), infos[0].Seq, h.First, replaySnapshots)
		}
		for _, rerun := range []bool{false, true} {
			got, err := replayStore(t.Context(), d.store, &c, ReplayOptions{From: infos[0].Seq + 1, RerunGuests: rerun, Compile: nil})
			d.must(err)
			if got.Index != 0 || got.Decisions == 0 {
				t.Errorf("hour %d, rerun %v: %+v, expected all that is left to be equal", hour, rerun, got)
			}
		}
		events, jobs, decisions, snapshots := d.counts()
		t.Logf("hour %d: %d events, %d jobs, %d decisions, %d snapshots of %d jobs", hour, events, jobs, decisions, snapshots, d.jobs)
		now := [4]int{events, jobs, decisions, snapshots}
		if hour == 0 {
			first = now
			continue
		}
		live := d.core.loop.State().Jobs()
		if events > (replaySnapshots+2)*every+2*nodes || jobs > every+live || snapshots > replaySnapshots {
			t.Errorf("hour %d: %v, at first %v, expected no more as time goes on", hour, now, first)
		}
	}
	needed, err := replayableModules(t.Context(), d.store)
	d.must(err)
	for _, a := range d.core.loop.State().Policies().History("") {
		if !slices.Contains(needed, a.Digest) {
			t.Errorf("%s is in force and not among %v", a.Digest, needed)
		}
	}
	d.must(d.store.Close())
}

// The daemon names the modules in force, those that a rollback leads to and those
// that only history has; one that it never put in force is not needed.
func TestNeededModules(t *testing.T) {
	d := open(t, folder(t), settings{"store.snapshot_every": "100"})
	activate(t, d, "u", "fgd", nil)
	activate(t, d, "u", "dotproduct", nil)
	activate(t, d, "v", "bestfit", nil)
	if err := d.change(t.Context(), poise.PolicyCleared{Tenant: "v"}); err != nil {
		t.Fatal(err)
	}
	bin, unused := wasm(t, "cost")
	if err := d.store.PutModule(t.Context(), unused, bin); err != nil {
		t.Fatal(err)
	}
	got, err := d.NeededModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{"fgd", "dotproduct", "bestfit"} {
		_, digest := wasm(t, name)
		want = append(want, digest)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}
