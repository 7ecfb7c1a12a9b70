package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// fair is a fleet of one node and tenants with endless jobs of one kind each.
type fair struct {
	*driver
	asks map[poise.TenantID]resource.List
}

func newFair(t *testing.T, node resource.List) *fair {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(s, Settings{Queue: queue.Defaults(), Params: balance.Defaults(), LaneOf: func(poise.TenantID) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	l.Open("", sched.Policy{Name: "spread", Scorer: spread(t)}, false)
	f := &fair{&driver{t: t, loop: l}, map[poise.TenantID]resource.List{}}
	f.apply(poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: node}})
	return f
}

func (f *fair) tenant(id, parent poise.TenantID, weight float64, ask resource.List) {
	f.t.Helper()
	f.apply(poise.TenantSet{Tenant: poise.Tenant{ID: id, Parent: parent, Weight: weight}})
	if ask != nil {
		f.asks[id] = ask
	}
}

// turns submits n jobs of every tenant and tells in which order they are placed.
func (f *fair) turns(n int, ids ...poise.TenantID) string {
	f.t.Helper()
	for range n {
		for _, id := range ids {
			f.jobs++
			job := poise.JobID(fmt.Sprint("j", f.jobs))
			f.apply(poise.JobSubmitted{Job: poise.Job{ID: job, Name: string(job), Tenant: id, Tasks: 1, Request: poise.Request{Amounts: f.asks[id]}}})
		}
	}
	var order []string
	for {
		w := f.loop.Next(f.now)
		if w == nil {
			return strings.Join(order, " ")
		}
		w.Plan(sched.Brief)
		s, err := f.loop.Settle(w, f.now, sched.Brief)
		if err != nil {
			f.t.Fatal(err)
		}
		if s.Decision.Verdict == poise.Placed {
			order = append(order, string(w.Job.Tenant))
			f.apply(poise.JobPlaced{Placement: poise.Placement{Job: s.Decision.Job, Node: s.Decision.Node}})
		}
	}
}

func amounts(cpu, memory int64) resource.List {
	return resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
}

// The worked example of the DRF paper (Ghodsi et al., NSDI 2011, section 4.1 and
// Table 1): 9 CPUs and 18 GB, tasks of <1 CPU, 4 GB> and <3 CPUs, 1 GB>. A gets 3
// tasks and B 2, each 2/3 of its dominant resource.
func TestDominantResourceFairness(t *testing.T) {
	f := newFair(t, amounts(9, 18))
	f.tenant("a", "", 0, amounts(1, 4))
	f.tenant("b", "", 0, amounts(3, 1))
	// Table 1 begins with B; here the job that came first breaks the tie of two
	// empty shares, and the rest follows: A 2/9, B 1/3, ...
	if got, want := f.turns(5, "b", "a"), "b a a b a"; got != want {
		t.Errorf("order %s, expected %s", got, want)
	}
	for tenant, want := range map[poise.TenantID]string{"a": "0.667 of memory", "b": "0.667 of cpu"} {
		share, of := f.loop.State().Share(tenant)
		if got := fmt.Sprintf("%.3f of %s", share, of); got != want {
			t.Errorf("%s has %s, expected %s", tenant, got, want)
		}
	}
}

func count(order string) map[string]int {
	n := map[string]int{}
	for _, tenant := range strings.Fields(order) {
		n[tenant]++
	}
	return n
}

// A tenant of twice the weight gets twice the share, in whatever order jobs come
// and however many they are.
func TestWeightedShares(t *testing.T) {
	f := newFair(t, amounts(12_000, 12_000))
	f.tenant("a", "", 2, amounts(1000, 0))
	f.tenant("b", "", 0, amounts(1000, 0))
	if n := count(f.turns(12, "b", "a")); n["a"] != 8 || n["b"] != 4 {
		t.Errorf("%v, expected 8 and 4", n)
	}
}

// Shares go down the tree: an organization with many teams gets no more than one
// without, and a parent's own jobs stand beside its teams'.
func TestSharesOfATree(t *testing.T) {
	f := newFair(t, amounts(12_000, 12_000))
	f.tenant("org", "", 0, amounts(1000, 0))
	f.tenant("team1", "org", 3, amounts(1000, 0))
	f.tenant("team2", "org", 1, amounts(1000, 0))
	f.tenant("solo", "", 0, amounts(1000, 0))
	if n := count(f.turns(12, "team1", "team2", "solo")); n["solo"] != 6 || n["team1"]+n["team2"] != 6 || n["team1"] < 4 {
		t.Errorf("%v, expected half for solo, and of the other half three quarters for team1", n)
	}
	f = newFair(t, amounts(12_000, 12_000))
	f.tenant("org", "", 0, amounts(1000, 0))
	f.tenant("team", "org", 0, amounts(1000, 0))
	if n := count(f.turns(12, "team", "org")); n["org"] != 6 || n["team"] != 6 {
		t.Errorf("%v, expected 6 each", n)
	}
}

// A tenant that waits for what is not there holds up nobody (B29), and a flood of
// one tenant does not delay another's first job.
func TestTurnsOfOthers(t *testing.T) {
	f := newFair(t, amounts(4000, 4000))
	f.tenant("big", "", 0, amounts(5000, 0))
	f.tenant("flood", "", 0, amounts(500, 0))
	f.tenant("late", "", 0, amounts(500, 0))
	f.turns(3, "big", "flood")
	if got := f.turns(1, "flood", "late"); !strings.HasPrefix(got, "late") {
		t.Errorf("order %s, expected late first", got)
	}
}
