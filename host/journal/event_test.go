package journal

import (
	"reflect"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

func node(name string) poise.Node {
	return poise.Node{
		Name: name, Cluster: "c", Capacity: resource.List{{Name: "cpu", Value: 9_300_000_000_000_001}, {Name: "memory", Value: 1<<62 + 1}},
		Devices: poise.Devices{Kind: "gpu", Model: "A10", Count: 2}, Labels: []poise.Label{{Key: "zone", Value: "östlich"}},
		Taints: []poise.Taint{{Key: "k", Value: "v", Effect: poise.NoSchedule}},
	}
}

// bodies has one of every kind, with fields that JSON could lose.
func bodies(t *testing.T) []poise.Body {
	t.Helper()
	m, err := model.Build([]poise.Node{node("a"), node("b")}, model.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	job := poise.Job{
		ID: "j", Name: "j", Tenant: "t", Priority: -7, Tasks: 1, RunTime: 1<<53 + 1,
		Request: poise.Request{
			Amounts: resource.List{{Name: "cpu", Value: 1}}, Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1, Models: []string{"A10"}},
		},
		Selectors:   []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"a"}}},
		Tolerations: []poise.Toleration{{Key: "k", Exists: true}},
		StartBy:     1<<53 + 1, FinishBy: 1<<53 + 3, Retry: &poise.Retry{Limit: 3, Backoff: 1, MaxBackoff: 2}, Held: "bob",
		Labels: []poise.Label{{Key: "team", Value: "ä"}},
	}
	member := job
	member.Tasks, member.Gang = 3, &poise.Gang{ID: "g", Size: 3, Min: 2, Index: 1, Topology: &poise.Topology{Key: "rack", Mode: poise.TopologySpread, MaxSkew: 1}}
	return []poise.Body{
		poise.NodeJoined{Node: node("a")},
		poise.NodeChanged{Node: node("a")},
		poise.NodeMarked{Name: "a", Drained: true},
		poise.NodeLeft{Name: "a"},
		poise.JobSubmitted{Job: job},
		poise.JobPlaced{Placement: poise.Placement{Job: "j", Node: "a", Devices: []uint16{0, 31}}},
		poise.JobFinished{Job: "j"},
		poise.JobRequeued{Job: "j", NotBefore: 1<<53 + 1, Failed: true},
		poise.JobWithdrawn{Job: "j"},
		poise.ProfileBuilt{
			Profiles: []*poise.Profile{{Epoch: 3, Kind: "gpu", IdleDevices: 0.1, Shapes: []poise.ProfileShape{{CPU: 1, Weight: 1.0 / 3, Scarcity: 1e-300}}}},
			Demand:   &poise.Demand{Epoch: 3, Total: 1e17, Kinds: []poise.TaskKind{{Kind: "gpu", Models: []string{"x"}, Times: 0.1}}},
		},
		poise.SymbolsWanted{Labels: []string{"zone"}, Values: []string{"x"}},
		m.Built([]poise.Node{node("a"), node("b")}),
		poise.SchedulerSet{Scheduler: poise.Scheduler{Policy: "idle-balance", Seed: 1<<64 - 1, Beta: 0.1, Limits: poise.PluginLimits{CallFuel: 1<<53 + 1}}},
		poise.PolicySet{Activation: poise.Activation{Tenant: "t", Plugin: "p", Digest: "sha256:0", Params: map[string]string{"k": ""}, Weight: 1.0 / 3}},
		poise.PolicyRolledBack{Tenant: "t"},
		poise.PolicyCleared{},
		poise.PolicyQuarantined{Tenant: "t", Quarantined: true},
		poise.TenantSet{Tenant: poise.Tenant{ID: "t", Signed: true, Keys: []string{"RW"}}},
		poise.TenantRemoved{Tenant: "t"},
		poise.JobSubmitted{Job: member},
		poise.JobAdopted{Job: member, Since: 1<<53 + 1, Failures: 2, Node: "a", Started: true},
		poise.ReservationMade{Job: "j", Nodes: []string{"n", "ä"}, Start: 1<<53 + 1},
		poise.ReservationEnded{Job: "j"},
		poise.JobPreempted{Job: "j", By: "k", Until: 1<<53 + 1},
		poise.JobSpared{Job: "j", Until: 7},
		poise.GangPlaced{Placements: []poise.Placement{{Job: "j", Node: "a", Devices: []uint16{0, 31}}, {Job: "k", Node: "b"}}},
		poise.JobHeld{Job: "j", By: "änn"},
		poise.JobReleased{Job: "j"},
		poise.JobPrioritySet{Job: "j", Priority: -1 << 31, By: "änn"},
		poise.NodeOccupied{Occupant: poise.Occupant{
			ID: "o", Name: "ns/o", Node: "a", Request: job.Request, Labels: []poise.Label{{Key: "app", Value: "ä"}}, Ending: true, Pod: &poise.Pod{
				Cluster: "c", Space: "ns", AnyOf: []poise.Term{{{Key: "zone", Op: poise.Exists}}}, Prefer: []poise.Preference{{Weight: 100}},
				Ports:  []poise.Port{{Protocol: "TCP", IP: "::1", Number: 1}},
				Rules:  []poise.PodRule{{Key: "zone", Apart: true, Spaces: []string{"ns"}, Labels: []poise.Selector{{Key: "app", Op: poise.Exists}}, Weight: 1}},
				Spread: []poise.SpreadRule{{Key: "zone", MaxSkew: 1, MinDomains: 2, Soft: true, AnyNode: true, HonorTaints: true}},
			},
		}},
		poise.NodeVacated{ID: "o"},
		poise.SpaceSet{Cluster: "c", Tenant: "t", Space: "ns"},
		poise.JobEnding{Job: "j"},
	}
}

