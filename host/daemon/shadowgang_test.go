package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// racks joins racks of two nodes with 4 cores each, in the second one with 2, which only
// those who pack like.
func racks(t *testing.T, d *Daemon) {
	t.Helper()
	list := nodes("n", 4, "4")
	for i := range list {
		list[i].Labels = map[string]string{"rack": fmt.Sprint("r", i/2+1)}
	}
	list[2].Capacity["cpu"], list[3].Capacity["cpu"] = "2", "2"
	if _, err := d.JoinCluster(t.Context(), "c", list, ""); err != nil {
		t.Fatal(err)
	}
}

// A shadow is asked about gangs as wholes: one decision, compared member by member,
// within the topology; and what the fleet would be like has them too.
func TestShadowGangs(t *testing.T) {
	d := open(t, folder(t), settings{"engine.kind": "sim"})
	ctx := t.Context()
	racks(t, d)
	pushed(t, d, "../../plugins/binpack/binpack.wasm", "beside")
	if _, err := d.StartShadow(ctx, "t", client.ShadowSpec{Plugin: "beside"}, "me"); err != nil {
		t.Fatal(err)
	}
	start := func(specs []client.JobSpec) []client.Job {
		t.Helper()
		for i := range specs {
			specs[i].RunTime = "10h"
		}
		jobs, err := d.Submit(ctx, "t", specs, "")
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	running := func(jobs []client.Job) {
		t.Helper()
		for i := range jobs {
			eventually(t, "a place", func() bool {
				j, err := d.Job(ctx, "t", jobs[i].ID)
				return err == nil && j.State == client.Running
			})
		}
	}
	running(start(gangOf("packed", 2, 0, &client.TopologySpec{Key: "rack", Mode: "pack"}, job("", "2"))))
	s := seen(t, d, "t", 1)
	if s.Decisions != 1 || s.Agreed != 0 || s.SameVerdict != 1 || len(s.Latest) != 1 || s.Latest[0].Gang == nil || s.Latest[0].Name != "packed" {
		t.Fatalf("%+v, expected one difference, of the gang", s)
	}
	x := s.Latest[0]
	if x.Gang.Tasks != 2 || int(x.Gang.Differ) != len(x.Gang.Members) || x.LiveOnLive.Loss == nil || x.WouldOnOwn.Loss == nil {
		t.Errorf("%+v %+v", x, x.Gang)
	}
	for _, m := range x.Gang.Members {
		if m.Live.Domain == "" || m.Would.Domain == "" || m.Live.Node == m.Would.Node {
			t.Errorf("%+v, expected other nodes, each in a rack", m)
		}
	}
	// One that neither has room for.
	start(gangOf("large", 4, 0, nil, job("", "3")))
	if s = seen(t, d, "t", 2); s.Decisions != 2 || s.Agreed != 1 || s.SameVerdict != 2 {
		t.Errorf("%d of %d agreed, expected 1 of 2", s.Agreed, s.Decisions)
	}
	list, err := d.RecordedCases(ctx, "t", client.CaseFilter{})
	if err != nil || len(list.Cases) != 0 {
		t.Errorf("%+v, %v, expected no case of a gang", list, err)
	}
	if _, err := d.RerunShadow(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	var r *client.ShadowRerun
	eventually(t, "the rerun", func() bool {
		s, err := d.Shadow(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		r = s.Fleet
		return !r.Running
	})
	if r.Error != "" || r.Decided != 2 || r.Moved == 0 || r.Live.Fill["cpu"] != r.Would.Fill["cpu"] {
		t.Errorf("%+v", r)
	}
}

// What is reserved for others keeps a shadow off as well, and a job that is over quota
// is so under every policy: it is not compared.
func TestShadowRespectsReservations(t *testing.T) {
	d := open(t, folder(t), settings{"engine.kind": "sim"})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 1, "4"), ""); err != nil {
		t.Fatal(err)
	}
	pushed(t, d, plugin, "beside")
	if _, err := d.StartShadow(ctx, "t", client.ShadowSpec{Plugin: "beside"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetShare(ctx, poise.Tenant{ID: "t", Weight: 1, Quotas: []poise.Quota{{Resource: "cpu", Limit: 20_000}}}); err != nil {
		t.Fatal(err)
	}
	submit := func(reason string, s client.JobSpec) {
		t.Helper()
		jobs, err := d.Submit(ctx, "t", []client.JobSpec{s}, "")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "a decision: "+reason, func() bool {
			j, err := d.Job(ctx, "t", jobs[0].ID)
			return err == nil && strings.Contains(j.Reason, reason) && (reason != "" || j.State == client.Running)
		})
	}
	first := job("first", "3")
	first.RunTime = "10h"
	submit("", first)
	submit("fits, but not now", job("wide", "4"))
	submit("behind others", job("small", "1"))
	submit("over quota", job("over", "18"))
	s := seen(t, d, "t", 3)
	if s.Decisions != 3 || s.Agreed != 3 {
		t.Errorf("%d of %d agreed, expected 3 of 3: %+v", s.Agreed, s.Decisions, s.Latest)
	}
}
