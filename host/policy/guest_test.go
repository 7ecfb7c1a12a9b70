package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

var _ sched.Plugin = (*Guest)(nil)

// fleet joins so many nodes of 64 cores and two gpus.
func fleet(w *world, nodes int) {
	w.t.Helper()
	for i := range nodes {
		w.apply(poise.NodeJoined{Node: poise.Node{
			Name: fmt.Sprintf("n%05d", i), Capacity: resource.List{{Name: "cpu", Value: 64000}},
			Devices: poise.Devices{Kind: "gpu", Count: 2},
		}})
	}
}

// asked is a batch about all rows, and what a guest said.
type asked struct {
	batch   state.Batch
	loss    []float64
	devices []uint32
	reasons []poise.Reason
}

func ask(w *world, g *Guest, job *state.Job) (*asked, error) {
	a := &asked{batch: state.Batch{Snap: w.state.View(), Job: job, Rows: w.rows()}}
	n := len(a.batch.Rows)
	a.loss, a.devices, a.reasons = make([]float64, n), make([]uint32, n), make([]poise.Reason, n)
	g.Prepare(a.batch.Snap, job)
	if err := g.Filter(&a.batch, a.reasons); err != nil {
		return a, err
	}
	return a, g.Score(&a.batch, a.loss, a.devices)
}

// Every wrong answer voids the call under its code, and the next call with an
// instance of its own is none the worse.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	fleet(w, 3)
	job := w.submit("t", request(1000, 1, 500), nil)
	f := func(params string, code abi.Code, detail string) {
		t.Helper()
		given := map[string]string{}
		for _, pair := range strings.Fields(params) {
			key, value, _ := strings.Cut(pair, "=")
			given[key] = value
		}
		g := guestOf(t, "answer", given)
		for range 2 { // the second time in a new instance
			_, err := ask(w, g, job)
			var fault *Fault
			switch {
			case code == "" && err != nil:
				t.Errorf("%s: %v, expected no fault", params, err)
			case code == "":
			case !errors.As(err, &fault) || fault.Code != code || !strings.Contains(fault.Detail, detail):
				t.Errorf("%s: %v, expected %s with %q", params, err, code, detail)
			case fault.Job != string(job.ID) || fault.Plugin != "answer 1.0.0" || fault.Digest == "" || fault.Export == "":
				t.Errorf("%s: %+v, expected job, plugin, digest and export", params, fault)
			}
		}
		if n := g.Counters().Read().Faults[code]; code != "" && n != 2 {
			t.Errorf("%s: %d faults counted, expected 2", params, n)
		}
	}
	f("", "", "")
	f("loss=1000", "", "")
	f("how=4", "", "") // minus zero is a loss
	f("mask=1", "", "")
	f("mask=2", "", "")
	f("reason=255", "", "")
	f("how=1", abi.CodeBadOutput, `loss of node "n00000": NaN, expected a finite number`)
	f("how=2", abi.CodeBadOutput, "+Inf")
	f("how=3", abi.CodeBadOutput, "-Inf")
	f("loss=1001", abi.CodeBadOutput, "1001, expected -1000 to 1000 as declared")
	f("mask=3", abi.CodeBadOutput, "mask 11, expected 1 devices with 500 milli free")
	f("mask=4", abi.CodeBadOutput, "mask 100")
	f("mask=-1", abi.CodeBadOutput, "mask 1111")
	f("reason=2", abi.CodeBadOutput, "2, expected 0 or a key of the manifest's reasons")
	f("reason=256", abi.CodeBadOutput, "256")
	f("reason=-1", abi.CodeBadOutput, "4294967295")
	f("status=7", abi.CodeStatus, "7, expected 0")
	f("how=5", abi.CodeTrap, "unreachable")
	f("how=6", abi.CodeBadOutput, "NaN") // wrote over all that the host had laid out
	f("spend=3000000", abi.CodeFuel, "units")
}

