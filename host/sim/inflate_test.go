package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// The worked values of the published experiment: how many jobs arrive, and the
// order in which nodes win ties.
func TestInflateOpenb(t *testing.T) {
	tr := openb(t, "default")
	list, err := Inflate(tr.nodes, tr.arrivals, 1.3, 42)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Arrivals) != 10866 {
		t.Errorf("%d arrivals, want 10866", len(list.Arrivals))
	}
	byName := slices.Sorted(maps.Keys(list.Order))
	var numbers []uint64
	for _, name := range byName[:5] {
		numbers = append(numbers, list.Order[name])
	}
	if want := []uint64{601, 815, 450, 13, 731}; !slices.Equal(numbers, want) {
		t.Errorf("the first nodes by name have the numbers %v, want %v", numbers, want)
	}
	inOrder := slices.SortedFunc(maps.Keys(list.Order), func(a, b string) int { return cmp.Compare(list.Order[a], list.Order[b]) })
	want := []string{"openb-node-0260", "openb-node-0858", "openb-node-0619", "openb-node-0582", "openb-node-0882"}
	if !slices.Equal(inOrder[:5], want) {
		t.Errorf("ties go to %v first, want %v", inOrder[:5], want)
	}
	checkInflated(t, tr, list, 1.3)
	if demandOf(tr.arrivals) > demandOf(list.Arrivals) || len(list.Arrivals) < len(tr.arrivals) {
		t.Errorf("%d jobs became %d arrivals, want copies added", len(tr.arrivals), len(list.Arrivals))
	}
}

// A workload that asks for more than the target has jobs removed.
func TestInflateRemoves(t *testing.T) {
	tr := openb(t, "multigpu50")
	if fleet := devicesOf(tr.nodes); float64(demandOf(tr.arrivals)) <= 1.3*float64(fleet) {
		t.Fatalf("the workload asks for %d of %d milli-devices, want more than 1.3 times as much", demandOf(tr.arrivals), fleet)
	}
	list, err := Inflate(tr.nodes, tr.arrivals, 1.3, 42)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Arrivals) >= len(tr.arrivals) {
		t.Errorf("%d jobs became %d arrivals, want fewer", len(tr.arrivals), len(list.Arrivals))
	}
	checkInflated(t, tr, list, 1.3)
}

// The same on a fleet and jobs that the repository holds.
func TestInflateExample(t *testing.T) {
	tr := example(t)
	for _, multiple := range []float64{0.3, 0.9, 1.3, 5} {
		for seed := range int64(20) {
			list, err := Inflate(tr.nodes, tr.arrivals, multiple, seed)
			if err != nil {
				t.Fatal(err)
			}
			checkInflated(t, tr, list, multiple)
			shuffled := &trace{nodes: slices.Clone(tr.nodes), arrivals: slices.Clone(tr.arrivals)}
			slices.Reverse(shuffled.nodes)
			slices.Reverse(shuffled.arrivals)
			again, err := Inflate(shuffled.nodes, shuffled.arrivals, multiple, seed)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(list.Arrivals, again.Arrivals, func(a, b Arrival) bool { return a.Job.ID == b.Job.ID }) || !maps.Equal(list.Order, again.Order) {
				t.Errorf("times %v, seed %d: another list from the same input in reverse", multiple, seed)
			}
		}
	}
}

// checkInflated checks what holds of every arrival list: the demand is within
// one job of the target, every arrival is a job of the workload at time 0,
// copies have ids of their own and keep the name, and the order numbers every
// node once.
func checkInflated(t *testing.T, tr *trace, list *Inflated, multiple float64) {
	t.Helper()
	original, largest := map[string]*poise.Job{}, int64(0)
	for i := range tr.arrivals {
		j := &tr.arrivals[i].Job
		original[j.Name] = j
		largest = max(largest, j.Request.Device.Total())
	}
	ids, first := map[poise.JobID]bool{}, map[string]bool{}
	for i := range list.Arrivals {
		a := &list.Arrivals[i]
		o := original[a.Job.Name]
		switch {
		case o == nil:
			t.Fatalf("arrival %q is no job of the workload", a.Job.Name)
		case a.At != 0:
			t.Errorf("arrival %q at %d ms, want 0", a.Job.ID, a.At)
		case ids[a.Job.ID]:
			t.Errorf("two arrivals have the id %q", a.Job.ID)
		case !strings.HasPrefix(string(a.Job.ID), string(o.ID)):
			t.Errorf("arrival %q is a copy of %q, want an id made of it", a.Job.ID, o.ID)
		case a.Job.Request.Device.Total() != o.Request.Device.Total():
			t.Errorf("arrival %q requests other devices than %q", a.Job.ID, o.ID)
		}
		ids[a.Job.ID] = true
		first[a.Job.Name] = first[a.Job.Name] || a.Job.ID == o.ID
	}
	for name, ok := range first {
		if !ok {
			t.Errorf("a copy of %q arrives, but not the job itself", name)
		}
	}
	target, demand := multiple*float64(devicesOf(tr.nodes)), float64(demandOf(list.Arrivals))
	if demand < target-float64(largest) || demand > target+float64(largest) {
		t.Errorf("the arrivals ask for %v milli-devices, want %v, give or take one job", demand, target)
	}
	seen := make([]bool, len(tr.nodes))
	for i := range tr.nodes {
		number, ok := list.Order[tr.nodes[i].Name]
		if !ok || number >= uint64(len(seen)) || seen[number] {
			t.Fatalf("node %q has the number %d, want one of its own below %d", tr.nodes[i].Name, number, len(seen))
		}
		seen[number] = true
	}
}

func demandOf(arrivals []Arrival) int64 {
	sum := int64(0)
	for i := range arrivals {
		sum += arrivals[i].Job.Request.Device.Total()
	}
	return sum
}

