package cli

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// benchKind is one make of node of the fleet that plugins are measured on.
type benchKind struct {
	class, model string
	cpu, memory  int64 // cores and GiB
	devices      int32
	share        int // of 20 nodes
}

// benchKinds: three quarters of the nodes have devices, and of these one in
// five has no whole one free, so that about 60 % are candidates for a job that
// asks for one device.
var benchKinds = []benchKind{
	{class: "cpu-general", cpu: 32, memory: 128, share: 3},
	{class: "cpu-highmem", cpu: 64, memory: 1024, share: 2},
	{class: "gpu-t4", model: "T4", cpu: 48, memory: 192, devices: 4, share: 5},
	{class: "gpu-v100", model: "V100", cpu: 64, memory: 512, devices: 8, share: 5},
	{class: "gpu-a100", model: "A100", cpu: 96, memory: 1024, devices: 8, share: 5},
}

// benchTenants is how many tenants own the tasks.
const benchTenants = 8

// benchScene makes the scene for a plugin: every label that it names has one of
// eight values, and the demand profile has so many kinds of task. The same
// numbers give the same scene.
func benchScene(m *abi.Manifest, nodes, shapes int) *scene {
	r := rand.New(rand.NewPCG(uint64(nodes), uint64(shapes)))
	sc := &scene{
		nodes: make([]poise.Node, nodes), running: make([]manifest.Running, 0, nodes), workload: benchWorkload(shapes),
		job: benchJob("bench", 0, resource.List{{Name: "cpu", Value: 4000}, {Name: "memory", Value: 16 << 30}}, poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: poise.WholeDevice}),
	}
	var keys []string
	keys = append(append(keys, m.Labels...), m.Domains...)
	for i := range sc.nodes {
		kind := benchKindOf(r.IntN(20))
		n := &sc.nodes[i]
		*n = poise.Node{
			Name:     fmt.Sprintf("node-%06d", i),
			Capacity: resource.List{{Name: "cpu", Value: kind.cpu * 1000}, {Name: "memory", Value: kind.memory << 30}},
			Labels:   benchLabels(r, keys, kind.class),
		}
		if kind.devices > 0 {
			n.Devices = poise.Devices{Kind: "gpu", Model: kind.model, Count: kind.devices}
		}
		sc.running = append(sc.running, benchTask(r, i, n, kind))
	}
	return sc
}

func benchKindOf(number int) *benchKind {
	for i := range benchKinds {
		if number -= benchKinds[i].share; number < 0 {
			return &benchKinds[i]
		}
	}
	panic("BUG: the shares of the kinds are not 20 in all")
}

func benchLabels(r *rand.Rand, keys []string, class string) []poise.Label {
	labels := []poise.Label{{Key: poise.ClassLabel, Value: class}}
	for _, key := range keys {
		if !slices.ContainsFunc(labels, func(l poise.Label) bool { return l.Key == key }) {
			labels = append(labels, poise.Label{Key: key, Value: fmt.Sprintf("value-%d", r.IntN(8))})
		}
	}
	slices.SortFunc(labels, func(a, b poise.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels
}

// benchTask is what runs on a node: on one in five with devices, all of them;
// else some, or cpu alone.
func benchTask(r *rand.Rand, i int, n *poise.Node, kind *benchKind) manifest.Running {
	var ask poise.DeviceRequest
	if kind.devices > 0 {
		ask = poise.DeviceRequest{Kind: "gpu", Count: kind.devices, Milli: poise.WholeDevice}
		if r.IntN(5) > 0 {
			ask.Count = r.Int32N(kind.devices)
		}
		switch {
		case ask.Count == 0:
			ask = poise.DeviceRequest{}
		case ask.Count == 1:
			ask.Milli = 100 * (1 + r.Int32N(9)) // a share
		}
	}
	amounts := resource.List{
		{Name: "cpu", Value: r.Int64N(kind.cpu-8)*1000 + 1000},
		{Name: "memory", Value: r.Int64N(kind.memory-32)<<30 + 1<<30},
	}
	return manifest.Running{Job: benchJob(fmt.Sprintf("task-%06d", i), r.IntN(benchTenants), amounts, ask), Node: n.Name}
}

func benchJob(name string, tenant int, amounts resource.List, ask poise.DeviceRequest) manifest.Job {
	return manifest.Job{Job: poise.Job{
		ID: poise.JobID(name), Name: name, Tenant: poise.TenantID(fmt.Sprintf("tenant-%d", tenant)), Tasks: 1,
		Request: poise.Request{Amounts: amounts, Device: ask},
	}}
}

// benchWorkload is a job of each of so many kinds: no two ask for as much cpu.
// One in four asks for no device, one for a share, two for whole ones.
func benchWorkload(shapes int) []manifest.Job {
	jobs := make([]manifest.Job, shapes)
	for i := range jobs {
		amounts := resource.List{{Name: "cpu", Value: int64(i+1) * 500}, {Name: "memory", Value: int64(1+i%16) << 32}}
		ask := poise.DeviceRequest{Kind: "gpu", Count: 1 << (i % 4), Milli: poise.WholeDevice}
		switch i % 4 {
		case 0:
			ask = poise.DeviceRequest{}
		case 1:
			ask.Count, ask.Milli = 1, 100*int32(1+i%9)
		}
		jobs[i] = benchJob(fmt.Sprintf("kind-%d", i), i%benchTenants, amounts, ask)
	}
	return jobs
}
