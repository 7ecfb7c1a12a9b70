package loop

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// The example of the DRF paper with weights (section 4.3): with twice the weight,
// A's tasks count half, so it has 3 of them before B has its second.
func TestWeightedDominantResourceFairness(t *testing.T) {
	f := newFair(t, amounts(9, 18))
	f.tenant("a", "", 2, amounts(1, 4))
	f.tenant("b", "", 0, amounts(3, 1))
	// Shares over weights: B 1/3; A 1/9, 2/9, 1/3; B came first of two equal ones.
	if got, want := f.turns(5, "b", "a"), "b a a a b"; got != want {
		t.Errorf("order %s, expected %s", got, want)
	}
	f = newFair(t, amounts(9, 18))
	f.tenant("a", "", 0, amounts(1, 4))
	f.tenant("b", "", 3, amounts(3, 1))
	// B 1/9, A 2/9, B 2/9, then A's second job, which came before B's third; for
	// that one there is one core left, which A takes.
	if got, want := f.turns(5, "b", "a"), "b a b a a"; got != want {
		t.Errorf("order %s, expected %s", got, want)
	}
}

// A tenant that used much goes after one that did not, until it counts no more;
// without a half-life the past counts nothing.
func TestPastUseGoesLast(t *testing.T) {
	const hour = 3_600_000
	f := func(half poise.Span, idle poise.Time, want string) {
		t.Helper()
		f := newFair(t, amounts(4000, 4000))
		f.apply(poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: half}})
		f.tenant("heavy", "", 0, amounts(1000, 0))
		f.tenant("light", "", 0, amounts(1000, 0))
		f.turns(4, "heavy")
		f.now += 2 * hour
		for _, j := range f.loop.State().All() {
			f.apply(poise.JobFinished{Job: j.ID})
		}
		f.now += idle
		if got := f.turns(4, "heavy", "light"); got != want {
			t.Errorf("half-life %d ms, %d ms later: order %s, expected %s", half, idle, got, want)
		}
	}
	f(0, 0, "heavy light heavy light")
	f(hour, 0, "light light light heavy")    // (1/2 + 1)/2 held before
	f(hour, hour, "light light heavy light") // 3/8
	f(hour, 20*hour, "light heavy light heavy")
	f(hour, 100*hour, "heavy light heavy light")
}

// Past use is divided by the weight, as what is held now is, and counts for those
// above.
func TestPastUseOfATree(t *testing.T) {
	const hour = 3_600_000
	f := newFair(t, amounts(4000, 4000))
	f.apply(poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: hour}})
	f.tenant("org", "", 0, nil)
	f.tenant("team", "org", 0, amounts(1000, 0))
	f.tenant("fresh", "org", 0, amounts(1000, 0))
	f.tenant("solo", "", 0, amounts(1000, 0))
	f.turns(1, "team")
	f.now += 2 * hour
	for _, j := range f.loop.State().All() {
		f.apply(poise.JobFinished{Job: j.ID})
	}
	order := f.turns(3, "team", "fresh", "solo")
	if !strings.HasPrefix(order, "solo") || strings.Index(order, "fresh") > strings.Index(order, "team") && strings.Contains(order, "team") {
		t.Errorf("order %s, expected solo first, and fresh before team", order)
	}
}
