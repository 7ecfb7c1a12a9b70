package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// A second daemon on one directory is refused, and the first does not notice.
func TestSecondDaemon(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	id := w.submit(job("a", "1"))[0].ID
	o := options(t, dir, nil)
	err := Serve(t.Context(), o, func(string, string) { t.Error("it serves") })
	refused(t, err, poise.Conflict, "in use by process")
	if j := w.job(id); j.State != client.Waiting {
		t.Errorf("%+v", j)
	}
}

// snapshots gives the indexes of the snapshots of a daemon that is stopped, and
// spoils the latest so many.
func spoil(t *testing.T, dir string, last int) []uint64 {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: storeDir(filepath.Join(dir, "data")), Now: func() int64 { return int64(now()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	infos, err := s.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []uint64
	for i, info := range infos {
		all = append(all, info.Seq)
		if i < len(infos)-last {
			continue
		}
		body, err := s.Snapshot(t.Context(), info.Seq)
		if err == nil {
			err = s.PutSnapshot(t.Context(), info.Seq, body[:len(body)/2], true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestSpoiltSnapshot(t *testing.T) {
	dir := folder(t)
	often := settings{"store.snapshot_every": "100"}
	w := serve(t, dir, often)
	w.join("c", nodes("n", 2, "1000"))
	var specs []client.JobSpec
	for i := range 100 {
		specs = append(specs, job(fmt.Sprint("a", i), "1m"))
	}
	for range 3 {
		ids := w.submit(specs...)
		w.until(ids[len(ids)-1].ID, client.Running)
	}
	check := func() {
		t.Helper()
		if n := w.node("n0").Tasks + w.node("n1").Tasks; n != 300 {
			t.Errorf("%d tasks, expected 300", n)
		}
		w.checkSums()
	}
	check()
	w.stop()
	all := spoil(t, dir, 1)
	if len(all) < 3 {
		t.Fatalf("snapshots %v, expected three at least", all)
	}
	w = serve(t, dir, often)
	check()
	w.stop()
	spoil(t, dir, len(all))
	w = serve(t, dir, often)
	check()
	w.stop()

	// Without snapshot and without the beginning of the log there is no state.
	s, err := store.Open(t.Context(), store.Options{Dir: storeDir(filepath.Join(dir, "data")), Now: func() int64 { return int64(now()) + 1000 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Retain(t.Context(), store.Retention{Events: store.Keep{Count: 10}, Snapshots: store.Keep{Count: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, 100)
	_, err = Open(t.Context(), options(t, dir, often))
	refused(t, err, poise.Invalid, "snapshot")
	refused(t, err, poise.Invalid, "events before are cut")
}

// A clock that is set back holds nobody up, and the records stay in order.
func TestClockGoesBack(t *testing.T) {
	dir := folder(t)
	d, err := Open(t.Context(), options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	var offset atomic.Int64
	d.core.now = func() poise.Time { return now() + poise.Time(offset.Load()) }
	run(t, d)
	ctx := t.Context()
	state := func(id string, want client.JobState) client.Job {
		t.Helper()
		var j client.Job
		eventually(t, fmt.Sprintf("%s %s", id, want), func() bool {
			j, err = d.Job(ctx, "t", id)
			return err == nil && j.State == want
		})
		return j
	}
	submit := func(cpu string) string {
		t.Helper()
		jobs, err := d.Submit(ctx, "t", []client.JobSpec{job("a", cpu)}, "")
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0].ID
	}
	join := func(node string) {
		t.Helper()
		if _, err := d.JoinCluster(ctx, node, []client.NodeSpec{{Name: node, Capacity: map[string]client.Quantity{"cpu": "1"}}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	join("n0")
	first := submit("1")
	placed := state(first, client.Running)
	waits := submit("1")
	eventually(t, "a reason to wait", func() bool {
		j, err := d.Job(ctx, "t", waits)
		return err == nil && j.Reason != ""
	})
	offset.Store(-10 * time.Hour.Milliseconds())
	join("n1")
	state(waits, client.Running)
	if err := d.LeaveNode(ctx, "n0"); err != nil {
		t.Fatal(err)
	}
	state(first, client.Waiting)
	join("n2")
	// The later placement is the earlier one by the clock.
	if j := state(first, client.Running); j.Placement == placed.Placement || j.Node != "n2" || !j.Placed.Before(placed.Placed) {
		t.Errorf("%+v, expected its second placement", j)
	}
	if why, err := d.Why(ctx, "t", first); err != nil || why.Decision == nil || why.Decision.Node != "n2" {
		t.Errorf("%+v, %v, expected the decision for n2", why.Decision, err)
	}
	offset.Store(10 * time.Hour.Milliseconds())
	state(submit("2"), client.Waiting)
}

// run runs an opened daemon until the test ends.
func run(t testing.TB, d *Daemon) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// open runs a daemon without its API until the test ends.
func open(t testing.TB, dir string, s settings) *Daemon {
	t.Helper()
	d, err := Open(t.Context(), options(t, dir, s))
	if err != nil {
		t.Fatal(err)
	}
	run(t, d)
	return d
}
