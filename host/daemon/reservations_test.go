package daemon

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

// A job that waits for room says what is kept for it, and others say for whom.
func TestReservationIsTold(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 1, "4"))
	timed := func(name, cpu, run string) client.JobSpec {
		j := job(name, cpu)
		j.RunTime = run
		return j
	}
	first := w.until(w.submit(timed("first", "2", "1h"))[0].ID, client.Running)
	big := w.submit(job("big", "4"))[0].ID
	eventually(t, "a reservation", func() bool { return w.job(big).Reserved != nil })
	long, forever := w.submit(timed("long", "1", "2h"))[0].ID, w.submit(job("forever", "1"))[0].ID
	w.until(w.submit(timed("short", "1", "1m"))[0].ID, client.Running)
	eventually(t, "one to be behind", func() bool { return w.job(long).Reason != "" })
	r := w.job(big).Reserved
	if r == nil || !slices.Equal(r.Nodes, []string{first.Node}) || !r.Start.Equal(w.job("first").Placed.Add(3600e9)) {
		t.Errorf("reserved %+v, expected the node for when the first job ends", r)
	}
	for _, id := range []string{long, forever} {
		why, err := w.Why(t.Context(), id)
		if err != nil || why.Decision.Verdict != "behind-others" || why.Behind == nil || !slices.Equal(why.Behind.Jobs, []string{"big"}) || why.Behind.Others != 0 {
			t.Errorf("%s: %+v (%v), expected to be behind big", id, why.Behind, err)
		}
	}
}

// A gang that waits is told what is kept for it, whichever member asks, and starts
// there.
func TestReservationOfGangIsTold(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 2, "4"))
	first := job("first", "2")
	first.RunTime = "1h"
	w.until(w.submit(first)[0].ID, client.Running)
	members := w.submit(gangOf("g", 2, 0, nil, job("", "4"))...)
	for _, m := range members {
		eventually(t, "a reservation", func() bool { r := w.job(m.ID).Reserved; return r != nil && len(r.Nodes) == 2 })
		if r := w.job(m.ID).Reserved; !r.Start.Equal(w.job("first").Placed.Add(3600e9)) {
			t.Errorf("%s: reserved %+v, expected from when the first job ends", m.Name, r)
		}
	}
	small := w.submit(job("small", "1"))[0].ID
	eventually(t, "one to be behind", func() bool {
		why, err := w.Why(t.Context(), small)
		return err == nil && why.Behind != nil && slices.Equal(why.Behind.Jobs, []string{members[0].Name})
	})
}
