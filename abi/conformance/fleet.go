package conformance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// variant is what a fleet is like.
type variant struct {
	nodes  int
	shapes int    // kinds of task in the profile, 0 = no profile yet
	bare   bool   // no node declares an amount, a device or a label
	huge   bool   // amounts at the ends of what there can be
	values string // beginning of the labels' values
}

// fleet is a made-up fleet with jobs that wait.
type fleet struct {
	state  *state.State
	snap   *state.Snapshot
	jobs   []*state.Job
	kinds  []string // device kinds, as the plugin names them
	dims   []string // of the plugin, neither cpu, memory nor a device kind
	labels []string // that the plugin names
	random uint64
	tasks  int
}

// draw gives a number from 0 to n-1 (splitmix64).
func (f *fleet) draw(n int) int {
	f.random += 0x9e3779b97f4a7c15
	z := f.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(n))
}

func (f *fleet) apply(body poise.Body) error {
	if err := f.state.Apply(poise.Event{Index: f.state.Index() + 1, At: poise.Time(f.state.Index()), Body: body}); err != nil {
		return fmt.Errorf("made-up fleet: %w", err)
	}
	return nil
}

// newFleet makes a fleet that holds all that the plugin reads.
func newFleet(m *abi.Manifest, symbols poise.SymbolsWanted, v variant) (*fleet, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	f := &fleet{state: s, random: uint64(v.nodes)}
	for _, c := range m.AllColumns() {
		switch {
		case c.Kind == abi.Devices || c.Kind == abi.DeviceModel:
			f.kinds = append(f.kinds, c.Name)
		case (c.Kind == abi.Capacity || c.Kind == abi.Allocated) && (c.Name == "gpu" || c.Name == "npu"):
			f.kinds = append(f.kinds, c.Name)
		}
	}
	if len(f.kinds) == 0 {
		f.kinds = []string{abi.DefaultDevice}
	}
	slices.Sort(f.kinds)
	f.kinds = slices.Compact(f.kinds)
	f.dims = slices.DeleteFunc(m.Dims(), func(d string) bool {
		return d == "cpu" || d == "memory" || slices.Contains(f.kinds, d)
	})
	f.labels = append(append(append(f.labels, m.Labels...), m.Domains...), poise.ClassLabel, "zone")
	slices.Sort(f.labels)
	f.labels = slices.Compact(f.labels)
	if err := f.fill(symbols, v); err != nil {
		return nil, err
	}
	f.snap = s.Snapshot()
	return f, nil
}

func (f *fleet) fill(symbols poise.SymbolsWanted, v variant) error {
	if err := f.apply(symbols); err != nil {
		return err
	}
	for i := range v.nodes {
		if err := f.join(i, v); err != nil {
			return err
		}
	}
	if v.shapes > 0 {
		if err := f.apply(f.profile(v.shapes)); err != nil {
			return err
		}
	}
	for i, j := range f.asks(v) {
		j.ID, j.Tenant, j.Tasks = poise.JobID(j.Name), poise.TenantID(fmt.Sprint("tenant-", i%3)), 1
		if err := f.apply(poise.JobSubmitted{Job: j}); err != nil {
			return err
		}
		f.jobs = append(f.jobs, f.state.Job(j.ID))
	}
	return nil
}

const gi = 1 << 30

// join adds node i and the tasks on it. A part of the nodes shrinks below what
// its tasks hold.
func (f *fleet) join(i int, v variant) error {
	n := poise.Node{Name: fmt.Sprint("n", i), Cluster: "made-up"}
	if v.bare {
		return f.apply(poise.NodeJoined{Node: n})
	}
	for _, key := range f.labels {
		if f.draw(5) > 0 {
			n.Labels = append(n.Labels, poise.Label{Key: key, Value: fmt.Sprint(v.values, f.draw(4))})
		}
	}
	switch f.draw(20) {
	case 0:
		n.Taints = []poise.Taint{{Key: "reserved", Effect: poise.NoSchedule}}
	case 1:
		n.Taints = []poise.Taint{{Key: "leaving", Effect: poise.NoExecute}}
	case 2:
		n.Drained = true
	case 3:
		n.NotReady = true
	}
	cpu, memory := int64(1+f.draw(64))*1000, int64(1+f.draw(256))*gi
	if v.huge {
		cpu, memory = []int64{9_300_000_000_000_000, 1, math.MaxInt64}[f.draw(3)], []int64{math.MaxInt64, 1, 1 << 62}[f.draw(3)]
	}
	// Nodes 1, 5, 9, … have devices; some of an extreme fleet have nothing at all.
	if i%4 == 1 {
		n.Devices = poise.Devices{Kind: f.kinds[f.draw(len(f.kinds))], Model: fmt.Sprint("model-", f.draw(3)), Count: int32(1 << f.draw(4))}
		if v.huge {
			n.Devices.Count = poise.MaxDevices
		}
	}
	if !v.huge || f.draw(4) > 0 {
		n.Capacity = f.amounts(cpu, memory, func() int64 { return int64(1+f.draw(64)) * 1000 })
	}
	if err := f.apply(poise.NodeJoined{Node: n}); err != nil {
		return err
	}
	if err := f.run(&n, cpu, memory); err != nil || len(n.Capacity) == 0 || f.draw(10) > 0 {
		return err
	}
	for k := range n.Capacity {
		n.Capacity[k].Value /= 16
	}
	return f.apply(poise.NodeChanged{Node: n})
}

