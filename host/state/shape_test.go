package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// run submits a job of one cpu amount and withdraws it; the result is its
// shape.
func (d *driver) run(t fataler, cpu int) *Shape {
	t.Helper()
	id := poise.JobID(fmt.Sprint("job", d.Index()))
	d.do(t, submitted(string(id), poise.Request{Amounts: amounts("cpu", cpu)}))
	shape := d.Job(id).Shape
	d.do(t, poise.JobWithdrawn{Job: id})
	return shape
}

func TestShapesAreShared(t *testing.T) {
	d := newDriver(t, 0)
	r := poise.Request{Amounts: amounts("cpu", 1, "memory", 2), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500, Models: []string{"A100"}}}
	for i := range 3 {
		j := job(fmt.Sprint("j", i), r)
		j.Name, j.Priority, j.RunTime = fmt.Sprint("name", i), int32(i), poise.Span(i) // none is part of a shape
		d.do(t, poise.JobSubmitted{Job: j})
	}
	if d.Job("j0").Shape != d.Job("j2").Shape || d.Shapes() != 1 {
		t.Errorf("equal requests have %d shapes, expected one", d.Shapes())
	}
	// What a job was submitted with stays its own.
	r.Amounts[0].Value, r.Device.Models[0] = 7, "H100"
	if got := d.Job("j0").Shape.Request; got.Amounts[0].Value != 1 || got.Device.Models[0] != "A100" {
		t.Errorf("the shape follows a slice of the event: %+v", got)
	}
	if got := d.Demand()[0].Models[0]; got != "A100" {
		t.Errorf("the demand follows a slice of the event: %s", got)
	}
}

// Requests that differ anywhere have different shapes, also where their texts
// run together to the same.
func TestShapesDiffer(t *testing.T) {
	d := newDriver(t, 0)
	submit := func(change func(j *poise.Job)) {
		j := job(fmt.Sprint("j", d.Jobs()), poise.Request{Amounts: amounts("a", 1, "b", 1)})
		change(&j)
		d.do(t, poise.JobSubmitted{Job: j})
		if d.Shapes() != d.Jobs() {
			t.Errorf("job %+v has the shape of another", j)
		}
	}
	device := func(kind string, count, milli int32, models ...string) func(*poise.Job) {
		return func(j *poise.Job) {
			j.Request.Device = poise.DeviceRequest{Kind: kind, Count: count, Milli: milli, Models: models}
		}
	}
	selector := func(s ...poise.Selector) func(*poise.Job) { return func(j *poise.Job) { j.Selectors = s } }
	toleration := func(o ...poise.Toleration) func(*poise.Job) { return func(j *poise.Job) { j.Tolerations = o } }
	for _, l := range [][]any{{}, {"a", 1}, {"a", 1, "b", 1}, {"a", 1, "b", 0}, {"a", 0, "b", 1}, {"ab", 1}, {"a", 11}, {"a", 0}} {
		submit(func(j *poise.Job) { j.Request.Amounts = amounts(l...) })
	}
	submit(device("gpu", 1, 1000))
	submit(device("gpu", 1, 100))
	submit(device("gpu", 10, 1000))
	submit(device("npu", 1, 1000))
	submit(device("gpu", 1, 1000, "A", "B"))
	submit(device("gpu", 1, 1000, "AB"))
	submit(selector(poise.Selector{Key: "k", Op: poise.In, Values: []string{"a", "b"}}))
	submit(selector(poise.Selector{Key: "k", Op: poise.In, Values: []string{"ab"}}))
	submit(selector(poise.Selector{Key: "k", Op: poise.NotIn, Values: []string{"ab"}}))
	submit(selector(poise.Selector{Key: "ka", Op: poise.In, Values: []string{"b"}}))
	submit(selector(poise.Selector{Key: "k", Op: poise.Exists}))
	submit(selector(poise.Selector{Key: "k", Op: poise.Exists}, poise.Selector{Key: "k", Op: poise.Exists}))
	submit(toleration(poise.Toleration{Key: "k"}))
	submit(toleration(poise.Toleration{Key: "k", Exists: true}))
	submit(toleration(poise.Toleration{Key: "k", Effect: poise.NoExecute}))
	submit(toleration(poise.Toleration{Key: "k", Value: "v"}))
	submit(toleration(poise.Toleration{Key: "kv"}))
	submit(toleration(poise.Toleration{Key: "k"}, poise.Toleration{Key: "v"}))
}

// Short jobs of one shape that come one after the other keep it, with up to
// 1,024 other shapes between them.
func TestShapesLinger(t *testing.T) {
	d := newDriver(t, 0)
	first := d.run(t, 0)
	for range 3 {
		for cpu := 1; cpu <= lingering; cpu++ {
			if d.run(t, cpu); d.Shapes() != 0 {
				t.Fatalf("%d shapes in use by no job", d.Shapes())
			}
			if cpu%100 == 0 && d.run(t, 0) != first {
				t.Fatal("a shape that is used again and again was forgotten")
			}
		}
	}
	for cpu := range lingering {
		d.run(t, 1_000_000+cpu)
	}
	again := d.run(t, 0)
	if again == first || again.ID <= first.ID {
		t.Errorf("shape %d came back as %d after %d others, expected a new one", first.ID, again.ID, lingering)
	}
	if len(d.shapes.byKey) != lingering {
		t.Errorf("%d shapes linger, expected %d", len(d.shapes.byKey), lingering)
	}
}

// Any use and release of shapes gives what a plain list of the idle ones gives.
func TestShapesAreTheirModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shapes{byKey: map[string]*Shape{}}
		used := map[*Shape]int{}
		var idle []*Shape // the oldest first
		fill := rapid.SampledFrom([]int{0, lingering - 2}).Draw(t, "filler")
		for i := range fill {
			j := job("f", poise.Request{Amounts: amounts("filler", i)})
			shape := s.acquire(&j)
			s.release(shape)
			idle = append(idle, shape)
		}
		var held []*Shape
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				shape := held[i]
				held = slices.Delete(held, i, i+1)
				s.release(shape)
				if used[shape]--; used[shape] == 0 {
					delete(used, shape)
					idle = append(idle, shape)
					idle = idle[max(len(idle)-lingering, 0):]
				}
			} else {
				j := job("j", poise.Request{Amounts: amounts("cpu", rapid.IntRange(0, 8).Draw(t, "cpu"))})
				shape := s.acquire(&j)
				if i := slices.Index(idle, shape); i >= 0 {
					idle = slices.Delete(idle, i, i+1)
				}
				used[shape]++
				held = append(held, shape)
			}
			if s.used() != len(used) || s.idle != len(idle) || len(s.byKey) != len(used)+len(idle) {
				t.Fatalf("%d used, %d idle of %d, expected %d and %d", s.used(), s.idle, len(s.byKey), len(used), len(idle))
			}
			at := s.oldest
			for i, shape := range idle {
				if at != shape || s.byKey[shape.key] != shape {
					t.Fatalf("idle shape %d is %v, expected %v", i, at, shape)
				}
				at = at.newer
			}
			if at != nil || len(idle) > 0 && s.newest != idle[len(idle)-1] {
				t.Fatal("the list of idle shapes does not end where it should")
			}
		}
	})
}
