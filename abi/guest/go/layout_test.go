package poise_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/poise-sched/poise/abi"
	poise "github.com/poise-sched/poise/abi/guest/go"
	"pgregory.net/rapid"
)

// everything is a plugin that wants all that there is.
type everything struct {
	plugin                              *poise.Plugin
	cpuCap, memCap, cpuUsed             poise.Amount
	running, tenantTasks, jobTasks      poise.Column[uint32]
	taints, selectors                   poise.Column[uint64]
	age                                 poise.Column[float64]
	class, zone, model, rack            poise.Column[poise.Symbol]
	devices                             poise.Devices
	zones, racks                        poise.Domain
	profile                             poise.Profile
	f64                                 poise.F64
	i64                                 poise.I64
	boolean                             poise.Bool
	symbol                              poise.SymbolParam
	enum                                poise.Enum
	priority, tasks, taskIndex, runTime poise.Field[int64]
	tenant                              poise.Field[poise.Symbol]
	seed                                poise.Field[uint64]
	tooFull, tooFar                     poise.Reason
}

func declare() *everything {
	p := poise.New("everything", "1.2.3")
	return &everything{
		plugin: p,
		// A label before a column: its descriptor comes after it all the same.
		zone:   p.Label("zone"),
		cpuCap: p.Capacity("cpu"), memCap: p.Capacity("memory"), cpuUsed: p.Allocated("cpu"),
		class: p.Class(), running: p.RunningTasks(), tenantTasks: p.TenantTasks(), jobTasks: p.JobTasks(),
		taints: p.Taints(), selectors: p.Selectors(), age: p.Age(), model: p.DeviceModel("gpu"), rack: p.Label("rack"),
		devices: p.Devices("gpu"), zones: p.Domain("zone"), racks: p.Domain("rack"), profile: p.Profile(),
		f64: p.F64("f").Default(0.1).Min(-1).Max(1e30), i64: p.I64("i").Default(-3).Min(-5).Max(7), boolean: p.Bool("b").Default(true),
		symbol: p.Symbol("s").Default(`a "quoted" \ text`), enum: p.Enum("e", "one", "two"),
		priority: p.Priority(), tasks: p.Tasks(), taskIndex: p.TaskIndex(), tenant: p.Tenant(), runTime: p.RunTime(), seed: p.Seed(),
		tooFull: p.Reason("too full"), tooFar: p.Reason(`too far, "really"`),
	}
}

