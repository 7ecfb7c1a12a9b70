package harness

import (
	"encoding/json"
	"maps"
	"slices"
)

func (a *arena) putParams(at int) {
	given := maps.Clone(a.world.Params)
	for i, p := range a.manifest.Params {
		text, ok := given[p.Name]
		delete(given, p.Name)
		if !ok {
			if p.Default == nil {
				a.t.Fatalf("params: %s is not given and has no default", p.Name)
			}
			if json.Unmarshal(p.Default, &text) != nil {
				text = string(p.Default)
			}
		}
		a.put64(at+8*i, a.parse(p.Type, text, p.Values))
	}
	for name := range given {
		a.t.Fatalf("params: %s, expected one that the plugin declares", name)
	}
}

func (a *arena) putJob(at int) {
	j := &a.world.Job
	m := &a.manifest
	for name := range j.Fields {
		if !slices.Contains(m.JobFields, name) {
			a.t.Fatalf("job: field %s, expected one of %q", name, m.JobFields)
		}
	}
	fields := a.take(8 * len(m.JobFields))
	for i, name := range m.JobFields {
		if text, ok := j.Fields[name].(string); ok {
			a.put64(fields+8*i, uint64(a.symbol(text)))
		} else {
			a.put64(fields+8*i, uint64(int64(a.number(j.Fields[name]))))
		}
	}
	request := a.take(8 * len(a.dims))
	a.putRequest(request, j.Request)
	models := a.putSymbols(j.Models)
	a.put(at, 48, j.Devices, j.Milli, a.symbol(j.DeviceKind), len(j.Models), models, j.Selectors,
		len(m.JobFields), fields, len(a.dims), request, 0)
}

// putRequest writes an amount per dimension.
func (a *arena) putRequest(at int, request map[string]float64) {
	a.putAmounts(at, func(dim string) float64 { return request[dim] })
	for dim := range request {
		if !slices.Contains(a.dims, dim) {
			a.t.Fatalf("request: %s, expected one of the plugin's dimensions %q", dim, a.dims)
		}
	}
}

func (a *arena) putAmounts(at int, of func(dim string) float64) {
	for i, dim := range a.dims {
		a.putF64(at+8*i, of(dim))
	}
}

func (a *arena) putFleet() int {
	at := a.take(16)
	list := a.take(16 * len(a.dims))
	a.put(at, len(a.world.Nodes), len(a.dims), 16, list)
	for i, dim := range a.dims {
		sum, most := 0.0, 0.0
		for _, n := range a.world.Nodes {
			v := a.number(n["capacity:"+dim])
			sum += v
			most = max(most, v)
		}
		a.putF64(list+16*i, sum)
		a.putF64(list+16*i+8, most)
	}
	return at
}

func (a *arena) putDomains() int {
	keys := a.manifest.Domains
	if len(keys) == 0 {
		return 0
	}
	at := a.take(16)
	list := a.take(48 * len(keys))
	a.put(at, len(keys), list, 48, len(a.dims))
	for i, key := range keys {
		a.putDomain(list+48*i, key)
	}
	return at
}

// putDomain counts the nodes by their value of a key.
func (a *arena) putDomain(at int, key string) {
	groups := map[int][]Node{}
	absent := 0
	for _, n := range a.world.Nodes {
		if text, _ := n[key].(string); text != "" {
			s := a.symbol(text)
			groups[s] = append(groups[s], n)
		} else {
			absent++
		}
	}
	order := slices.Sorted(maps.Keys(groups))
	stride := 16 + 16*len(a.dims)
	list := a.take(stride * len(order))
	var nodes, tenant, job []int
	for i, s := range order {
		sum := func(column string) float64 {
			total := 0.0
			for _, n := range groups[s] {
				total += a.number(n[column])
			}
			return total
		}
		v := list + stride*i
		nodes = append(nodes, len(groups[s]))
		tenant = append(tenant, int(sum("tenant_tasks")))
		job = append(job, int(sum("job_tasks")))
		a.put(v, s, nodes[i], tenant[i], job[i])
		a.putAmounts(v+16, func(dim string) float64 { return sum("capacity:" + dim) })
		a.putAmounts(v+16+8*len(a.dims), func(dim string) float64 { return sum("allocated:" + dim) })
	}
	a.put(at, len(order), list, stride, absent)
	for i, counts := range [][]int{tenant, job, nodes} {
		if len(counts) > 0 {
			a.put(at+16+8*i, slices.Min(counts), slices.Max(counts))
		}
	}
}

func (a *arena) putProfile() int {
	if !a.manifest.WantsProfile {
		return 0
	}
	at := a.take(40)
	shapes := a.world.Profile
	stride := 32 + 8*len(a.dims)
	list := a.take(stride * len(shapes))
	count, weight := 0.0, 0.0
	for i, s := range shapes {
		w := s.Count * float64(1+s.Devices)
		count += s.Count
		weight += w
		v := list + stride*i
		a.putF64(v, s.Count)
		a.putF64(v+8, w)
		a.put(v+16, s.Devices, s.Milli, len(s.Models), a.putSymbols(s.Models))
		a.putRequest(v+32, s.Request)
	}
	a.put64(at, 1)
	a.putF64(at+8, count)
	a.putF64(at+16, weight)
	a.put(at+24, len(shapes), stride, list, len(a.dims))
	return at
}
