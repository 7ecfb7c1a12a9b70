package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

func reservationText(r *Reservation) string {
	text := fmt.Sprintf("reserved for %s of %s, %d ms from %d on:", r.Job, r.Tenant, r.RunTime, r.Start)
	for _, h := range r.Holds {
		text += fmt.Sprintf(" %s row %d/%d %v", h.Node, h.row, h.incarnation, h.Shape.Request)
	}
	return text
}

// What is kept for a job is what was reserved last; it ends when it is given up,
// and when the job is placed, held or forgotten. A snapshot keeps what it was
// taken with.
func TestReservations(t *testing.T) {
	d := newDriver(t, 0)
	cpu := func(name string, amount int) poise.Node {
		return poise.Node{Name: name, Capacity: amounts("cpu", amount)}
	}
	d.do(t, poise.NodeJoined{Node: cpu("a", 4)}, poise.NodeJoined{Node: cpu("b", 4)})
	for _, id := range []string{"1", "2", "3"} {
		j := job(id, poise.Request{Amounts: amounts("cpu", 2)})
		j.RunTime = 7
		d.do(t, poise.JobSubmitted{Job: j})
	}
	f := func(want ...string) {
		t.Helper()
		var got []string
		for _, r := range d.View().Reservations() {
			got = append(got, fmt.Sprint(r.Job, " ", r.Holds[0].Node, " ", r.Start))
		}
		if !slices.Equal(got, want) {
			t.Errorf("reserved %q, expected %q", got, want)
		}
		writtenDown(t, d.State, 0)
	}
	d.do(t, poise.ReservationMade{Job: "1", Nodes: []string{"a"}, Start: 5}, poise.ReservationMade{Job: "2", Nodes: []string{"a"}})
	f("1 a 5", "2 a 0")
	kept := keep(d.Snapshot())
	d.do(t, poise.ReservationMade{Job: "1", Nodes: []string{"b"}, Start: 9})
	f("1 b 9", "2 a 0")
	d.do(t, poise.ReservationMade{Job: "3", Nodes: []string{"b"}, Start: 9}, poise.ReservationEnded{Job: "2"})
	f("1 b 9", "3 b 9")
	d.do(t, poise.JobPlaced{Placement: poise.Placement{Job: "1", Node: "a"}})
	f("3 b 9")
	d.do(t, poise.JobHeld{Job: "3", By: "bob"})
	f()
	d.do(t, poise.ReservationMade{Job: "2", Nodes: []string{"b"}}, poise.NodeLeft{Name: "b"}, poise.NodeJoined{Node: cpu("b", 4)})
	f("2 b 0")
	if _, ok := d.View().Reservations()[0].Holds[0].Row(d.View()); ok {
		t.Error("a node that came back under its name is reserved, expected that the one that left was")
	}
	d.do(t, poise.JobWithdrawn{Job: "2"})
	f()
	if kept.check(t); len(kept.snap.Reservations()) != 2 || kept.snap.Reservation("1").Start != 5 {
		t.Errorf("a snapshot has %v, expected what it was taken with", kept.snap.Reservations())
	}
	d.refused(t, `reserve for job "2": no such job`, poise.ReservationMade{Job: "2", Nodes: []string{"a"}})
	d.refused(t, `reserve for job "1": the job is not to be placed now, expected one that waits for room`, poise.ReservationMade{Job: "1", Nodes: []string{"a"}})
	d.refused(t, `end reservation of job "1": it has none`, poise.ReservationEnded{Job: "1"})
	d.do(t, poise.JobReleased{Job: "3"})
	d.refused(t, `reserve for job "3": node "x": no such node`, poise.ReservationMade{Job: "3", Nodes: []string{"x"}})
	d.refused(t, `reserve for job "3": 2 nodes, expected at most one for each of 1 tasks`, poise.ReservationMade{Job: "3", Nodes: []string{"a", "b"}})
	d.refused(t, `reserve for job "3": nodes: 0, expected 1 to 4096`, poise.ReservationMade{Job: "3"})
	d.refused(t, `reserve for job "3": start: -1 ms, expected 0 or more`, poise.ReservationMade{Job: "3", Nodes: []string{"a"}, Start: -1})
}

// What ends is what was kept for that job, where members of one gang have a reservation
// each; and none of them outlives the member that it is for.
func TestReservationsOfMembers(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a"}})
	for i := range int32(2) {
		j := job(fmt.Sprint("g", i), poise.Request{})
		j.Gang, j.Tasks = &poise.Gang{ID: "g", Size: 2, Index: i}, 2
		d.do(t, poise.JobSubmitted{Job: j}, poise.ReservationMade{Job: j.ID, Nodes: []string{"a"}})
	}
	f := func(want ...poise.JobID) {
		t.Helper()
		var got []poise.JobID
		for _, r := range d.View().Reservations() {
			got = append(got, r.Job)
		}
		if !slices.Equal(got, want) {
			t.Errorf("reserved for %v, expected %v", got, want)
		}
	}
	d.do(t, poise.ReservationEnded{Job: "g1"})
	f("g0")
	d.do(t, poise.ReservationMade{Job: "g1", Nodes: []string{"a"}}, poise.JobWithdrawn{Job: "g1"})
	f()
}

// An image whose reservations do not hold together is refused.
func TestReservationImages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a"}}, poise.JobSubmitted{Job: job("1", poise.Request{})}, poise.JobSubmitted{Job: job("2", poise.Request{})},
			poise.JobPlaced{Placement: poise.Placement{Job: "2", Node: "a"}}, poise.ReservationMade{Job: "1", Nodes: []string{"a"}})
		im := d.Image()
		r := &im.Reservations[0]
		switch rapid.IntRange(0, 4).Draw(t, "broken") {
		case 0:
			r.Job = "2"
		case 1:
			r.Holds[0].Row = 1
		case 2:
			r.Holds = append(r.Holds, r.Holds[0])
		case 3:
			im.Reservations = append(im.Reservations, *r)
		case 4:
			r.Start = -1
		}
		if _, err := FromImage(im, Settings{}); poise.KindOf(err) != poise.Invalid {
			t.Fatalf("%v, expected it to be refused", err)
		}
	})
}