func parsed(t interface{ Fatal(...any) }, p *poise.Plugin) *abi.Manifest {
	m, err := abi.ParseManifest(p.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func equal[T comparable](t *rapid.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func same[T comparable](t *rapid.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

var (
	small   = rapid.IntRange(0, 1000)
	symbols = rapid.Uint32Range(1, 1<<30)
	amounts = rapid.Float64Range(0, 1e15)
)

func drawAmounts(t *rapid.T) []float64 { return rapid.SliceOfN(amounts, 2, 2).Draw(t, "amounts") }

func drawModels(t *rapid.T) []uint32 { return rapid.SliceOfN(symbols, 0, 4).Draw(t, "models") }

func drawDomain(t *rapid.T) abi.DomainBlock {
	b := abi.DomainBlock{Absent: small.Draw(t, "absent")}
	values := rapid.SliceOfNDistinct(symbols, 0, 9, rapid.ID[uint32]).Draw(t, "values")
	slices.Sort(values)
	for _, v := range values {
		b.Values = append(b.Values, abi.DomainValue{
			Value: v, Nodes: small.Draw(t, "nodes"), TenantTasks: small.Draw(t, "tenant"), JobTasks: small.Draw(t, "job"),
			Capacity: drawAmounts(t), Allocated: drawAmounts(t),
		})
	}
	return b
}

func drawProfile(t *rapid.T) *abi.ProfileBlock {
	p := &abi.ProfileBlock{Epoch: rapid.Uint64().Draw(t, "epoch"), TotalCount: amounts.Draw(t, "count"), TotalWeight: amounts.Draw(t, "weight")}
	for range rapid.IntRange(0, 5).Draw(t, "shapes") {
		p.Shapes = append(p.Shapes, abi.ShapeBlock{
			Count: amounts.Draw(t, "count"), Weight: amounts.Draw(t, "weight"), DeviceCount: int32(small.Draw(t, "devices")),
			DeviceMilli: int32(small.Draw(t, "milli")), Models: drawModels(t), Request: drawAmounts(t),
		})
	}
	return p
}

// What the host's own code writes is what the SDK reads, whatever it is.
func TestReadsTheHostsBlocks(t *testing.T) {
	p := declare()
	m := parsed(t, p.plugin)
	rapid.Check(t, func(t *rapid.T) {
		rows, slots := rapid.IntRange(0, 70).Draw(t, "rows"), rapid.IntRange(0, 8).Draw(t, "slots")
		domains := []abi.DomainBlock{drawDomain(t), drawDomain(t)}
		profile := drawProfile(t)
		l, err := abi.NewLayout(m, abi.Sizes{
			Rows: rows + 3, Devices: slots, Shapes: len(profile.Shapes), ShapeModels: 4 * len(profile.Shapes),
			Values: []int{len(domains[0].Values), len(domains[1].Values)},
		})
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint64, l.Size/8)
		for i := range words {
			words[i] = rapid.Uint64().Draw(t, "content of the columns")
		}
		arena := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), l.Size)
		job := &abi.JobBlock{
			DeviceCount: int32(small.Draw(t, "count")), DeviceMilli: int32(small.Draw(t, "milli")), DeviceKind: symbols.Draw(t, "kind"),
			Models: drawModels(t), Selectors: small.Draw(t, "selectors"),
			Fields: rapid.SliceOfN(rapid.Uint64(), 6, 6).Draw(t, "fields"), Request: drawAmounts(t),
		}
		fleet := &abi.FleetBlock{Nodes: small.Draw(t, "nodes"), Sum: drawAmounts(t), Max: drawAmounts(t)}
		params := []uint64{math.Float64bits(amounts.Draw(t, "f")), rapid.Uint64().Draw(t, "i"), rapid.Uint64Range(0, 1).Draw(t, "b"), uint64(symbols.Draw(t, "s")), rapid.Uint64Range(0, 1).Draw(t, "e")}
		l.PutTable(arena, 0, rows)
		l.PutParams(arena, params)
		l.PutJob(arena, 0, job)
		l.PutFleet(arena, 0, fleet)
		l.PutDomains(arena, 0, domains)
		l.PutProfile(arena, 0, profile)

		c := &poise.Call{}
		c.Open(unsafe.Pointer(&words[0]), 0, uint32(l.Job), uint32(l.Out))
		equal(t, "rows", c.Rows(), rows)
		for r := range rows {
			equal(t, "candidate", c.Candidate(r), arena[l.Candidate+r/8]>>(r%8)&1 == 1)
		}
		p.checkParams(t, c, params)
		p.checkJob(t, c, job)
		p.checkColumns(t, c, l, arena)
		equal(t, "fleet's nodes", c.Fleet().Nodes(), fleet.Nodes)
		for i, d := range []poise.Dim{p.cpuCap.Dim, p.memCap.Dim} {
			equal(t, "fleet's sum", c.Fleet().Sum(d), fleet.Sum[i])
			equal(t, "fleet's largest", c.Fleet().Largest(d), fleet.Max[i])
		}
		p.checkDomain(t, p.zones.Of(c), &domains[0])
		p.checkDomain(t, p.racks.Of(c), &domains[1])
		p.checkProfile(t, p.profile.Of(c), profile)

		answers := func(at, size int) []byte { return arena[at : at+size*rows] }
		c.Filter(func(_ *poise.Call, reasons []poise.Reason) {
			for i := range reasons {
				equal(t, "reason to begin with", reasons[i], poise.Keep)
				reasons[i] = p.tooFar
			}
		})
		for i := range rows {
			equal(t, "reason", binary.LittleEndian.Uint32(answers(l.Values, 4)[4*i:]), 2)
		}
		c.Score(func(_ *poise.Call, losses []float64) {
			for i := range losses {
				equal(t, "loss to begin with", losses[i], 0)
				losses[i] = float64(i) / 3
			}
		})
		for i := range rows {
			equal(t, "loss", math.Float64frombits(binary.LittleEndian.Uint64(answers(l.Values, 8)[8*i:])), float64(i)/3)
		}
	})
}

func (p *everything) checkParams(t *rapid.T, c *poise.Call, params []uint64) {
	equal(t, "f64", p.f64.Of(c), math.Float64frombits(params[0]))
	equal(t, "i64", p.i64.Of(c), int64(params[1]))
	equal(t, "bool", p.boolean.Of(c), params[2] == 1)
	equal(t, "symbol", p.symbol.Of(c), poise.Symbol(params[3]))
	equal(t, "enum", p.enum.Of(c), []string{"one", "two"}[params[4]])
}

func (p *everything) checkJob(t *rapid.T, c *poise.Call, job *abi.JobBlock) {
	j := c.Job()
	equal(t, "cpu", j.Request(p.cpuCap.Dim), job.Request[0])
	equal(t, "memory", j.Request(p.memCap.Dim), job.Request[1])
	equal(t, "selectors", j.Selectors(), job.Selectors)
	checkAsk(t, j.Devices(), job.DeviceCount, job.DeviceMilli, job.DeviceKind, job.Models)
	equal(t, "priority", p.priority.Of(c), int64(job.Fields[0]))
	equal(t, "tasks", p.tasks.Of(c), int64(job.Fields[1]))
	equal(t, "task_index", p.taskIndex.Of(c), int64(job.Fields[2]))
	equal(t, "tenant", p.tenant.Of(c), poise.Symbol(job.Fields[3]))
	equal(t, "run_time", p.runTime.Of(c), int64(job.Fields[4]))
	equal(t, "seed", p.seed.Of(c), job.Fields[5])
}

func checkAsk(t *rapid.T, got poise.Ask, count, milli int32, kind uint32, models []uint32) {
	t.Helper()
	equal(t, "device count", got.Count, int(count))
	equal(t, "device milli", got.Milli, int(milli))
	equal(t, "device kind", got.Kind, poise.Symbol(kind))
	equal(t, "models", len(got.Models), len(models))
	for i := range models {
		equal(t, "model", got.Models[i], poise.Symbol(models[i]))
		equal(t, "allowed model", got.Allows(got.Models[i]), true)
	}
	equal(t, "another model", got.Allows(1<<31), len(models) == 0)
}

// raw reads a column as it lies in the arena.
func raw[T any](l *abi.Layout, arena []byte, kind abi.Kind, name string, rows int) []T {
	i := slices.IndexFunc(l.Columns, func(c abi.Placed) bool { return c.Kind == kind && c.Name == name })
	at := l.Columns[i]
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&arena[at.Offset])), rows*at.Stride/int(unsafe.Sizeof(zero)))
}