func devicesOf(nodes []poise.Node) int64 {
	sum, err := fleetTotals(nodes)
	if err != nil {
		panic(err)
	}
	return sum[devicesDim]
}

func TestInflateRefuses(t *testing.T) {
	f := func(nodes, jobs string, multiple float64, want string) {
		t.Helper()
		tr := small(t, nodes, jobs)
		_, err := Inflate(tr.nodes, tr.arrivals, multiple, 42)
		if err == nil || poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an invalid input with %q", err, want)
		}
	}
	const (
		gpu, cpu       = "node: g\ncapacity: {cpu: 8}\ndevices: {kind: gpu, count: 2}", "node: c\ncapacity: {cpu: 8}"
		gpuJob, cpuJob = "job: g\nrequest: {gpu: 1}", "job: c\nrequest: {cpu: 1}"
	)
	f(cpu, gpuJob, 1.3, "nodes: no devices, expected a fleet with devices")
	f(gpu, cpuJob, 1.3, "jobs: none requests a device, expected at least one")
	f(gpu, gpuJob, 0, "arrivals: 0, expected above 0 to 100")
	f(gpu, gpuJob, -1, "arrivals: -1, expected")
	f(gpu, gpuJob, 100.5, "arrivals: 100.5, expected")
	nan := 0.0
	nan /= nan
	f(gpu, gpuJob, nan, "arrivals: NaN, expected")
	// One job with a thousandth of a device among 5,000 with none: to ask for
	// all devices of 1,000 nodes takes 160 thousand million arrivals. This is
	// refused before any of them is made.
	f("node: n\ncount: 1000\ndevices: {kind: gpu, count: 32}", "job: g\nrequest: {gpu: 0.001}\n---\njob: c\ncount: 5000\nrequest: {cpu: 1}", 1, "arrivals to reach 1 times the fleet's devices")
	// No nodes at all: the manifest would not give such a fleet.
	if _, err := Inflate(nil, nil, 1, 1); err == nil || !strings.Contains(err.Error(), "nodes: no devices") {
		t.Errorf("no nodes: got %v", err)
	}
	if _, err := RunInflate(configOf(t, idleBalance, nil), nil, &Inflated{}); err == nil || !strings.Contains(err.Error(), "nodes: none, expected at least one") {
		t.Errorf("run without nodes: got %v", err)
	}
}

// Every job is attempted once, in the order of the list, and nothing ever ends.
func TestRunInflate(t *testing.T) {
	tr := small(t, "node: a\ncapacity: {cpu: 4}\ndevices: {kind: gpu, count: 2}\n---\nnode: b\ncapacity: {cpu: 1}\ndevices: {kind: gpu, count: 2}",
		"job: big\nrun_time: 1s\nrequest: {cpu: 1, gpu: 1}\n---\njob: none\nrequest: {cpu: 9}")
	job, none := tr.arrivals[0], tr.arrivals[1]
	list := &Inflated{Order: map[string]uint64{"a": 1, "b": 0}}
	for _, id := range []poise.JobID{"1", "2", "3", "4"} {
		job.Job.ID = id
		list.Arrivals = append(list.Arrivals, job)
	}
	list.Arrivals = append(list.Arrivals, none)
	var d diary
	c := configOf(t, "gpu-clustering", nil) // b = floor(25*(8000-free)/8000): a node with 2000 free has 18
	c.Policy.Ties = sched.Published
	d.watch(&c)
	r, err := RunInflate(c, tr.nodes, list)
	if err != nil {
		t.Fatal(err)
	}
	const want = `0s 1 arrives
0s 1 starts on b device 0
0s 2 arrives
0s 2 starts on a device 0
0s 3 arrives
0s 3 starts on a device 1
0s 4 arrives
0s 4 waits: fits, but not now
0s 4 is withdrawn
0s none arrives
0s none waits: never fits the present nodes
0s none is withdrawn
`
	if d.String() != want {
		t.Errorf("got\n%swant\n%s", d.String(), want)
	}
	if r.Jobs != 5 || r.Attempts != 5 || r.Placed != 3 || r.Failed != 2 || r.Nodes != 2 || r.Replay != nil {
		t.Errorf("got %+v, want 5 attempts on 2 nodes, 3 of them placed", r)
	}
	// 25, 50, 75 % of the four devices, then 75 % twice at 100 % arrived. Where
	// nothing arrived the value before stands.
	wantAt := map[string]float64{}
	for at := range 101 {
		wantAt[strconv.Itoa(at)] = min(float64(at/25*25), 75)
	}
	if !maps.Equal(r.AllocAt, wantAt) {
		t.Errorf("allocated %v, want %v", r.AllocAt, wantAt)
	}
	// The second node is full; the first has room for neither of the others.
	wantUse := []ClassUse{{Name: "gpu-2x", Nodes: 2, CPU: 60, Devices: 75}}
	if !slices.Equal(r.Classes, wantUse) {
		t.Errorf("utilisation %+v, want %+v", r.Classes, wantUse)
	}
}

// The published metric rounds the arrived percentage half to even and the
// allocated one half away from zero.
func TestMetricRounding(t *testing.T) {
	f := func(got, want float64) {
		t.Helper()
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(float64(arrivedPercent(5, 1000)), 0) // 0.5
	f(float64(arrivedPercent(15, 1000)), 2)
	f(float64(arrivedPercent(25, 1000)), 2)
	f(float64(arrivedPercent(26, 1000)), 3)
	f(float64(arrivedPercent(1, 0)), 0)
	f(hundredths(1.125), 1.13)
	f(hundredths(0.375), 0.38)
	f(hundredths(95.994), 95.99)
}