// Every kind of event is read as it was written, to the bit.
func TestRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for i, body := range bodies(t) {
		ev := poise.Event{Index: uint64(i + 1), At: -5, Body: body}
		e, err := Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, ev) {
			t.Errorf("%s:\n%+v\nexpected\n%+v", e.Kind, got, ev)
		}
		seen[e.Kind] = true
	}
	for kind := range readers {
		if !seen[kind] {
			t.Errorf("kind %q is not tried here", kind)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	f := func(e Entry, want string) {
		t.Helper()
		if _, err := Decode(e); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: %v, expected an error with %q", e.Kind, e.Body, err, want)
		}
	}
	f(Entry{Index: 7, Kind: "node-left", Schema: 2, Body: []byte(`{}`)}, `event 7 "node-left": schema: 2, expected 1`)
	f(Entry{Kind: "node-exploded", Schema: 1, Body: []byte(`{}`)}, "expected one of [gang-placed job-adopted")
	f(Entry{Kind: "node-left", Schema: 1, Body: []byte(`{"Name":"a","Colour":1}`)}, `unknown field "Colour"`)
	f(Entry{Kind: "node-left", Schema: 1, Body: []byte(`{"Name":"a"} x`)}, "more text")
	f(Entry{Kind: "node-left", Schema: 1, Body: []byte(`{"Name":`)}, "body")
	f(Entry{Kind: "model-built", Schema: 1, Body: []byte(`{}`)}, "model: none")
	f(Entry{Kind: "model-built", Schema: 1, Body: []byte(`{"Model":{}}`)}, "body")
}

// A state that was kept decides as before: its snapshots say the same.
func TestState(t *testing.T) {
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(s *state.State, body poise.Body) {
		t.Helper()
		if err := s.Apply(poise.Event{Index: s.Index() + 1, At: 9, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	all := bodies(t)
	apply(s, poise.NodeJoined{Node: node("a")})
	apply(s, poise.NodeJoined{Node: node("b")})
	apply(s, all[4]) // the job
	apply(s, poise.JobReleased{Job: "j"})
	apply(s, poise.JobPlaced{Placement: poise.Placement{Job: "j", Node: "a", Devices: []uint16{1}}})
	apply(s, all[9])
	apply(s, all[11])
	text, err := EncodeState(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeState(text, state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if second, err := EncodeState(again); err != nil || string(second) != string(text) {
		t.Errorf("kept twice:\n%s\n%v\nexpected\n%s", second, err, text)
	}
	if again.View().Classes().ModelBuild() != 1 || again.View().Free(0)[1] == 1000 {
		t.Error("the model or a device that is taken is gone")
	}
	if _, err := DecodeState([]byte(`{"Schema":2}`), state.Settings{}); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v, expected a later schema to be refused", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("node-joined", []byte(`{"Node":{"Name":"a"}}`))
	f.Add("job-placed", []byte(`{"Placement":{"Job":"j","Node":"n","Devices":[1]}}`))
	f.Add("model-built", []byte(`{"Model":{"Build":1}}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		ev, err := Decode(Entry{Index: 1, Kind: kind, Schema: Schema, Body: body})
		if err != nil {
			return
		}
		e, err := Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(e); err != nil || !reflect.DeepEqual(again, ev) {
			t.Fatalf("%+v, %v, expected %+v", again, err, ev)
		}
	})
}
