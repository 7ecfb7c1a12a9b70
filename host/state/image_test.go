package state

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// A node that lost all capacity below what runs on it is written down and read
// again with what is allocated (found by TestStateIsItsModel: reading it was out
// of range).
func TestImageOfShrunkNode(t *testing.T) {
	d := newDriver(t, 0)
	for _, body := range []poise.Body{
		poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: resource.List{{Name: "cpu", Value: 10}}}},
		poise.JobSubmitted{Job: poise.Job{ID: "j", Name: "j", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 7}}}}},
		poise.JobPlaced{Placement: poise.Placement{Job: "j", Node: "a"}},
		poise.NodeChanged{Node: poise.Node{Name: "a"}},
	} {
		if err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	again := writtenDown(t, d.State, 0)
	if got := again.View().Allocated(0, 0); got != 7 {
		t.Errorf("allocated %d, expected 7", got)
	}
}
