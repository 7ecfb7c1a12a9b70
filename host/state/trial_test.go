package state

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// Whatever is tried on a fork, the state and its snapshots stay as they were to the
// bit, the fork says what the state says once the placements are events, and a
// reader that follows both never misses a row.
func TestTrial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		nodes := rapid.IntRange(1, 130).Draw(t, "nodes")
		for i := range nodes {
			d.do(t, poise.NodeJoined{Node: poise.Node{
				Name: fmt.Sprintf("n%03d", i), Capacity: amounts("cpu", 4000), Devices: poise.Devices{Kind: "gpu", Count: 2}, NotReady: i%7 == 3,
			}})
		}
		var tentative Tentative
		var reader Cursor
		seen := make([]uint64, nodes)
		used := map[uint64]bool{}
		follow := func(s *Snapshot) {
			rows, ok := reader.Follow(s)
			if !ok {
				rows = nil
				for row := range uint32(s.Rows()) {
					rows = append(rows, row)
				}
			}
			for _, row := range rows {
				seen[row] = s.RowVersion(row)
			}
			for row := range uint32(s.Rows()) {
				if seen[row] != s.RowVersion(row) {
					t.Fatalf("row %d changed to version %d, and the reader was not told", row, s.RowVersion(row))
				}
			}
		}
		jobs := 0
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			var base *Snapshot
			if rapid.Bool().Draw(t, "live") {
				base = d.View()
			} else {
				base = d.Snapshot()
			}
			before, text := dump(d.View()), dump(base)
			trial := NewTrial(base, &tentative)
			var bodies []poise.Body
			for range rapid.IntRange(0, 8).Draw(t, "tries") {
				ask := poise.Request{Amounts: amounts("cpu", rapid.IntRange(0, 3000).Draw(t, "cpu"))}
				var devices []uint16
				if rapid.Bool().Draw(t, "device") {
					ask.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}
					devices = []uint16{uint16(rapid.IntRange(0, 2).Draw(t, "index"))}
				}
				jobs++
				p := job(fmt.Sprint("j", jobs), ask)
				j, err := d.Draft(&p, 0)
				if err != nil {
					t.Fatal(err)
				}
				row := uint32(rapid.IntRange(0, nodes-1).Draw(t, "row"))
				if trial.Place(j, row, devices) == nil {
					bodies = append(bodies, poise.JobSubmitted{Job: p}, placed(string(p.ID), base.Name(row), devices...))
					if v := trial.View().RowVersion(row); used[v] || v <= d.View().Version() {
						t.Fatalf("row version %d was used before", v)
					} else {
						used[v] = true
					}
				}
				if rapid.Bool().Draw(t, "reads") {
					follow(trial.View())
				}
				if rapid.IntRange(0, 3).Draw(t, "forks") == 0 {
					text := dump(trial.View())
					fork := NewTrial(trial.View(), &tentative)
					if row := uint32(rapid.IntRange(0, nodes-1).Draw(t, "row")); fork.Place(j, row, devices) == nil {
						used[fork.View().RowVersion(row)] = true
					}
					follow(fork.View())
					if dump(trial.View()) != text {
						t.Fatal("a fork of a trial changed the trial")
					}
				}
			}
			if rapid.IntRange(0, 5).Draw(t, "empties") == 0 {
				empty := NewTrial(base, &tentative)
				empty.Empty()
				follow(empty.View())
				for row := range uint32(nodes) {
					if v := empty.View(); v.Allocated(row, 0) != 0 || !v.Schedulable(row) || slices.Contains(v.Free(row), 500) {
						t.Fatalf("row %d of an empty fleet holds something", row)
					}
				}
			}
			if after := dump(d.View()); after != before || dump(base) != text {
				t.Fatalf("a trial changed the state from\n%s\nto\n%s", before, after)
			}
			if rapid.Bool().Draw(t, "commits") {
				for _, body := range bodies {
					d.do(t, body)
				}
				for row := range uint32(nodes) {
					if a, b := trial.View(), d.View(); a.Allocated(row, 0) != b.Allocated(row, 0) || !slices.Equal(a.Free(row), b.Free(row)) || a.Running(row) != b.Running(row) {
						t.Fatalf("row %d holds %d on the trial and %d once placed", row, a.Allocated(row, 0), b.Allocated(row, 0))
					}
				}
			}
			if rapid.Bool().Draw(t, "follows") {
				follow(d.View())
			}
		}
	})
}

func TestGangPlaced(t *testing.T) {
	d := newDriver(t, 0)
	member := func(i, size, least int32) poise.Job {
		j := job(fmt.Sprint("g", i), poise.Request{Amounts: amounts("cpu", 600)})
		j.Tasks, j.Gang = size, &poise.Gang{ID: "g", Size: size, Min: least, Index: i}
		return j
	}
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts("cpu", 1000)}},
		poise.NodeJoined{Node: poise.Node{Name: "b", Capacity: amounts("cpu", 1000)}})
	d.do(t, poise.JobSubmitted{Job: member(0, 3, 2)}, poise.JobSubmitted{Job: member(1, 3, 2)})
	place := func(pairs ...string) poise.GangPlaced {
		var b poise.GangPlaced
		for i := 0; i < len(pairs); i += 2 {
			b.Placements = append(b.Placements, poise.Placement{Job: poise.JobID(pairs[i]), Node: pairs[i+1]})
		}
		return b
	}
	d.refused(t, `place gang "g": it has started, is not complete or comes after a job, expected one that is ready to start`, place("g0", "a", "g1", "b"))
	d.refused(t, `submit job "g2": gang "g": another size, min or topology than its other members have, expected the same`, poise.JobSubmitted{Job: member(2, 3, 3)})
	again := member(1, 3, 2)
	again.ID = "other"
	d.refused(t, `submit job "other": gang "g": index: 1 a second time, expected each once`, poise.JobSubmitted{Job: again})
	d.do(t, poise.JobSubmitted{Job: member(2, 3, 2)})
	d.refused(t, `place job "g0" on node "a": gang "g" has not started, expected its first 2 members together`, placed("g0", "a"))
	d.refused(t, `place gang "g": placements: 1, expected 2 to 3`, place("g0", "a"))
	d.refused(t, `place gang "g": job "g2" at place 1, expected the members by index, the first 2 all`, place("g0", "a", "g2", "b"))
	d.refused(t, `place job "g1" on node "a": cpu: request 600m, idle 400m`, place("g0", "a", "g1", "a"))
	d.refused(t, `place job "g1" on node "c": no such node`, place("g0", "a", "g1", "c"))
	d.refused(t, `place gang: placements: none, expected one per member that starts`, place())
	d.do(t, place("g0", "a", "g1", "b"))
	written := writtenDown(t, d.State, 0)
	if got, want := imageText(t, written), imageText(t, d.State); got != want {
		t.Errorf("read again\n%s\nexpected\n%s", got, want)
	}
	if g := written.Gangs()[0]; !g.Started || g.running != 2 || g.arrived != 3 {
		t.Errorf("read again: %+v", g)
	}
	d.do(t, poise.JobFinished{Job: "g0"}, poise.JobRequeued{Job: "g1"})
	if g := d.Gangs()[0]; !g.Started {
		t.Error("a gang of which a member has ended waits as a whole again")
	}
	d.do(t, placed("g1", "a"), placed("g2", "b"), poise.JobFinished{Job: "g1"}, poise.JobFinished{Job: "g2"})
	if len(d.Gangs()) != 0 || d.View().Allocated(0, 0)+d.View().Allocated(1, 0) != 0 {
		t.Error("a gang that has ended is known, or holds something")
	}
}
