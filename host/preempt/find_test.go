package preempt

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

var (
	off        = Settings{}
	byPriority = Settings{Priority: true}
	byReclaim  = Settings{Reclaim: true}
	both       = Settings{Priority: true, Reclaim: true}
)

func TestPriority(t *testing.T) {
	w := newWorld(t)
	f := func(s Settings, id, want string) {
		t.Helper()
		if got := w.find(s, id); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	w.node("n1", 8, 0)
	w.node("n2", 8, 0)
	w.runs("n1", job("a", "t!5", 4, 0))
	w.now = 10
	w.runs("n1", job("b", "t!1", 2, 0))
	w.runs("n1", job("c", "t!1", 2, 0))
	w.runs("n2", job("d", "t!3", 6, 0))
	w.runs("n2", job("e", "u!0", 2, 0))
	w.now = 20
	w.waits(job("2", "t!4", 2, 0))
	w.waits(job("4", "t!4", 4, 0))
	w.waits(job("6", "t!4", 6, 0))
	w.waits(job("8", "t!9", 8, 0))
	w.waits(job("low", "t!1", 1, 0))
	w.waits(job("other", "u!9", 8, 0))
	w.waits(job("stranger", "v!9", 1, 0))
	f(off, "8", "none")
	f(byReclaim, "8", "none")
	f(byPriority, "2", "b on n1") // the lowest priority; of two, the one that came first
	f(byPriority, "4", "b c on n1")
	f(byPriority, "6", "d on n2") // one of a higher priority, where the low ones are not enough
	f(byPriority, "8", "a b c on n1")
	f(byPriority, "low", "none") // the same priority displaces nobody
	f(byPriority, "other", "none")
	f(byPriority, "stranger", "none") // a priority is one's own tenant's
	// A tenant may displace what those under it run, but for what they are
	// guaranteed.
	w.guarantee("v", "")
	w.guarantee("u", "v")
	f(byPriority, "stranger", "e on n2")
	w.guarantee("u", "v", "cpu=1")
	f(byPriority, "stranger", "none")
}

func TestVictimsAreFewAndNeeded(t *testing.T) {
	w := newWorld(t)
	f := func(cpu int64, want string) {
		t.Helper()
		id := "p"
		w.waits(job(id, "t!9", cpu, 0))
		if got := w.find(byPriority, id); got != want {
			t.Errorf("cpu %d: %s, expected %s", cpu, got, want)
		}
		w.do(poise.JobWithdrawn{Job: poise.JobID(id)})
	}
	w.node("n1", 10, 0)
	for i, cpu := range []int64{1, 1, 1, 4, 3} {
		w.runs("n1", job(string(rune('a'+i)), "t", cpu, 0))
	}
	f(1, "a on n1")
	f(3, "d on n1") // one that is enough, not three
	f(4, "d on n1")
	f(5, "a d on n1")
	f(10, "a b c d e on n1")
	f(11, "none")
	// On another node the same number, with less work to be done again.
	w.now = 100
	w.node("n0", 10, 0)
	w.runs("n0", job("x", "t", 9, 0))
	f(4, "x on n0")
	w.now = 101
	f(4, "x on n0")
}

func TestReclaim(t *testing.T) {
	w := newWorld(t)
	f := func(s Settings, id, want string) {
		t.Helper()
		if got := w.find(s, id); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	w.node("n1", 8, 4)
	w.guarantee("owner", "", "cpu=4", "gpu=2000")
	w.guarantee("guest", "", "cpu=3")
	w.runs("n1", job("a", "guest!9", 3, 1000))
	w.runs("n1", job("b", "guest!9", 3, 1000))
	w.runs("n1", job("c", "stranger!9", 2, 0))
	w.waits(job("1", "owner", 1, 0))
	w.waits(job("4", "owner", 4, 0))
	w.waits(job("5", "owner", 5, 0))
	w.waits(job("gpu3", "owner", 0, 3000))
	w.waits(job("gpu2", "owner", 2, 2000))
	w.waits(job("nothing", "other!9", 1, 0))
	f(byPriority, "1", "none")
	f(both, "1", "a on n1") // guest keeps the 3 that it is guaranteed
	f(byReclaim, "4", "a c on n1")
	f(byReclaim, "5", "none") // beyond its own guarantee
	f(byReclaim, "gpu3", "none")
	f(byReclaim, "gpu2", "a on n1")
	f(byReclaim, "nothing", "none")
	// Nobody falls below what he is guaranteed of what is lacking.
	w.guarantee("guest", "", "cpu=4")
	f(byReclaim, "4", "none")
	w.guarantee("guest", "", "cpu=6")
	w.guarantee("stranger", "", "cpu=1")
	f(byReclaim, "1", "none")
	// What is not lacking does not count: there is cpu, and of gpu nothing is
	// guaranteed to guest.
	w.do(poise.JobFinished{Job: "c"})
	w.runs("n1", job("d", "stranger", 0, 2000))
	f(byReclaim, "gpu2", "d on n1")
	w.guarantee("stranger", "", "gpu=2000")
	f(byReclaim, "gpu2", "a b on n1")
}

// A guarantee holds for all that are under a tenant, and against those outside.
func TestReclaimInATree(t *testing.T) {
	w := newWorld(t)
	f := func(id, want string) {
		t.Helper()
		if got := w.find(byReclaim, id); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	w.node("n1", 8, 0)
	w.guarantee("org", "", "cpu=6")
	w.guarantee("team", "org", "cpu=2")
	w.guarantee("mate", "org")
	w.guarantee("else", "", "cpu=4")
	w.guarantee("part", "else", "cpu=1")
	w.runs("n1", job("own", "org", 2, 0))
	w.runs("n1", job("mates", "mate", 2, 0))
	w.runs("n1", job("parts", "part", 4, 0))
	w.waits(job("2", "team", 2, 0))
	w.waits(job("3", "team", 3, 0))
	w.waits(job("m", "mate", 2, 0))
	f("2", "own on n1") // else would keep less than 4
	f("3", "none")      // beyond what team is guaranteed, and org has 4 + 3 > 6
	f("m", "none")
	w.guarantee("else", "", "cpu=0")
	f("m", "none") // part keeps 1
	w.guarantee("part", "else")
	f("m", "parts on n1") // org stays within its 6
}

func TestCoolDown(t *testing.T) {
	w := newWorld(t)
	s := Settings{Priority: true, Reclaim: true, Cooldown: 100}
	f := func(id, want string) {
		t.Helper()
		if got := w.find(s, id); got != want {
			t.Errorf("at %d, %s: %s, expected %s", w.now, id, got, want)
		}
	}
	w.now = 1000
	w.node("n1", 4, 0)
	w.guarantee("u", "", "cpu=4")
	w.runs("n1", job("low", "t!1", 4, 0))
	w.waits(job("high", "t!2", 4, 0))
	w.waits(job("higher", "t!3", 4, 0))
	w.waits(job("owner", "u", 4, 0))
	f("high", "low on n1") // it was never displaced before
	w.do(poise.JobPreempted{Job: "low", By: "high", Until: 1001})
	f("higher", "none") // it ends already
	w.do(poise.JobRequeued{Job: "low"})
	w.place("high", "n1")
	w.now = 1010
	f("higher", "high on n1")         // priorities do not go round in a circle
	f("owner", "none, again at 1100") // rights may: it runs as long first
	w.do(poise.JobPreempted{Job: "high", By: "higher"}, poise.JobRequeued{Job: "high"})
	f("higher", "none")
	w.place("low", "n1")
	w.now = 1020
	f("high", "none, again at 1110") // once displaced, it runs as long before the next time
	w.now = 1110
	f("high", "low on n1")
	// Nobody is displaced twice by one that has not started in between.
	w.do(poise.JobPreempted{Job: "low", By: "high"}, poise.JobRequeued{Job: "low"})
	w.place("low", "n1")
	w.now = 2000
	f("high", "none")
	w.do(poise.JobFinished{Job: "low"})
	w.place("high", "n1")
	w.do(poise.JobRequeued{Job: "high"})
	w.runs("n1", job("low2", "t!1", 4, 0))
	f("high", "low2 on n1")
}

func TestExtras(t *testing.T) {
	w := newWorld(t)
	s := Settings{Priority: true, Patience: 50, Hold: 100}
	f := func(s Settings, id, want string) {
		t.Helper()
		if got := w.find(s, id); got != want {
			t.Errorf("at %d, %s: %s, expected %s", w.now, id, got, want)
		}
	}
	w.node("n1", 8, 0)
	w.node("n2", 4, 0)
	w.gang("g", "t!9", 5, 2, 2, nil)
	w.starts("g", "n1", "n1", "n1", "n1", "n2")
	w.runs("n2", job("low", "u!-5", 2, 0))
	w.now = 60
	w.waits(job("p", "u!5", 2, 0))
	f(byPriority, "p", "g2 on n1") // whatever is set, before anyone else
	f(off, "p", "g2 on n1")
	f(s, "p", "low on n2, again at 110")
	w.now = 120
	f(s, "p", "g2 on n1")
	w.waits(job("4", "u!5", 4, 0))
	w.now = 200
	f(s, "4", "g2 g3 on n1")
	f(off, "4", "g2 g3 on n1")
	w.waits(job("8", "u!5", 8, 0))
	w.now = 300
	f(off, "8", "none") // never fewer than start together
	f(byPriority, "8", "none")
	// The members that start together end as a whole, with the extra ones.
	w.waits(job("mine", "t!10", 6, 0))
	w.now = 400
	f(byPriority, "mine", "g0 g1 g2 g3 g4 on n1")
	f(off, "mine", "none")
	// What is extra takes nothing from others.
	w.do(poise.JobRequeued{Job: "g4"})
	w.runs("n2", job("low2", "t!0", 2, 0))
	f(byPriority, "g4", "none")
}

func TestGangsDisplace(t *testing.T) {
	rack := func(v string) poise.Label { return poise.Label{Key: "rack", Value: v} }
	w := newWorld(t)
	f := func(id, want string) {
		t.Helper()
		if got := w.find(byPriority, id); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	w.node("n1", 4, 0, rack("a"))
	w.node("n2", 4, 0, rack("b"))
	w.node("n3", 4, 0, rack("b"))
	w.runs("n1", job("a", "t!0", 2, 0))
	w.runs("n1", job("b", "t!7", 2, 0))
	w.runs("n2", job("c", "t!1", 2, 0))
	w.runs("n3", job("d", "t!2", 2, 0))
	w.gang("g", "t!5", 4, 0, 2, nil)
	f("g0", "a c on n2 n3 n1 n2")
	w.gang("h", "t!5", 3, 2, 4, nil)
	f("h0", "c d on n2 n3")
	w.gang("k", "t!5", 4, 4, 2, &poise.Topology{Key: "rack", Mode: poise.TopologyPack})
	f("k0", "c d on n2 n3 n2 n3")
	w.gang("s", "t!5", 4, 4, 2, &poise.Topology{Key: "rack", Mode: poise.TopologySpread, MaxSkew: 1})
	f("s0", "none")
	w.gang("big", "t!5", 4, 4, 4, nil)
	f("big0", "none")
}

// Devices come back one by one, and shares of one add up.
func TestDevices(t *testing.T) {
	w := newWorld(t)
	f := func(id, want string) {
		t.Helper()
		if got := w.find(byPriority, id); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	w.node("n1", 8, 2)
	w.runs("n1", job("a", "t!1", 0, 600))
	w.runs("n1", job("b", "t!0", 0, 300))
	w.runs("n1", job("c", "t!0", 0, 500)) // on the second
	w.waits(job("700", "t!9", 0, 700))
	w.waits(job("whole", "t!9", 0, 1000))
	w.waits(job("two", "t!9", 0, 2000))
	f("700", "c on n1")
	f("whole", "c on n1")
	f("two", "a b c on n1")
	w.do(poise.NodeMarked{Name: "n1", Drained: true})
	f("two", "none")
}