// Rows that cost more than the first call's worth are split until they fit, and
// the same answers come out; beyond the budget of the job, none do.
func TestFuelSplitsCalls(t *testing.T) {
	w := newWorld(t)
	fleet(w, 1000)
	job := w.submit("t", request(1000, 0, 0), nil)
	f := func(spend int, code abi.Code) poise.PluginUse {
		t.Helper()
		g := guestOf(t, "answer", map[string]string{"spend": fmt.Sprint(spend), "loss": "3"})
		a, err := ask(w, g, job)
		var fault *Fault
		if code == "" && err != nil || code != "" && (!errors.As(err, &fault) || fault.Code != code) {
			t.Fatalf("spend %d: %v, expected %q", spend, err, code)
		}
		if err == nil && slices.ContainsFunc(a.loss, func(l float64) bool { return l != 3 }) {
			t.Errorf("spend %d: a loss is not 3", spend)
		}
		return g.Use()
	}
	cheap, dear := f(1, ""), f(2000, "")
	if cheap.Calls > 6 || dear.Calls < 20 || cheap.Fuel >= dear.Fuel {
		t.Errorf("%d and %d calls, %d and %d units, expected few and many", cheap.Calls, dear.Calls, cheap.Fuel, dear.Fuel)
	}
	f(10000, abi.CodeFuel)
	if again := f(2000, ""); again != dear {
		t.Errorf("%+v, then %+v: expected the same calls and fuel", dear, again)
	}
}

// The audit finds a plugin that says it is row-pure and is not; from then on its
// answers are not kept, and each job finds it as after set-up.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	fleet(w, 5000)
	pure, keeps := guestOf(t, "answer", nil), guestOf(t, "answer", map[string]string{"keeps": "1"})
	f := func(g *Guest, impure bool) {
		t.Helper()
		for range 100 { // some of the calls are audited
			if _, err := ask(w, g, w.submit("t", request(1000, 0, 0), nil)); err != nil {
				t.Fatal(err)
			}
			if c := g.Counters().Read(); c.Audited >= 5000 || c.Impure > 0 {
				break
			}
		}
		if c := g.Counters().Read(); (c.Impure > 0) != impure || !impure && c.Audited < 5000 {
			t.Errorf("counts %+v, expected impure: %v", c, impure)
		}
		job := w.submit("t", request(1000, 0, 0), nil)
		before := g.Prepare(w.state.View(), job)
		a, err := ask(w, g, job)
		if err != nil {
			t.Fatal(err)
		}
		if a.loss[0] > 1 {
			t.Errorf("loss %v of the first row, expected an instance as after set-up", a.loss[0])
		}
		if again := g.Prepare(w.state.View(), job) != before; again != impure {
			t.Errorf("answers void: %v, expected %v", again, impure)
		}
	}
	f(pure, false)
	f(keeps, true)
}

// The answers to kept questions are void when the world changed, not else.
func TestEpoch(t *testing.T) {
	w := newWorld(t)
	fleet(w, 2)
	g := guestOf(t, "echo", nil)
	w.apply(g.Symbols())
	job := w.submit("t", request(1000, 0, 0), nil)
	epoch := g.Prepare(w.state.View(), job)
	f := func(what string, void bool) {
		t.Helper()
		next := g.Prepare(w.state.View(), job)
		if (next != epoch) != void || next < epoch {
			t.Errorf("%s: epoch %d after %d, expected another one: %v", what, next, epoch, void)
		}
		epoch = next
	}
	f("nothing", false)
	w.apply(poise.NodeJoined{Node: poise.Node{Name: "x", Capacity: resource.List{{Name: "cpu", Value: 1}}}})
	f("a node joined", true)
	w.apply(poise.NodeMarked{Name: "x", Drained: true})
	f("a node was drained", true) // echo wants domains, which count its tasks
	w.apply(poise.ProfileBuilt{Demand: &poise.Demand{Epoch: 1, Total: 1, Kinds: []poise.TaskKind{{CPU: 1, Times: 1}}}})
	f("a new profile", true)
	f("nothing", false)
}

func TestKey(t *testing.T) {
	w := newWorld(t)
	g := guestOf(t, "echo", nil) // tenant_tasks, job_tasks, domains
	a, b := w.submit("red", request(1, 0, 0), nil), w.submit("blue", request(1, 0, 0), nil)
	if a.Shape != b.Shape || g.Key(a) == g.Key(b) {
		t.Errorf("keys %q and %q, expected two: the tenants differ", g.Key(a), g.Key(b))
	}
	if g := guestOf(t, "answer", nil); g.Key(a) != g.Key(b) {
		t.Errorf("keys %q and %q, expected one", g.Key(a), g.Key(b))
	}
}

func TestParameters(t *testing.T) {
	m := guestOf(t, "answer", nil).Module()
	_, err := NewGuest(m, map[string]string{"colour": "red"})
	var fault *Fault
	if !errors.As(err, &fault) || fault.Code != abi.CodeConfigure || !strings.Contains(fault.Detail, "parameter colour: unknown") {
		t.Errorf("%v, expected a fault of code configure", err)
	}
}

