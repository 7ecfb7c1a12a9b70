package state

import (
	"fmt"
	"math/rand"
	"runtime"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// benchNode is node n of a fleet as it comes from a manifest or an API: with
// strings of its own, six dimensions and eight devices.
func benchNode(n int) poise.Node {
	own := func(s string) string { return string([]byte(s)) }
	return poise.Node{
		Name: fmt.Sprintf("gpu-a100-8x-rack%03d-node%06d", n%500, n), Cluster: own("eu-west-1a"),
		Capacity: resource.List{
			{Name: own("cpu"), Value: 128_000},
			{Name: own("ephemeral-storage"), Value: 1 << 40},
			{Name: own("hugepages-2Mi"), Value: 1 << 33},
			{Name: own("memory"), Value: 1 << 40},
			{Name: own("pods"), Value: 110_000},
			{Name: own("rdma/hca"), Value: 8_000},
		},
		Devices: poise.Devices{Kind: own("gpu"), Model: own("A100-SXM4-80GB"), Count: 8},
	}
}

// fleet joins n nodes in a shuffled order.
func fleet(t fataler, n int) *driver {
	t.Helper()
	d := newDriver(t, 0)
	for _, i := range rand.New(rand.NewSource(1)).Perm(n) {
		d.do(t, poise.NodeJoined{Node: benchNode(i)})
	}
	d.log = nil
	d.View()
	return d
}

// benchJob is job n of 64 shapes, with strings of its own.
func benchJob(n int) poise.Job {
	own := func(s string) string { return string([]byte(s)) }
	j := poise.Job{
		ID: poise.JobID(fmt.Sprintf("0190f3a2-7c4e-7b1a-9d55-%012x", n)), Name: fmt.Sprintf("train-resnet-%07d", n),
		Tenant: poise.TenantID(own("vision-research")), Tasks: 1, RunTime: 60_000,
		Request: poise.Request{Amounts: resource.List{
			{Name: own("cpu"), Value: int64(1000 * (1 + n%8))},
			{Name: own("memory"), Value: int64(1+n/8%4) << 32},
		}},
	}
	if n/32%2 == 1 {
		j.Request.Device = poise.DeviceRequest{Kind: own("gpu"), Count: 1, Milli: 500}
	}
	return j
}

// life is a job from its submission to its end, on some node of the fleet.
func life(n int, node string) []poise.Body {
	j := benchJob(n)
	var devices []uint16
	if j.Request.Device.Count > 0 {
		devices = []uint16{uint16(n % 8)}
	}
	return []poise.Body{poise.JobSubmitted{Job: j}, placed(string(j.ID), node, devices...), poise.JobFinished{Job: j.ID}}
}

// lives gives the lives of 4,096 jobs on random nodes of the fleet.
func (d *driver) lives() [][]poise.Body {
	s, rng := d.View(), rand.New(rand.NewSource(2))
	all := make([][]poise.Body, 4096)
	for i := range all {
		all[i] = life(i, s.Name(uint32(rng.Intn(s.Rows()))))
	}
	return all
}

func (d *driver) apply(b *testing.B, body poise.Body) {
	if err := d.Apply(poise.Event{Index: d.Index() + 1, Body: body}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkApplyPlace submits, places and finishes a job on 10,000 nodes.
func BenchmarkApplyPlace(b *testing.B) {
	d := fleet(b, 10_000)
	lives := d.lives()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for _, body := range lives[i%len(lives)] {
			d.apply(b, body)
		}
	}
}

// BenchmarkSnapshotThenPlace does the same with a snapshot taken before the
// placement, so that every page it writes to is copied first.
func BenchmarkSnapshotThenPlace(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			d := fleet(b, nodes)
			lives := d.lives()
			var snap *Snapshot
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				life := lives[i%len(lives)]
				d.apply(b, life[0])
				snap = d.Snapshot()
				d.apply(b, life[1])
				d.apply(b, life[2])
			}
			runtime.KeepAlive(snap)
		})
	}
}

// BenchmarkJoin100k joins 100,000 nodes in a shuffled order and looks at them
// once, which ranks their names.
func BenchmarkJoin100k(b *testing.B) {
	const n = 100_000
	nodes := make([]poise.Body, n)
	for at, i := range rand.New(rand.NewSource(1)).Perm(n) {
		nodes[at] = poise.NodeJoined{Node: benchNode(i)}
	}
	for b.Loop() {
		d := newDriver(b, 0)
		for _, body := range nodes {
			d.apply(b, body)
		}
		if d.View().Nodes() != n {
			b.Fatal("nodes are missing")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
}

// BenchmarkLeave100k takes 100,000 nodes away again in another order, before a
// reader has looked at them, as a replay of the log may do.
func BenchmarkLeave100k(b *testing.B) {
	const n = 100_000
	order := rand.New(rand.NewSource(3)).Perm(n)
	for b.Loop() {
		b.StopTimer()
		d := newDriver(b, 0)
		for i := range n {
			d.apply(b, poise.NodeJoined{Node: benchNode(i)})
		}
		b.StartTimer()
		for _, i := range order {
			d.apply(b, poise.NodeLeft{Name: benchNode(i).Name})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
}

// bytesPer measures what a node row and a waiting job hold of the heap: nodes
// with six dimensions and eight devices each, jobs of 64 shapes. The names that
// came with the events are part of it.
func bytesPer(t fataler, nodes, jobs int) (row, job float64) {
	t.Helper()
	before := heapBytes()
	d := fleet(t, nodes)
	after := heapBytes()
	for i := range jobs {
		d.do(t, poise.JobSubmitted{Job: benchJob(i)})
		d.log = d.log[:0]
	}
	d.log = nil
	end := heapBytes()
	if d.Shapes() != 64 || d.View().Nodes() != nodes || d.Jobs() != jobs {
		t.Fatalf("%d nodes, %d jobs of %d shapes", d.View().Nodes(), d.Jobs(), d.Shapes())
	}
	return float64(after-before) / float64(nodes), float64(end-after) / float64(jobs)
}

// Goals, in bytes.
const (
	goalRow = 400
	goalJob = 600
)

func TestMemoryGoals(t *testing.T) {
	row, job := bytesPer(t, 20_000, 100_000)
	t.Logf("%.0f bytes per node row, %.0f per waiting job", row, job)
	if row > goalRow || job > goalJob {
		t.Errorf("%.0f bytes per node row, %.0f per waiting job, expected at most %d and %d", row, job, goalRow, goalJob)
	}
}

// BenchmarkMemory measures the bytes for 100,000 nodes and a million jobs.
func BenchmarkMemory(b *testing.B) {
	var row, job float64
	for b.Loop() {
		row, job = bytesPer(b, 100_000, 1_000_000)
	}
	b.ReportMetric(row, "B/row")
	b.ReportMetric(job, "B/job")
}
