package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// recordGangs makes a history of gangs that plugins decide on: without a topology,
// packed, spread, with roles, and over zones as a plugin spreads them.
func recordGangs(t testing.TB) *recorded {
	t.Helper()
	if raced {
		t.Skip("a policy of stock Go takes longer to compile under the race detector than a compile may; it runs without")
	}
	dir := folder(t)
	d, err := Open(t.Context(), options(t, dir, settings{"store.snapshot_every": "100", "engine.kind": "sim"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	list := nodes("n", 9, "8")
	for i := range list {
		list[i].Labels = map[string]string{"zone": fmt.Sprint("z", i%3)}
		list[i].Capacity["memory"] = client.Quantity(fmt.Sprintf("%dGi", 16+8*(i%4)))
	}
	if _, err := d.JoinCluster(ctx, "c", list, ""); err != nil {
		t.Fatal(err)
	}
	submit := func(tenant poise.TenantID, name string, size int32, topology *client.TopologySpec, cpu ...client.Quantity) []string {
		t.Helper()
		specs := gangOf(name, size, 0, topology, job("", "1"))
		for i := range specs {
			specs[i].RunTime = "10h"
			specs[i].Request = map[string]client.Quantity{"cpu": cpu[i%len(cpu)], "memory": client.Quantity(fmt.Sprintf("%dGi", 1+i%len(cpu)))}
		}
		jobs, err := d.Submit(ctx, tenant, specs, "")
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, len(jobs))
		for i := range jobs {
			ids[i] = jobs[i].ID
			eventually(t, "a task of "+name, func() bool {
				j, err := d.Job(ctx, tenant, ids[i])
				return err == nil && j.State == client.Running
			})
		}
		return ids
	}
	pack, spread := &client.TopologySpec{Key: "zone", Mode: "pack"}, &client.TopologySpec{Key: "zone", Mode: "spread", MaxSkew: 1}
	for _, tenant := range []poise.TenantID{"native", "scores", "filters"} {
		switch tenant {
		case "scores":
			activate(t, d, tenant, "binpack", nil)
		case "filters":
			activate(t, d, "", "dotproduct", nil)
			activate(t, d, tenant, "spread-domains", map[string]string{"mode": "hard"})
		}
		name := func(s string) string { return string(tenant) + "-" + s }
		zones := map[string]int{}
		for _, id := range submit(tenant, name("free"), 3, nil, "1") {
			j, err := d.Job(ctx, tenant, id)
			if err != nil {
				t.Fatal(err)
			}
			zones[list[j.Node[1]-'0'].Labels["zone"]]++
		}
		if tenant == "filters" && len(zones) != 3 {
			t.Errorf("in zones %v, expected one task in each: the plugin sees those that were placed before", zones)
		}
		submit(tenant, name("spread"), 6, spread, "1", "500m")
		if tenant == "filters" {
			continue // it has no two beside each other
		}
		gone := submit(tenant, name("pack"), 2, pack, "2", "1")
		if _, err := d.Cancel(ctx, tenant, gone[0]); err != nil {
			t.Fatal(err)
		}
	}
	submit("native", "native-more", 40, nil, "500m")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return &recorded{t, dir}
}

// Gangs that plugins decided on are decided again to the bit, member by member: with
// the answers from the records, and with the plugins at work.
func TestReplayOfGangs(t *testing.T) {
	r := recordGangs(t)
	r.both(func(got *Replayed, rerun bool) {
		recorded := 6
		if rerun {
			recorded = 0
		}
		if got.Index != 0 || got.Decisions != 9 || got.Recorded != recorded || got.Snapshots == 0 {
			t.Errorf("rerun %v: %+v, expected 9 decisions, 6 of them of plugins, and snapshots met", rerun, got)
		}
	})
}

// What is changed in the record of a gang is found, in whichever member it is.
func TestReplayFindsTamperedGangs(t *testing.T) {
	whole := recordGangs(t)
	f := func(gang, want string, change func(d *gangDecision)) {
		t.Helper()
		r := whole.copied()
		var seq int64
		var body []byte
		r.query("SELECT decisions.seq, decisions.body FROM decisions JOIN jobs ON jobs.id = decisions.job WHERE jobs.name = ?", gang+"-0", &seq, &body)
		var d gangDecision
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		change(&d)
		body, err := json.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		r.edit("UPDATE decisions SET body = ? WHERE seq = ?", body, seq)
		r.both(func(got *Replayed, rerun bool) {
			if got.Index != uint64(seq) || got.Was == got.Is || !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(got.Field, w) }) {
				t.Errorf("%s, rerun %v: %+v, expected %q to differ", gang, rerun, got, want)
			}
		})
	}
	f("scores-pack", "task 0: verdict|task 0: part in the gang", func(d *gangDecision) { d.Members[0].Gang.Domain, d.Gang.Domain = "z9", "z9" })
	f("scores-pack", "task 1: part in the gang", func(d *gangDecision) { d.Members[0].Gang.Domain = "z9" })
	f("filters-spread", "task 2: part in the gang", func(d *gangDecision) { d.Members[1].Gang.Size++ })
	for _, tenant := range []string{"native", "scores", "filters"} {
		f(tenant+"-free", "task 1: ranking", func(d *gangDecision) { d.Members[0].Ranked[0].Loss += 1e9 })
		f(tenant+"-free", "gang", func(d *gangDecision) { d.Members = d.Members[:1] })
		f(tenant+"-spread", "task 5: fitting nodes|task 5: ranking|ranking", func(d *gangDecision) { d.Members[4].Fitting++ })
		f(tenant+"-spread", "task 5: node|event that commits it", func(d *gangDecision) { d.Members[4].Node = "n0x" })
		f(tenant+"-spread", "task 0: seed", func(d *gangDecision) { d.Seed++ })
	}
}
