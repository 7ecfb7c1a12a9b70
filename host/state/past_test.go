package state

import (
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// ago is what past does, worked out from every stretch of time in which nothing
// changed, in numbers without bounds.
type ago struct {
	half, now int64
	held      map[shareOf]map[string]int64
	sums      map[shareOf]map[string]*big.Int
}

// advance goes to a time in steps that end at each multiple of the half-life.
func (a *ago) advance(to int64) {
	for a.now < to {
		next := to
		if a.half > 0 {
			for next = a.now + 1; next < to && next%a.half != 0; {
				next++
			}
		}
		for of, held := range a.held {
			for name, v := range held {
				if a.half == 0 {
					continue
				}
				if a.sums[of] == nil {
					a.sums[of] = map[string]*big.Int{}
				}
				if a.sums[of][name] == nil {
					a.sums[of][name] = new(big.Int)
				}
				a.sums[of][name].Add(a.sums[of][name], new(big.Int).Mul(big.NewInt(v), big.NewInt(next-a.now)))
			}
		}
		a.now = next
		if a.half > 0 && next%a.half == 0 {
			for _, sums := range a.sums {
				for _, v := range sums {
					v.Rsh(v, 1)
				}
			}
		}
	}
}

func (a *ago) hold(of shareOf, name string, v int64) {
	if a.held[of] == nil {
		a.held[of] = map[string]int64{}
	}
	a.held[of][name] += v
}

// What tenants held is what adding it up for each millisecond gives, whenever it
// is looked at; and a state that was written down goes on as the one that was not.
func TestPastIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.SampledFrom([]int64{1, 7, 100, 1000}).Draw(t, "half-life")
		s, err := New(Settings{})
		if err != nil {
			t.Fatal(err)
		}
		a := &ago{half: half, held: map[shareOf]map[string]int64{}, sums: map[shareOf]map[string]*big.Int{}}
		do := func(body poise.Body) {
			if err := s.Apply(poise.Event{Index: s.Index() + 1, At: poise.Time(a.now), Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		const whole = 1 << 40
		do(poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: poise.Span(half)}})
		do(poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: resource.List{{Name: "cpu", Value: whole}, {Name: "memory", Value: whole}}}})
		do(poise.TenantSet{Tenant: poise.Tenant{ID: "org"}})
		do(poise.TenantSet{Tenant: poise.Tenant{ID: "a", Parent: "org"}})
		running := map[string]poise.Job{}
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			a.advance(a.now + rapid.OneOf(rapid.Int64Range(0, 3*half), rapid.Int64Range(0, 200)).Draw(t, "time"))
			tenant := rapid.SampledFrom([]poise.TenantID{"org", "a", "b"}).Draw(t, "tenant")
			id, sign := fmt.Sprint("j", i), int64(1)
			j := poise.Job{ID: poise.JobID(id), Name: id, Tenant: tenant, Tasks: 1, Request: poise.Request{Amounts: resource.List{
				{Name: "cpu", Value: rapid.Int64Range(0, whole/64).Draw(t, "cpu")}, {Name: "memory", Value: rapid.Int64Range(0, whole/64).Draw(t, "memory")},
			}}}
			if old := fmt.Sprint("j", rapid.IntRange(0, i).Draw(t, "old")); running[old].ID != "" {
				j, sign = running[old], -1
				delete(running, old)
				do(poise.JobFinished{Job: j.ID})
			} else {
				running[id] = j
				do(poise.JobSubmitted{Job: j})
				do(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: "n"}})
			}
			charged := []shareOf{{j.Tenant, true}, {j.Tenant, false}}
			if j.Tenant == "a" {
				charged = append(charged, shareOf{"org", false})
			}
			for _, of := range charged {
				for _, amount := range j.Request.Amounts {
					a.hold(of, amount.Name, sign*amount.Value)
				}
			}
			if rapid.Bool().Draw(t, "written down") {
				s = writtenDown(t, s, 0)
			}
			for _, of := range []shareOf{{"org", true}, {"org", false}, {"a", false}, {"b", true}, {"b", false}} {
				want := 0.0
				for _, v := range a.sums[of] {
					part, _ := new(big.Float).SetInt(v).Float64()
					want = max(want, part/(whole*float64(half)))
				}
				if got := s.PastShare(of.tenant, of.own); got != want {
					t.Fatalf("at %d %+v: past share %v, want %v", a.now, of, got, want)
				}
			}
		}
	})
}

