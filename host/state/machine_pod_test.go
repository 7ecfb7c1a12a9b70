package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// modelOccupant is what is on a node without a decision.
type modelOccupant struct {
	poise.Occupant
	incarnation uint64
	devices     []uint16
}

// occupy puts an occupant on its node. Of what no node ever declared it takes nothing.
func (m *model) occupy(o poise.Occupant) (kind poise.Kind, ok bool) {
	n := m.nodes[o.Node]
	switch {
	case o.Validate() != nil:
		return poise.Invalid, false
	case n == nil:
		return poise.NotFound, false
	}
	delete(m.occupants, o.ID)
	made := &modelOccupant{Occupant: o, incarnation: n.incarnation}
	made.Request.Amounts = nil
	for _, a := range o.Request.Amounts {
		if a.Value > 0 && m.declared(a.Name) {
			made.Request.Amounts = append(made.Request.Amounts, a)
		}
	}
	if o.Request.Device.Kind == n.Devices.Kind {
		made.devices = m.devices(&modelJob{Job: poise.Job{Request: o.Request}}, n)
	}
	m.occupants[o.ID] = made
	return 0, true
}

func (m *model) vacate(id string) (kind poise.Kind, ok bool) {
	if m.occupants[id] == nil {
		return poise.NotFound, false
	}
	delete(m.occupants, id)
	return 0, true
}

// others gives what is on a node beside tasks.
func (m *model) others(n *modelNode) (all []*modelOccupant) {
	for _, id := range slices.Sorted(maps.Keys(m.occupants)) {
		if o := m.occupants[id]; o.Node == n.Name && o.incarnation == n.incarnation {
			all = append(all, o)
		}
	}
	return all
}

// podKinds counts what rules about pods can tell apart, by node.
func (m *model) podKinds() map[string]int {
	kinds := map[string]int{}
	add := func(n *modelNode, p *poise.Pod, labels []poise.Label, ending bool) {
		if p != nil {
			kinds[kindText(n.Name, p, labels, false)]++
		}
		if p != nil && ending {
			kinds[kindText(n.Name, p, labels, true)]++
		}
	}
	for _, n := range m.nodes {
		for _, j := range m.tasks(n) {
			labels := j.Labels
			p := j.Pod
			if p == nil && j.on.space != "" {
				p, labels = &poise.Pod{Cluster: j.on.cluster, Space: j.on.space}, poise.PodLabels(j.ID, j.Labels)
			}
			add(n, p, labels, j.on.ending)
		}
		for _, o := range m.others(n) {
			add(n, o.Pod, o.Labels, o.Ending)
		}
	}
	return kinds
}

func kindText(node string, p *poise.Pod, labels []poise.Label, ending bool) string {
	return fmt.Sprintf("%s %+v %v %t", node, *p, labels, ending)
}

// podKindsOf gives the same of a state.
func podKindsOf(s *State) map[string]int {
	kinds := map[string]int{}
	for _, k := range s.PodKinds() {
		k.Each(func(row uint32, all, ending int32) {
			kinds[kindText(s.View().Name(row), k.Pod, k.Labels, false)] += int(all)
			if ending > 0 {
				kinds[kindText(s.View().Name(row), k.Pod, k.Labels, true)] += int(ending)
			}
		})
	}
	return kinds
}

// becomes notes the pod that a job becomes as it starts.
func (m *model) becomes(j *modelJob, n *modelNode) {
	if j.Pod != nil || !slices.ContainsFunc(j.Selectors, func(s poise.Selector) bool { return s.Key == poise.ClusterLabel }) {
		return
	}
	j.on.cluster, j.on.space = n.Cluster, string(j.Tenant)
	if space := m.spaces[n.Cluster+"/"+string(j.Tenant)]; space != "" {
		j.on.space = space
	}
}

// ending notes that a task is told to end.
func (m *model) ending(id poise.JobID) (kind poise.Kind, ok bool) {
	if kind, ok := m.known(id, true); !ok {
		return kind, false
	}
	m.jobs[id].on.ending = true
	return 0, true
}

func somePod(t *rapid.T) *poise.Pod {
	p := &poise.Pod{Cluster: "east", Space: rapid.SampledFrom([]string{"s", "u"}).Draw(t, "space")}
	if rarely(t, "has a rule", 2) {
		p.Rules = []poise.PodRule{{Key: "zone", Apart: true}}
	}
	return p
}

func (c *machine) occupy(t *rapid.T) {
	o := poise.Occupant{ID: rapid.SampledFrom([]string{"o", "p", "q"}).Draw(t, "occupant"), Name: "o", Node: c.nodeName(t), Ending: rapid.Bool().Draw(t, "ending")}
	o.Request.Amounts = someAmounts(t, rapid.Int64Range(0, 30), 2, "cpu", "fpga", "qat")
	if rapid.Bool().Draw(t, "takes devices") {
		o.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: rapid.Int32Range(1, 5).Draw(t, "count"), Milli: 1000}
	}
	if rapid.Bool().Draw(t, "is a pod") {
		o.Pod, o.Labels = somePod(t), []poise.Label{{Key: "app", Value: "x"}}
	}
	c.apply(t, poise.NodeOccupied{Occupant: o})
}

func (c *machine) vacate(t *rapid.T) {
	c.apply(t, poise.NodeVacated{ID: rapid.SampledFrom([]string{"o", "p", "q"}).Draw(t, "occupant")})
}

func (c *machine) setSpace(t *rapid.T) {
	c.apply(t, poise.SpaceSet{
		Cluster: rapid.SampledFrom([]string{"", "east"}).Draw(t, "cluster"), Tenant: rapid.SampledFrom(someTenants[:2]).Draw(t, "tenant"),
		Space: rapid.SampledFrom([]string{"", "s", "u"}).Draw(t, "space"),
	})
}

func (c *machine) ending(t *rapid.T) { c.apply(t, poise.JobEnding{Job: c.someJobID(t, false)}) }

// checkPods compares what rules about pods count.
func (c *machine) checkPods(t *rapid.T) {
	got, want := podKindsOf(c.State), c.m.podKinds()
	if !maps.Equal(got, want) {
		t.Fatalf("pods\n%s\nexpected\n%s", countsText(got), countsText(want))
	}
}

func countsText(counts map[string]int) string {
	var lines []string
	for what, n := range counts {
		lines = append(lines, fmt.Sprint(n, " ", what))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
