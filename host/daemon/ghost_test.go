package daemon

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

// A node that had left when a snapshot was taken is no candidate after a restart.
func TestLeftBeforeSnapshot(t *testing.T) {
	often := settings{"store.snapshot_every": "100", "scheduler.policy": "idle-balance-spread"}
	w := serve(t, folder(t), often)
	w.join("c", nodes("n", 2, "1000"))
	if err := w.LeaveNode(t.Context(), "n0"); err != nil {
		t.Fatal(err)
	}
	var specs []client.JobSpec
	for i := range 60 {
		specs = append(specs, job(fmt.Sprint("a", i), "1m"))
	}
	for range 2 {
		w.until(w.submit(specs...)[59].ID, client.Running)
	}
	w = w.again(often)
	if j := w.until(w.submit(job("b", "1m"))[0].ID, client.Running); j.Node != "n1" {
		t.Errorf("%+v, expected it on n1", j)
	}
	w.checkSums()
}