func cores(n int64) poise.Request {
	return poise.Request{Amounts: resource.List{{Name: "cpu", Value: n}}}
}

// An idle tenant's past halves with every half-life; holding a part all the time
// is between once and twice that part, whatever the time that has passed.
func TestPastShare(t *testing.T) {
	const hour = 3_600_000
	d := newDriver(t, 0)
	at := func(now poise.Time, body poise.Body) {
		t.Helper()
		if err := d.Apply(poise.Event{Index: d.Index() + 1, At: now, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(tenant poise.TenantID, own bool, want float64) {
		t.Helper()
		if got := d.PastShare(tenant, own); got != want {
			t.Errorf("%s: past share %v, want %v", tenant, got, want)
		}
	}
	tick := func(now poise.Time) {
		t.Helper()
		at(now, poise.NodeMarked{Name: "n"})
	}
	at(0, poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: resource.List{{Name: "cpu", Value: 8}}}})
	at(0, submitted("j", cores(2)))
	at(0, placed("j", "n"))
	tick(hour)
	f("t", false, 0) // off
	at(hour, poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: hour}})
	tick(hour + hour/2)
	f("t", false, 0.125)
	tick(2 * hour)
	f("t", false, 0.125) // 0.25, halved
	f("t", true, 0.125)
	f("other", false, 0)
	tick(1_000_000 * hour)
	f("t", false, float64(2*hour-1)/float64(8*hour)) // each halving drops half a unit
	at(1_000_000*hour, poise.TenantSet{Tenant: poise.Tenant{ID: "org"}})
	at(1_000_000*hour, poise.TenantSet{Tenant: poise.Tenant{ID: "t", Parent: "org"}})
	f("org", false, float64(2*hour-1)/float64(8*hour))
	f("org", true, 0)
	at(1_000_000*hour, poise.JobFinished{Job: "j"})
	tick(1_000_002 * hour)
	past := d.PastShare("t", false)
	if past < 0.0624 || past > 0.0625 {
		t.Errorf("two half-lives after the end: %v, want about 1/16", past)
	}
	tick(1_000_001 * hour) // a clock that was set back
	f("t", false, past)
	at(1_000_002*hour, poise.TenantRemoved{Tenant: "t"})
	f("t", false, 0)
	f("org", false, 0)
	at(1_000_002*hour, poise.SchedulerSet{})
	if im := d.Image(); im.Past != nil {
		t.Errorf("without a half-life: %+v", im.Past)
	}
	err := d.Apply(poise.Event{Index: d.Index() + 1, Body: poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: -1}}})
	if poise.KindOf(err) != poise.Invalid {
		t.Errorf("a negative half-life: %v", err)
	}
}

// Another half-life goes on with what there is.
func TestPastUnderAnotherHalfLife(t *testing.T) {
	d := newDriver(t, 0)
	at := func(now poise.Time, body poise.Body) {
		t.Helper()
		if err := d.Apply(poise.Event{Index: d.Index() + 1, At: now, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	at(0, poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: 1000}})
	at(0, poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: resource.List{{Name: "cpu", Value: 8}}}})
	at(0, submitted("j", cores(2)))
	at(0, placed("j", "n"))
	at(500, poise.SchedulerSet{Scheduler: poise.Scheduler{UsageHalfLife: 10_000}})
	at(500, poise.JobFinished{Job: "j"})
	want := []PastImage{
		{Tenant: "t", Own: true, Until: 500, Sums: []PastSum{{"cpu", 0, 1000}}},
		{Tenant: "t", Until: 500, Sums: []PastSum{{"cpu", 0, 1000}}},
	}
	if got := d.Image().Past; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