func (p *everything) checkColumns(t *rapid.T, c *poise.Call, l *abi.Layout, arena []byte) {
	n := c.Rows()
	if n == 0 {
		return
	}
	doubles := func(what string, got []float64, kind abi.Kind, name string) {
		// Bits, since the content is anything, NaN included.
		same(t, what, unsafe.Slice((*uint64)(unsafe.Pointer(&got[0])), len(got)), raw[uint64](l, arena, kind, name, n))
	}
	doubles("cpu capacity", p.cpuCap.Of(c), abi.Capacity, "cpu")
	doubles("memory capacity", p.memCap.Of(c), abi.Capacity, "memory")
	doubles("cpu allocated", p.cpuUsed.Of(c), abi.Allocated, "cpu")
	doubles("age", p.age.Of(c), abi.Age, "")
	same(t, "class", p.class.Of(c), raw[poise.Symbol](l, arena, abi.Class, "", n))
	same(t, "running_tasks", p.running.Of(c), raw[uint32](l, arena, abi.RunningTasks, "", n))
	same(t, "tenant_tasks", p.tenantTasks.Of(c), raw[uint32](l, arena, abi.TenantTasks, "", n))
	same(t, "job_tasks", p.jobTasks.Of(c), raw[uint32](l, arena, abi.JobTasks, "", n))
	same(t, "taints", p.taints.Of(c), raw[uint64](l, arena, abi.Taints, "", n))
	same(t, "selectors", p.selectors.Of(c), raw[uint64](l, arena, abi.Selectors, "", n))
	same(t, "zone", p.zone.Of(c), raw[poise.Symbol](l, arena, abi.Label, "zone", n))
	same(t, "rack", p.rack.Of(c), raw[poise.Symbol](l, arena, abi.Label, "rack", n))
	same(t, "model", p.model.Of(c), raw[poise.Symbol](l, arena, abi.DeviceModel, "gpu", n))
	if slots := l.Sizes.Devices; slots > 0 {
		free := raw[uint16](l, arena, abi.Devices, "gpu", n)
		for r := range n {
			same(t, "devices", p.devices.Of(c).Row(r), free[r*slots:][:slots])
		}
	}
}