func TestCut(t *testing.T) {
	f := func(rows []uint32, limit int, want window) {
		t.Helper()
		numbers := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
		for len(numbers) < 300 {
			if got := cut(rows, limit, numbers); got != want {
				t.Errorf("%v up to %d, %d numbers: %+v, expected %+v", rows, limit, len(numbers), got, want)
			}
			for range 140 {
				numbers = append(numbers, uint32(len(numbers)))
			}
		}
	}
	f([]uint32{5}, 64, window{candidates: 1, rows: 1, end: 6})
	f([]uint32{5, 6, 8}, 64, window{candidates: 3, rows: 4, end: 9})
	f([]uint32{5, 6, 8}, 2, window{candidates: 2, rows: 2})
	f([]uint32{5, 90}, 64, window{candidates: 2, rows: 2})
	f([]uint32{8, 6, 5}, 64, window{candidates: 3, rows: 3})
	f([]uint32{1, 2, 3, 90}, 2, window{candidates: 2, rows: 2})
	f([]uint32{4, 5, 6, 7, 8, 9, 11}, 64, window{candidates: 7, rows: 8, end: 12})
	f([]uint32{4, 5, 6, 7, 8, 10, 9}, 64, window{candidates: 7, rows: 7})
	f([]uint32{4, 5, 6, 6, 7}, 64, window{candidates: 5, rows: 5})
	long := make([]uint32, 200)
	for i := range long {
		long[i] = uint32(i + 10)
	}
	f(long, 1000, window{candidates: 200, rows: 200, end: 210})
	f(long, 130, window{candidates: 130, rows: 130, end: 140})
	long[100]--
	f(long, 1000, window{candidates: 100, rows: 100, end: 110})
}

// Candidate bits are those of the rows asked about.
func TestCandidates(t *testing.T) {
	w := newWorld(t)
	fleet(w, 200)
	g := guestOf(t, "answer", nil)
	job := w.submit("t", request(1, 0, 0), nil)
	g.Prepare(w.state.View(), job)
	rows := []uint32{3, 4, 6, 70, 71}
	s, fault := g.slotFor(128)
	if fault != nil {
		t.Fatal(fault)
	}
	bits := func(win window) (at []int) {
		g.lay(s, win, rows)
		for r := range s.layout.Sizes.Rows {
			if s.arena()[s.layout.Candidate+r/8]>>(r%8)&1 != 0 {
				at = append(at, r)
			}
		}
		return at
	}
	if got := bits(window{candidates: 5, rows: 5}); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("picked rows: bits %v", got)
	}
	if got := bits(window{candidates: 5, rows: 69, end: 72}); !slices.Equal(got, []int{0, 1, 3, 67, 68}) {
		t.Errorf("a block: bits %v", got)
	}
}

func TestSum(t *testing.T) {
	var s sum
	for range 10 {
		s.add(math.MaxInt64)
	}
	if got, want := s.double(), 10*float64(math.MaxInt64); math.Abs(got-want) > want*1e-15 {
		t.Errorf("%v, expected %v", got, want)
	}
	for range 10 {
		s.sub(math.MaxInt64)
	}
	if s != (sum{}) {
		t.Errorf("%+v, expected 0", s)
	}
}

// Nothing that a pass or its guest left in the arena is there for the next one.
func TestArenaStartsEmpty(t *testing.T) {
	w := newWorld(t)
	fleet(w, 200)
	g := guestOf(t, "echo", nil)
	g.impure.Store(true) // a row-pure one is lent its columns from pass to pass
	w.apply(g.Symbols())
	job := w.submit("t", request(1, 0, 0), nil)
	lay := func(rows int, spoil bool) []byte {
		g.Prepare(w.state.View(), job)
		s, fault := g.slotFor(128)
		if fault != nil {
			t.Fatal(fault)
		}
		g.lay(s, window{candidates: rows, rows: rows, end: rows}, w.rows())
		arena := slices.Clone(s.arena())
		if spoil {
			for i := range s.arena() {
				s.arena()[i] = 0xa5
			}
		}
		return arena
	}
	for _, rows := range []int{1, 65, 128} {
		clean := lay(rows, true)
		if again := lay(rows, false); !slices.Equal(again, clean) {
			t.Errorf("%d rows: the arena differs from that of the pass before", rows)
		}
	}
}
