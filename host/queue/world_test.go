package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// world is a small fleet with two dimensions and a first-fit scheduler, to see
// that parking and waking lose nothing.
type world struct {
	idle    [][2]int64
	drained []bool
	version uint64
	running []placed
	starts  []string // "job node", in order
}

type placed struct {
	item Item
	node int
}

func (w *world) clone() *world {
	return &world{idle: slices.Clone(w.idle), drained: slices.Clone(w.drained), version: w.version}
}

// ask is the request of a shape: 1 to 4 of dimension 0, 0 to 3 of dimension 1.
func ask(shape ShapeID) [2]int64 { return [2]int64{int64(shape)%4 + 1, int64(shape) / 4} }

// fit gives the first node that holds the shape, or -1 and one cause per node.
func (w *world) fit(shape ShapeID) (int, Causes) {
	blocked := Joined
	a := ask(shape)
	for n := range w.idle {
		switch {
		case w.drained[n]:
			blocked |= Marked
		case w.idle[n][0] < a[0]:
			blocked |= Dimension(0)
		case w.idle[n][1] < a[1]:
			blocked |= Dimension(1)
		default:
			return n, 0
		}
	}
	return -1, blocked
}

func (w *world) start(item Item, node int) {
	a := ask(item.Shape)
	w.idle[node][0] -= a[0]
	w.idle[node][1] -= a[1]
	w.version++
	w.running = append(w.running, placed{item, node})
	w.starts = append(w.starts, fmt.Sprint(item.Job, " ", node))
}

// change draws an event other than an arrival and gives the causes it helps.
func (w *world) change(t *rapid.T) Causes {
	w.version++
	switch kind := rapid.IntRange(0, 5).Draw(t, "event"); {
	case kind == 0:
		w.idle = append(w.idle, [2]int64{rapid.Int64Range(1, 6).Draw(t, "d0"), rapid.Int64Range(0, 4).Draw(t, "d1")})
		w.drained = append(w.drained, false)
		return Joined
	case kind == 1 && len(w.idle) > 0:
		n := rapid.IntRange(0, len(w.idle)-1).Draw(t, "node")
		w.drained[n] = !w.drained[n]
		if w.drained[n] {
			return 0
		}
		return Marked
	case len(w.running) > 0:
		i := rapid.IntRange(0, len(w.running)-1).Draw(t, "running")
		p := w.running[i]
		w.running = slices.Delete(w.running, i, i+1)
		a := ask(p.item.Shape)
		w.idle[p.node][0] += a[0]
		w.idle[p.node][1] += a[1]
		if a[1] == 0 {
			return Dimension(0)
		}
		return Dimension(0) | Dimension(1)
	}
	return 0 // a heartbeat
}

func drawArrival(t *rapid.T, n int) Item {
	shape := ShapeID(rapid.IntRange(0, 15).Draw(t, "shape"))
	a := ask(shape)
	return Item{
		Job: poise.JobID(fmt.Sprint("j", n)), Shape: shape, Priority: rapid.Int32Range(0, 1).Draw(t, "priority"),
		Submitted: poise.Time(n / 3), Size: Size{CPU: a[0], Memory: a[1]}, Seq: uint64(n),
	}
}

// With groups and causes the same jobs start on the same nodes in the same
// order as with a scheduler that tries every waiting job after every event.
func TestSkipOverIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		m := &model{settings: Defaults()}
		grouped, naive := &world{}, &world{}
		for n := range rapid.IntRange(1, 60).Draw(t, "events") {
			if rapid.Bool().Draw(t, "arrival") {
				item := drawArrival(t, n)
				mustPush(t, q, item)
				m.add(modelJob{Item: item})
			} else {
				q.Wake(grouped.change(t), grouped.version)
				naive.idle, naive.drained = slices.Clone(grouped.idle), slices.Clone(grouped.drained)
			}
			attempts := map[ShapeID]int{}
			for {
				item, ok := q.Pop(0)
				if !ok {
					break
				}
				node, blocked := grouped.fit(item.Shape)
				if node >= 0 {
					grouped.start(item, node)
					continue
				}
				if attempts[item.Shape]++; attempts[item.Shape] > 1 {
					t.Fatalf("shape %d was tried in vain twice in one pass", item.Shape)
				}
				mustPark(t, q, item, blocked, grouped.version, 0)
			}
			for _, j := range slices.Clone(m.waiting) {
				if node, _ := naive.fit(j.Shape); node >= 0 {
					naive.start(j.Item, node)
					m.remove(j.Job)
				}
			}
			if !slices.Equal(grouped.starts, naive.starts) {
				t.Fatalf("started %v, expected %v", grouped.starts, naive.starts)
			}
		}
	})
}

// attempt is a popped job with the answer for the snapshot of its moment.
type attempt struct {
	item    Item
	node    int
	blocked Causes
	version uint64
}

// However attempts and events interleave, no job waits that would fit, without
// any help of the sweep.
func TestNoFeasibleJobStaysParked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		w := &world{}
		var open []attempt
		begin := func() bool {
			item, ok := q.Pop(0)
			if ok {
				snap := w.clone()
				node, blocked := snap.fit(item.Shape)
				open = append(open, attempt{item, node, blocked, snap.version})
			}
			return ok
		}
		end := func(i int) {
			a := open[i]
			open = slices.Delete(open, i, i+1)
			switch node, _ := w.fit(a.item.Shape); {
			case a.node < 0:
				mustPark(t, q, a.item, a.blocked, a.version, 0)
			case node == a.node:
				w.start(a.item, a.node)
			default: // another attempt was faster, or the node was drained
				mustPush(t, q, a.item)
			}
		}
		for n := range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "step"); {
			case kind == 0:
				mustPush(t, q, drawArrival(t, n))
			case kind == 1:
				q.Wake(w.change(t), w.version)
			case kind == 2:
				begin()
			case len(open) > 0:
				end(rapid.IntRange(0, len(open)-1).Draw(t, "attempt"))
			}
		}
		for steps := 0; len(open) > 0 || begin(); steps++ {
			if steps > 1000 {
				t.Fatal("jobs are popped and parked without end though nothing happens")
			}
			end(0)
		}
		for item := range q.All() {
			if node, _ := w.fit(item.Shape); node >= 0 {
				t.Fatalf("%s waits though node %d has room", item.Job, node)
			}
		}
	})
}
