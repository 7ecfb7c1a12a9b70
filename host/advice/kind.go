package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// kind is a class of nodes as it could be bought.
type kind struct {
	name  string
	nodes int
	rows  []uint32
	node  poise.Node // the most frequent capacity and devices
	// places are the labels and taints that nodes of the class have, each once.
	places []poise.Node
	holds  map[*group]bool // whose jobs an empty node holds
}

// maxPlaces bounds the labels and taints of a class that are tried.
const maxPlaces = 64

// kindsOf gives the classes of the present nodes, by name. Nodes that no model has
// given a class go by their devices.
func kindsOf(snap *state.Snapshot) []*kind {
	byName := map[string]*kind{}
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		name := classOf(snap, row)
		if byName[name] == nil {
			byName[name] = &kind{name: name, holds: map[*group]bool{}}
		}
		k := byName[name]
		k.nodes++
		k.rows = append(k.rows, row)
	}
	kinds := make([]*kind, 0, len(byName))
	for _, k := range byName {
		slices.SortFunc(k.rows, func(a, b uint32) int { return cmp.Compare(snap.Name(a), snap.Name(b)) })
		k.describe(snap)
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *kind) int { return cmp.Compare(a.name, b.name) })
	return kinds
}

func classOf(snap *state.Snapshot, row uint32) string {
	if class, ok := model.ClassOf(snap.Labels(row)); ok {
		return class
	}
	n := snap.Devices(row)
	if n == 0 {
		return "cpu"
	}
	parts := []string{snap.Kinds()[snap.Kind(row)], strings.ToLower(snap.Models()[snap.Model(row)]), strconv.Itoa(n) + "x"}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
}

// describe finds what is typical: of the most frequent ones the first by name.
func (k *kind) describe(snap *state.Snapshot) {
	times, most := map[string]int{}, 0
	makes := make([]poise.Node, len(k.rows))
	for i, row := range k.rows {
		makes[i] = snap.NodeOf(row)
		times[makeOf(&makes[i])]++
	}
	for i := range makes {
		if n := times[makeOf(&makes[i])]; n > most {
			most = n
			k.node = poise.Node{Name: k.name, Capacity: makes[i].Capacity, Devices: makes[i].Devices}
		}
	}
	seen := map[string]bool{}
	for i := range makes {
		at := k.node
		at.Labels, at.Taints = makes[i].Labels, makes[i].Taints
		if key := fmt.Sprint(at.Labels, at.Taints); !seen[key] && len(k.places) < maxPlaces {
			seen[key] = true
			at.Name = fmt.Sprintf("%s-%d", k.name, len(k.places))
			k.places = append(k.places, at)
		}
	}
}

func makeOf(n *poise.Node) string { return fmt.Sprint(n.Capacity, n.Devices) }

// able gives the groups whose jobs an empty node of the class holds, somewhere in
// the class where the label is that they go by, by the native filters.
func (k *kind) able(groups []*group) ([]*group, error) {
	var able []*group
	empty := map[string]*state.State{} // by label
	for _, g := range groups {
		if empty[g.label] == nil {
			s, err := k.empties(g.label)
			if err != nil {
				return nil, err
			}
			empty[g.label] = s
		}
		unfit, err := sched.Unfit(empty[g.label].View(), &g.job)
		if err != nil {
			return nil, err
		}
		if unfit == nil {
			k.holds[g] = true
			able = append(able, g)
		}
	}
	return able, nil
}

// empties gives an empty node of the class in each of its places, of those with a
// label where one is given.
func (k *kind) empties(label string) (*state.State, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	for i := range k.places {
		if !has(k.places[i].Labels, label) {
			continue
		}
		if err := s.Apply(poise.Event{Index: s.Index() + 1, Body: poise.NodeJoined{Node: k.places[i]}}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// has says whether a label is among some; the one without a name is.
func has(labels []poise.Label, label string) bool {
	_, found := poise.LabelValue(labels, label)
	return found || label == ""
}

// packing is so many jobs on so many nodes.
type packing struct{ jobs, nodes int }

// bin is what is idle of a new node.
type bin struct {
	idle []int64 // by the capacity's order
	free []int32 // milli-devices
}

// pack puts the jobs, the largest first, each on the first new node that has room.
func (k *kind) pack(groups []*group) packing {
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b *group) int { return cmp.Compare(k.part(&b.job), k.part(&a.job)) })
	var p packing
	var bins []*bin
	for _, g := range sorted {
		at := 0 // those before have no room for this shape any more
		for range g.lacking {
			for at < len(bins) && !bins[at].take(k, &g.job.Shape.Request) {
				at++
			}
			if at == len(bins) {
				bins = append(bins, k.empty())
				bins[at].take(k, &g.job.Shape.Request)
			}
			p.jobs++
		}
	}
	p.nodes = len(bins)
	return p
}

func (k *kind) empty() *bin {
	b := &bin{}
	for _, a := range k.node.Capacity {
		b.idle = append(b.idle, a.Value)
	}
	for range k.node.Devices.Count {
		b.free = append(b.free, poise.WholeDevice)
	}
	return b
}

// take takes a request, or nothing where there is no room.
func (b *bin) take(k *kind, r *poise.Request) bool {
	for i, c := range k.node.Capacity {
		if ask, _ := r.Amounts.Find(c.Name); ask > b.idle[i] {
			return false
		}
	}
	devices, ok := b.devices(&r.Device)
	if !ok {
		return false
	}
	for i, c := range k.node.Capacity {
		ask, _ := r.Amounts.Find(c.Name)
		b.idle[i] -= ask
	}
	for _, d := range devices {
		b.free[d] -= r.Device.Milli
	}
	return true
}

// devices gives those to take: of the ones with room, those with least of it.
func (b *bin) devices(r *poise.DeviceRequest) (taken []int, ok bool) {
	for range r.Count {
		best := -1
		for d, free := range b.free {
			if free >= r.Milli && !slices.Contains(taken, d) && (best < 0 || free < b.free[best]) {
				best = d
			}
		}
		if best < 0 {
			return nil, false
		}
		taken = append(taken, best)
	}
	return taken, true
}

// part is the largest part that a job takes of any resource of a node.
func (k *kind) part(j *state.Job) float64 {
	most := 0.0
	of := func(ask, whole int64) {
		if whole > 0 {
			most = max(most, float64(ask)/float64(whole))
		}
	}
	r := &j.Shape.Request
	for _, c := range k.node.Capacity {
		ask, _ := r.Amounts.Find(c.Name)
		of(ask, c.Value)
	}
	of(r.Device.Total(), int64(k.node.Devices.Count)*poise.WholeDevice)
	return most
}

// least is how many nodes the jobs need though they were cut up at will, give or take the last bit of a float64: of the
// scarcest resource, rounded up.
func (k *kind) least(groups []*group) int {
	most := 0.0
	of := func(whole int64, ask func(*poise.Request) int64) {
		sum := 0.0
		for _, g := range groups {
			sum += float64(float64(g.lacking) * float64(ask(&g.job.Shape.Request)))
		}
		if whole > 0 {
			most = max(most, sum/float64(whole))
		}
	}
	for _, c := range k.node.Capacity {
		of(c.Value, func(r *poise.Request) int64 { return amount(r.Amounts, c.Name) })
	}
	of(int64(k.node.Devices.Count)*poise.WholeDevice, func(r *poise.Request) int64 { return r.Device.Total() })
	n := int(most)
	if float64(n) < most {
		n++
	}
	return n
}

func amount(list resource.List, name string) int64 {
	v, _ := list.Find(name)
	return v
}