// amounts gives a list of the plugin's dimensions.
func (f *fleet) amounts(cpu, memory int64, other func() int64) resource.List {
	l := resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
	for _, d := range f.dims {
		l = append(l, resource.Amount{Name: d, Value: other()})
	}
	slices.SortFunc(l, func(a, b resource.Amount) int { return cmp.Compare(a.Name, b.Name) })
	return l
}

// run puts up to two tasks on a third of the nodes.
func (f *fleet) run(n *poise.Node, cpu, memory int64) error {
	if len(n.Capacity) == 0 || f.draw(3) > 0 {
		return nil
	}
	for range 1 + f.draw(2) {
		f.tasks++
		id := poise.JobID(fmt.Sprint("task-", f.tasks))
		j := poise.Job{ID: id, Name: string(id), Tenant: poise.TenantID(fmt.Sprint("tenant-", f.draw(3))), Tasks: 1}
		j.Request.Amounts = f.amounts(cpu/3, memory/3, func() int64 { return 300 })
		p := poise.Placement{Job: id, Node: n.Name}
		if n.Devices.Count > 0 && f.draw(2) == 0 {
			j.Request.Device = poise.DeviceRequest{Kind: n.Devices.Kind, Count: 1, Milli: []int32{250, 400}[f.draw(2)]}
			p.Devices = []uint16{uint16(f.draw(int(n.Devices.Count)))}
		}
		if err := f.apply(poise.JobSubmitted{Job: j}); err != nil {
			return err
		}
		if err := f.apply(poise.JobPlaced{Placement: p}); err != nil {
			return err
		}
	}
	return nil
}

// asks are the jobs: of each kind of request, one.
func (f *fleet) asks(v variant) []poise.Job {
	if v.bare {
		return []poise.Job{{Name: "nothing"}}
	}
	small := func(name string) poise.Job {
		return poise.Job{Name: name, Request: poise.Request{Amounts: f.amounts(100, gi/4, func() int64 { return 100 })}}
	}
	devices := func(name string, count, milli int32, models ...string) poise.Job {
		j := small(name)
		j.Request.Device = poise.DeviceRequest{Kind: f.kinds[0], Count: count, Milli: milli, Models: models}
		return j
	}
	picky := small("picky")
	picky.Selectors = []poise.Selector{{Key: f.labels[0], Op: poise.Exists}, {Key: "zone", Op: poise.NotIn, Values: []string{v.values + "0"}}}
	picky.Tolerations = []poise.Toleration{{Exists: true}}
	picky.Priority, picky.RunTime = 10, 3_600_000
	large := poise.Job{Name: "large", Request: poise.Request{Amounts: f.amounts(20_000, 32*gi, func() int64 { return 5000 })}}
	if v.huge {
		large.Request.Amounts = f.amounts(9_000_000_000_000_000, 1<<61, func() int64 { return 1 })
		large.Priority, large.RunTime = math.MinInt32, math.MaxInt64
	}
	all := []poise.Job{
		small("small"), large,
		{Name: "nothing"},
		devices("one-device", 1, 1000), devices("four-devices", 4, 1000),
		devices("share", 1, 300), devices("model", 1, 1000, "model-1", "model-2"), picky,
	}
	if v.huge {
		all = append(all, f.endless(devices("endless", 1, 1000)))
	}
	return all
}

// endless gives a job more device models and selectors than a plugin is shown.
func (f *fleet) endless(j poise.Job) poise.Job {
	for i := range abi.MaxRowModels + 6 {
		j.Request.Device.Models = append(j.Request.Device.Models, fmt.Sprint("model-", i))
		j.Selectors = append(j.Selectors, poise.Selector{Key: fmt.Sprint("nowhere-", i), Op: poise.DoesNotExist})
	}
	slices.Sort(j.Request.Device.Models)
	return j
}

// profile is what jobs have been asking for: kinds of task that differ in cpu,
// memory and devices.
func (f *fleet) profile(shapes int) poise.ProfileBuilt {
	d := &poise.Demand{Epoch: 1, Arrivals: uint64(shapes) * 10}
	for i := range shapes {
		k := poise.TaskKind{CPU: int64(100 + 10*i), Memory: int64(256 + i), Times: float64(shapes - i)}
		switch i % 4 {
		case 1:
			k.Kind, k.Count, k.Milli = f.kinds[0], 1, int32(1+i%1000)
		case 2:
			k.Kind, k.Count, k.Milli = f.kinds[0], int32(1+i/4%8), poise.WholeDevice
			k.Models = strings.Fields([]string{"", "model-0", "model-1 model-2"}[i/32%3])
		}
		d.Kinds, d.Total = append(d.Kinds, k), d.Total+k.Times
	}
	var all []*poise.Profile
	for _, kind := range f.kinds {
		all = append(all, &poise.Profile{Epoch: 1, Kind: kind, LargestDevices: poise.MaxDevices})
	}
	return poise.ProfileBuilt{Profiles: all, Demand: d}
}
