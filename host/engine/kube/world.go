package kube

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The annotations and labels that Poise reads itself.
const (
	placementNote = mark + "placement"
	jobNote       = mark + "job-id" // of a pod that was made for a job
	tenantLabel   = mark + "tenant" // of a namespace
)

// world is a cluster as its API server last told it, and what of it was told on.
// It does no I/O.
type world struct {
	reader    Reader
	scheduler string // the pods that ask for it are Poise's to place
	now       func() poise.Time
	post      func(engine.Status)

	pods   map[types.UID]*podView
	nodes  map[string]*nodeView
	spaces map[string]labels.Set
	places map[string]types.UID // by placement, of pods that are there
	groups groups
	out    []Change

	identity   string                    // uid of systemSpace
	relabelled bool                      // a namespace has changed since tellSpaces
	spaced     map[poise.TenantID]string // what it told
}

type podView struct {
	pod       *v1.Pod
	told      Change // PodWaits, PodOccupies, PodBound or nil
	placement string // "" = Poise has not placed it
	ended     bool   // its placement's end was told
	group     *group // nil = it is in none
	part      *part  // of the group, nil = its group was not looked at yet
	refused   bool   // it must not be placed
	waiting   wait   // what its status was made to say last
}

type nodeView struct {
	node    poise.Node
	told    bool
	present bool
	pods    map[types.UID]bool // that hold something of it
}

func newWorld(cluster, scheduler string, now func() poise.Time, post func(engine.Status)) *world {
	w := &world{
		scheduler: scheduler, now: now, post: post,
		pods: map[types.UID]*podView{}, nodes: map[string]*nodeView{}, spaces: map[string]labels.Set{}, places: map[string]types.UID{},
		groups: newGroups(),
	}
	w.reader = Reader{Cluster: cluster, Tenant: w.tenant, Spaces: w.matching}
	return w
}

// tenant gives the tenant of a namespace: what its label says, or its name.
func (w *world) tenant(space string) poise.TenantID {
	if t := w.spaces[space][tenantLabel]; t != "" {
		return poise.TenantID(t)
	}
	return poise.TenantID(space)
}

