package state

import (
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// In whatever order nodes join, each one ends up with the same content, and
// the ranks order them alike.
func TestJoinOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []poise.Node{gpuNode("first", 8, 2)}
		for i := range rapid.IntRange(1, 80).Draw(t, "nodes") { // more than one page
			n := someNode(t)
			n.Name = fmt.Sprint("n", i)
			if n.Validate() == nil {
				nodes = append(nodes, n)
			}
		}
		var jobs []poise.Job
		for i := range rapid.IntRange(0, 20).Draw(t, "jobs") {
			j := job(fmt.Sprint("j", i), poise.Request{Amounts: amounts("cpu", rapid.IntRange(0, 9).Draw(t, "cpu"))})
			jobs = append(jobs, j)
		}
		run := func(order []poise.Node) *driver {
			d := newDriver(t, 0)
			for _, n := range order {
				d.do(t, poise.NodeJoined{Node: n})
			}
			d.now = 0
			for i, j := range jobs {
				d.do(t, poise.JobSubmitted{Job: j})
				_ = d.try(placed(string(j.ID), nodes[i*7%len(nodes)].Name)) // fits or not, the same each time
			}
			d.do(t, poise.NodeLeft{Name: nodes[0].Name})
			return d
		}
		a, b := run(nodes), run(rapid.Permutation(nodes).Draw(t, "order"))
		if got, want := content(b.View()), content(a.View()); got != want {
			t.Fatalf("another order of joining gives\n%s\nexpected\n%s", got, want)
		}
		if got, want := b.ordered(t), a.ordered(t); !slices.Equal(got, want) {
			t.Fatalf("another order of joining ranks %q, expected %q", got, want)
		}
	})
}

// heapBytes is what the heap holds once garbage is collected.
func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A fleet that grows to 20,000 nodes and shrinks to none uses the same rows
// and the same memory each time.
func TestRowsAreUsedAgain(t *testing.T) {
	const fleet = 20_000
	d := newDriver(t, 0)
	var heap [4]uint64
	for round := range heap {
		for i := range fleet {
			d.do(t, poise.NodeJoined{Node: gpuNode(fmt.Sprintf("r%d-n%05d", round, i), 8000, 8)})
			if id := fmt.Sprint("j", i); i%10 == 0 {
				d.do(t, submitted(id, poise.Request{Amounts: amounts("cpu", i%1000)}), placed(id, fmt.Sprintf("r%d-n%05d", round, i)))
			}
			d.log = d.log[:0]
		}
		if s := d.View(); s.Rows() != fleet || s.Nodes() != fleet {
			t.Fatalf("round %d: %d rows for %d nodes, expected %d", round, s.Rows(), s.Nodes(), fleet)
		}
		for i := range fleet {
			d.do(t, poise.NodeLeft{Name: fmt.Sprintf("r%d-n%05d", round, i)})
			if i%10 == 0 {
				d.do(t, poise.JobFinished{Job: poise.JobID(fmt.Sprint("j", i))})
			}
			d.log = d.log[:0]
		}
		if s := d.View(); s.Nodes() != 0 || len(d.rowOf) != 0 || len(d.freeRows) != fleet || d.Jobs() != 0 || d.Shapes() != 0 {
			t.Fatalf("round %d: %d nodes, %d jobs, %d shapes left", round, s.Nodes(), d.Jobs(), d.Shapes())
		}
		heap[round] = heapBytes()
	}
	if last, first := heap[len(heap)-1], heap[0]; last > first+first/10 {
		t.Errorf("heap after each round %v, expected it flat", heap)
	}
	runtime.KeepAlive(d)
}

// Jobs that come and go leave nothing behind: a fleet with a million short jobs
// of changing shapes is as large as before.
func TestB48MemoryIsFlat(t *testing.T) {
	jobs := 300_000
	if testing.Short() {
		jobs = 50_000
	}
	d := newDriver(t, 0)
	for i := range 100 {
		d.do(t, poise.NodeJoined{Node: gpuNode(fmt.Sprint("n", i), 64_000, 8)})
	}
	cycle := func(n int) uint64 {
		for i := range n {
			id := fmt.Sprint("j", i)
			d.do(t, submitted(id, poise.Request{Amounts: amounts("cpu", i%5000), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: int32(1 + i%1000)}}))
			d.do(t, placed(id, fmt.Sprint("n", i%100), uint16(i%8)), poise.JobFinished{Job: poise.JobID(id)})
			d.log = d.log[:0]
		}
		return heapBytes()
	}
	before, after := cycle(jobs/10), cycle(jobs)
	if after > before+before/5 {
		t.Errorf("%d bytes after %d jobs, %d after %d more", before, jobs/10, after, jobs)
	}
	runtime.KeepAlive(d)
}

// Readers on other goroutines see each snapshot as it was taken while the
// owner goes on. The race detector watches.
func TestSnapshotsAreReadConcurrently(t *testing.T) {
	d := newDriver(t, 0)
	rng := rand.New(rand.NewSource(1))
	for i := range 200 {
		d.do(t, poise.NodeJoined{Node: gpuNode(fmt.Sprintf("n%03d", i), 8000, 4)})
	}
	var readers sync.WaitGroup
	snaps := make(chan keptSnapshot, 4)
	for range 3 {
		readers.Go(func() {
			for k := range snaps {
				if text := dump(k.snap); text != k.text {
					t.Errorf("a snapshot changed under its reader")
				}
			}
		})
	}
	for round := range 60 {
		for i := range 50 {
			id, node := fmt.Sprintf("j%d-%d", round, i), fmt.Sprintf("n%03d", rng.Intn(200))
			d.do(t, submitted(id, poise.Request{Amounts: amounts("cpu", rng.Intn(50))}))
			if d.try(placed(id, node)) == nil && rng.Intn(2) == 0 {
				d.do(t, poise.JobFinished{Job: poise.JobID(id)})
			}
		}
		node := fmt.Sprintf("n%03d", rng.Intn(200))
		d.do(t, poise.NodeChanged{Node: gpuNode(node, rng.Intn(8000), int32(rng.Intn(8)))})
		if round%5 == 0 {
			d.do(t, poise.NodeLeft{Name: node}, poise.NodeJoined{Node: gpuNode(node, 8000, 4)})
		}
		snaps <- keep(d.Snapshot())
	}
	close(snaps)
	readers.Wait()
}
