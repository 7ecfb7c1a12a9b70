package loop

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A job stands behind those of its tenant that go before it, and behind the
// tenants whose turn it is first.
func TestStanding(t *testing.T) {
	f := newFair(t, amounts(4000, 4))
	f.tenant("rich", "", 1, amounts(4000, 4))
	f.tenant("poor", "", 1, amounts(1000, 1))
	f.turns(1, "rich") // holds the node whole, as j1
	a := f.submit("rich", 4000)
	b := f.submit("rich", 4000)
	f.submit("poor", 1000)
	for f.next() {
	}
	if s, ok := f.loop.Standing(b); !ok || s.Jobs != 1 || s.First[0] != a || s.Parked != 1 || s.Tenants != 1 || s.Waiting != 1 {
		t.Errorf("%+v %v, expected one ahead and the turn of one other tenant", s, ok)
	}
	if s, ok := f.loop.Standing("j4"); !ok || s.Jobs != 0 || s.Tenants != 0 || s.Waiting != 2 {
		t.Errorf("%+v %v, expected it to be first of all", s, ok)
	}
	for _, id := range []poise.JobID{"j1", "nobody"} {
		if s, ok := f.loop.Standing(id); ok {
			t.Errorf("job %s, which does not wait, stands at %+v", id, s)
		}
	}
}