func (w *world) matching(s labels.Selector) []string {
	var found []string
	for name, of := range w.spaces {
		if s.Matches(of) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// take gives the changes since the last time.
func (w *world) take() []Change {
	w.tellSpaces()
	w.regroup()
	out := w.out
	w.out = nil
	return out
}

// all gives what was told and still holds.
func (w *world) all() Synced {
	s := Synced{Identity: w.identity, Spaces: w.spacesTold()}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if n := w.nodes[name]; n.told {
			s.Nodes = append(s.Nodes, n.node)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		switch told := w.pods[uid].told.(type) {
		case PodWaits:
			s.Waiting = append(s.Waiting, told)
		case PodOccupies:
			s.Occupants = append(s.Occupants, told.Occupant)
		case PodBound:
			s.Bound = append(s.Bound, told)
		}
	}
	slices.SortStableFunc(s.Waiting, func(a, b PodWaits) int { return cmp.Compare(a.Created, b.Created) })
	return s
}

// created gives when a pod was made, by the API server's clock.
func created(p *v1.Pod) poise.Time { return poise.Time(max(p.CreationTimestamp.UnixMilli(), 0)) }

// space takes in a namespace, nil labels for one that is gone, and reads the pods
// again that it may matter to.
func (w *world) space(name string, of labels.Set) {
	was, known := w.spaces[name]
	if known == (of != nil) && maps.Equal(was, of) {
		return
	}
	if of == nil {
		delete(w.spaces, name)
	} else {
		w.spaces[name] = of
	}
	w.relabelled = true
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		if v := w.pods[uid]; v.pod.Namespace == name || selectsSpaces(v.pod) {
			w.tell(v)
		}
	}
}

// selectsSpaces says whether a pod has rules about namespaces with labels.
func selectsSpaces(pod *v1.Pod) bool {
	a := pod.Spec.Affinity
	if a == nil {
		return false
	}
	some := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) bool {
		return slices.ContainsFunc(required, func(t v1.PodAffinityTerm) bool { return t.NamespaceSelector != nil }) ||
			slices.ContainsFunc(preferred, func(t v1.WeightedPodAffinityTerm) bool { return t.PodAffinityTerm.NamespaceSelector != nil })
	}
	return a.PodAffinity != nil && some(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) ||
		a.PodAntiAffinity != nil && some(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

// node takes in a node. One that cannot be read is as it was, and not ready.
func (w *world) node(n *v1.Node) error {
	v := w.nodeView(n.Name)
	read, err := Node(n, w.reader.Cluster)
	if err != nil {
		read = v.node
		read.Name, read.Cluster, read.NotReady = NodeName(w.reader.Cluster, n.Name), w.reader.Cluster, true
	}
	v.present = true
	w.tellNode(v, read)
	return err
}

// nodeGone takes in that a node is gone. Its row stays until its pods have gone.
func (w *world) nodeGone(name string) {
	v := w.nodes[name]
	if v == nil {
		return
	}
	v.present = false
	w.settle(name, v)
}

func (w *world) nodeView(name string) *nodeView {
	v := w.nodes[name]
	if v == nil {
		v = &nodeView{pods: map[types.UID]bool{}}
		w.nodes[name] = v
	}
	return v
}

// tellNode tells a node, and where it is new what is on it.
func (w *world) tellNode(v *nodeView, n poise.Node) {
	if v.told && reflect.DeepEqual(v.node, n) {
		return
	}
	fresh := !v.told
	v.node, v.told = n, true
	w.out = append(w.out, NodeSeen{n})
	if !fresh {
		return
	}
	for _, uid := range slices.Sorted(maps.Keys(v.pods)) {
		w.tell(w.pods[uid])
	}
}

// settle has a node go that is gone and that no pod is on, or be not ready until
// then.
func (w *world) settle(name string, v *nodeView) {
	switch {
	case v.present:
	case len(v.pods) > 0 && v.told:
		n := v.node
		n.NotReady = true
		w.tellNode(v, n)
	case len(v.pods) == 0:
		delete(w.nodes, name)
		if v.told {
			w.out = append(w.out, NodeGone{v.node.Name})
		}
	}
}

// pod takes in a pod.
func (w *world) pod(p *v1.Pod) {
	v := w.pods[p.UID]
	if v == nil {
		v = &podView{}
		w.pods[p.UID] = v
	}
	v.pod = p
	if w.ours(p) {
		is, _ := groupOf(p) // one that it gets wrong is refused
		w.grouped(v, is)
	}
	if placement := p.Annotations[placementNote]; placement != "" && p.Spec.NodeName != "" && w.ours(p) && v.placement == "" {
		w.placed(v, placement)
	}
	if p.Spec.NodeName != "" && !Terminal(p) {
		w.nodeView(p.Spec.NodeName).pods[p.UID] = true
	}
	w.tell(v)
	if v.placement != "" && !v.ended && p.Spec.NodeName != "" {
		s := statusOf(p, v.placement)
		if s.State.Ended() && s.Ended == 0 {
			s.Ended = w.now()
		}
		v.ended = s.State.Ended()
		w.post(s)
	}
	if Terminal(p) {
		w.leave(v)
	}
}

// placed notes that Poise has placed a pod.
func (w *world) placed(v *podView, placement string) {
	v.placement = placement
	w.places[placement] = v.pod.UID
}

// podGone takes in that a pod is gone. What is given is as it was last seen, which
// may be before it was placed.
func (w *world) podGone(p *v1.Pod) {
	v := w.pods[p.UID]
	if v == nil {
		return
	}
	if v.pod.Spec.NodeName == "" { // it may have been placed and gone between two looks
		v.pod = p
		if placement := p.Annotations[placementNote]; placement != "" && v.placement == "" && w.ours(p) {
			w.placed(v, placement)
		}
	}
	if v.placement != "" && !v.ended {
		v.ended = true
		if s := statusOf(p, v.placement); s.State.Ended() {
			w.post(s)
		} else {
			w.post(lostStatus(v.pod, v.placement, w.now()))
		}
	}
	w.gone(v)
	w.grouped(v, nil)
	delete(w.pods, p.UID)
	delete(w.places, v.placement)
	w.leave(v)
}

// leave takes a pod off its node.
func (w *world) leave(v *podView) {
	name := v.pod.Spec.NodeName
	if n := w.nodes[name]; n != nil && n.pods[v.pod.UID] {
		delete(n.pods, v.pod.UID)
		w.settle(name, n)
	}
}

// gone tells that a pod is gone, where it was told to be there.
func (w *world) gone(v *podView) {
	switch v.told.(type) {
	case PodWaits:
		if v.placement == "" {
			w.out = append(w.out, PodGone{poise.JobID(v.pod.UID)})
		}
	case PodOccupies, PodBound:
		w.out = append(w.out, PodGone{poise.JobID(v.pod.UID)})
	}
	v.told = nil
}

// tell says what a pod is, where it is not what was said.
func (w *world) tell(v *podView) {
	now := w.what(v)
	switch {
	case now == nil:
		w.gone(v)
	case !reflect.DeepEqual(now, v.told):
		if _, occupies := now.(PodOccupies); occupies {
			if _, waited := v.told.(PodWaits); waited { // somebody else has placed it
				w.gone(v)
			}
		}
		v.told = now
		w.out = append(w.out, now)
	}
}

// what gives what is to be told of a pod, nil = nothing.
func (w *world) what(v *podView) Change {
	p := v.pod
	switch {
	case Terminal(p):
		return nil
	case p.Spec.NodeName == "":
		if !w.ours(p) || Gated(p) || p.DeletionTimestamp != nil || cancelled(p) {
			return nil
		}
		job, refused := w.reader.Job(p)
		waits := PodWaits{Job: job, Refused: refused, Created: created(p)}
		if is := len(refused) > 0; v.group != nil && v.refused != is {
			v.refused, w.groups.dirty[v.group.key] = is, true
		}
		switch {
		case v.group == nil || len(refused) > 0:
		case v.part == nil:
			return nil // its group is looked at once all is taken in that was read
		case v.part.gang != nil:
			waits.Job.Gang, waits.Job.Tasks = v.part.gang, v.part.gang.Size
		default:
			waits.Until = v.part.until
		}
		return waits
	case v.placement != "":
		job, _ := w.reader.Job(p)
		return PodBound{
			Job: job, Node: NodeName(w.reader.Cluster, p.Spec.NodeName), Placement: v.placement, Ending: p.DeletionTimestamp != nil,
			Of: poise.JobID(p.Annotations[jobNote]), Created: created(p),
		}
	}
	if n := w.nodes[p.Spec.NodeName]; n == nil || !n.told {
		return nil // a node that is not followed, or that is seen later
	}
	o, holds := w.reader.Occupant(p)
	if !holds {
		return nil
	}
	return PodOccupies{o}
}
