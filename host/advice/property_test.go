package advice

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Every waiting job is counted once; so many new nodes of a class hold all the jobs
// that it is to start, and one step after the other those that any class can; what
// is unneeded is empty; and the same state gives the same advice.
func TestAdviceProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var nodes, jobs []string
		for i := range rapid.IntRange(1, 4).Draw(r, "makes") {
			devices := ""
			if n := rapid.IntRange(0, 4).Draw(r, "gpus"); n > 0 {
				devices = fmt.Sprintf("\ndevices: {kind: gpu, count: %d}", n)
			}
			racks := rapid.SampledFrom([]string{"", "\nlabels: {rack: r1}"}).Draw(r, "racks")
			nodes = append(nodes, fmt.Sprintf("node: m%d\ncount: %d\ncapacity: {cpu: %d, memory: %dGi}%s%s", i,
				rapid.IntRange(1, 3).Draw(r, "nodes"), 1<<rapid.IntRange(1, 5).Draw(r, "cpu"), 1<<rapid.IntRange(2, 6).Draw(r, "memory"), devices, racks))
		}
		for i := range rapid.IntRange(1, 8).Draw(r, "shapes") {
			many := fmt.Sprint("count: ", rapid.IntRange(1, 9).Draw(r, "jobs"))
			if rapid.IntRange(0, 2).Draw(r, "gang") == 0 {
				size := rapid.IntRange(2, 5).Draw(r, "size")
				many = fmt.Sprintf("tasks: %d\nmin_tasks: %d", size, rapid.IntRange(1, size).Draw(r, "min"))
				many += rapid.SampledFrom([]string{"", "\ntopology: {key: rack, mode: pack}", "\ntopology: {key: rack, mode: spread}"}).Draw(r, "topology")
			}
			jobs = append(jobs, fmt.Sprintf("job: j%d\n%s\nrequest: {cpu: %d, memory: %dGi, gpu: %s}", i, many,
				rapid.IntRange(0, 20).Draw(r, "cores"), rapid.IntRange(0, 20).Draw(r, "gib"), rapid.SampledFrom([]string{"0", "0", "1", "2", "0.4"}).Draw(r, "ask")))
		}
		s := fleet(t, strings.Join(nodes, "\n---\n"), strings.Join(jobs, "\n---\n"))
		a, err := Gather(s).Advise()
		if err != nil {
			r.Fatal(err)
		}
		if again, _ := Gather(s).Advise(); !reflect.DeepEqual(again, a) {
			r.Fatal("other advice the second time")
		}
		helpless, started := 0, 0
		for _, h := range a.Helpless {
			helpless += h.Jobs
		}
		for _, step := range a.Together {
			started += step.Jobs
		}
		if a.Fits+a.Blocked+a.Over+a.Lacking != a.Waiting || started+helpless != a.Lacking {
			r.Fatalf("%+v does not add up", a)
		}
		for i := range a.Classes {
			c := &a.Classes[i]
			if held := packed(c, s); !held {
				r.Fatalf("%d nodes of %+v do not hold the jobs", c.More, c)
			}
			if c.Starts+c.Left != a.Lacking || c.AtLeast > c.More || c.More > c.Starts {
				r.Fatalf("%+v of %d jobs", c, a.Lacking)
			}
		}
		for _, u := range a.Unneeded {
			for _, name := range u.Nodes {
				if row, ok := s.Row(name); !ok || s.View().Running(row) != 0 {
					r.Fatalf("unneeded %q is not empty", name)
				}
			}
		}
	})
}

// packed tries the jobs that a class is to start on a state of so many new nodes of
// it, in the same order and each on the first node that the state lets it on.
func packed(c *Class, s *state.State) bool {
	nodes, err := state.New(state.Settings{})
	if err != nil {
		panic(err)
	}
	for i := range c.More {
		n := c.Node
		n.Name = fmt.Sprintf("%06d", i)
		if err := nodes.Apply(poise.Event{Index: nodes.Index() + 1, Body: poise.NodeJoined{Node: n}}); err != nil {
			panic(err)
		}
	}
	in := Gather(s)
	if _, err := in.fill(&Advice{}); err != nil {
		panic(err)
	}
	var k *kind
	for _, each := range kindsOf(in.snap) {
		if each.name == c.Name {
			k = each
		}
	}
	able, err := k.able(in.lacking())
	if err != nil {
		panic(err)
	}
	slices.SortStableFunc(able, func(a, b *group) int { return cmp.Compare(k.part(&b.job), k.part(&a.job)) })
	trial := state.NewTrial(nodes.View(), &state.Tentative{})
	started := 0
	for _, g := range able {
		for range g.lacking {
			placed := false
			for row := range uint32(c.More) {
				var devices []uint16
				if ask := &g.job.Shape.Request.Device; ask.Count > 0 {
					b := bin{}
					for _, free := range trial.View().Free(row) {
						b.free = append(b.free, int32(free))
					}
					taken, ok := b.devices(ask)
					if !ok {
						continue
					}
					slices.Sort(taken)
					for _, d := range taken {
						devices = append(devices, uint16(d))
					}
				}
				if placed = trial.Place(&g.job, row, devices) == nil; placed {
					started++
					break
				}
			}
			if !placed {
				return false
			}
		}
	}
	return started == c.Starts
}