func (p *everything) checkDomain(t *rapid.T, got poise.DomainView, want *abi.DomainBlock) {
	equal(t, "values", got.Len(), len(want.Values))
	equal(t, "absent", got.Absent(), want.Absent)
	i := 0
	var tenant, job, nodes []int
	for v := range got.All() {
		w := &want.Values[i]
		equal(t, "value", v.Symbol(), poise.Symbol(w.Value))
		equal(t, "nodes", v.Nodes(), w.Nodes)
		equal(t, "tenant_tasks", v.TenantTasks(), w.TenantTasks)
		equal(t, "job_tasks", v.JobTasks(), w.JobTasks)
		equal(t, "capacity", v.Capacity(p.memCap.Dim), w.Capacity[1])
		equal(t, "allocated", v.Allocated(p.memCap.Dim), w.Allocated[1])
		found, ok := got.Find(v.Symbol())
		equal(t, "found", ok && found == v, true)
		nodes, tenant, job = append(nodes, w.Nodes), append(tenant, w.TenantTasks), append(job, w.JobTasks)
		i++
	}
	if _, ok := got.Find(1 << 31); ok {
		t.Fatal("found a value that is not there")
	}
	for _, x := range []struct {
		of   func() (int, int)
		list []int
	}{{got.Nodes, nodes}, {got.TenantTasks, tenant}, {got.JobTasks, job}} {
		least, most := x.of()
		if len(x.list) == 0 {
			x.list = []int{0}
		}
		equal(t, "least", least, slices.Min(x.list))
		equal(t, "most", most, slices.Max(x.list))
	}
}

func (p *everything) checkProfile(t *rapid.T, got poise.ProfileView, want *abi.ProfileBlock) {
	equal(t, "epoch", got.Epoch(), want.Epoch)
	equal(t, "count", got.Count(), want.TotalCount)
	equal(t, "weight", got.Weight(), want.TotalWeight)
	equal(t, "shapes", got.Len(), len(want.Shapes))
	i := 0
	for s := range got.All() {
		w := &want.Shapes[i]
		equal(t, "shape's count", s.Count(), w.Count)
		equal(t, "shape's weight", s.Weight(), w.Weight)
		equal(t, "shape's cpu", s.Request(p.cpuCap.Dim), w.Request[0])
		equal(t, "shape's memory", s.Request(p.memCap.Dim), w.Request[1])
		checkAsk(t, s.Devices(), w.DeviceCount, w.DeviceMilli, 0, w.Models)
		i++
	}
}
