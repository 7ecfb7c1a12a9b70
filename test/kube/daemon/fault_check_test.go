package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	helper "k8s.io/component-helpers/resource"
)

// The annotations and labels of Poise that the checks go by.
const (
	placementNote = "poise.dev/placement"
	jobNote       = "poise.dev/job-id"
)

// audit follows the pods and nodes of an API server as a third party, from before
// Poise joins to the end of a test, and looks after every event at what must hold at
// every moment: no pod is on two nodes, no job has two pods, and no node has more on
// it than it can take. What it finds fails the test.
type audit struct {
	f       *fleet
	cluster string // that Poise knows it by
	lenient bool   // another scheduler fills the same nodes, so that they are overfilled

	mu    sync.Mutex
	pods  map[types.UID]*v1.Pod
	nodes map[string]*v1.Node
	room  map[string]v1.ResourceList // of the nodes that were ever there
	on    map[types.UID]string       // the node that a pod is or was on
	made  map[string]types.UID       // the pod that a job has or had, by placement
	wrong []string
}

func newAudit(f *fleet, cluster string) *audit {
	f.t.Helper()
	a := &audit{
		f: f, cluster: cluster, pods: map[types.UID]*v1.Pod{}, nodes: map[string]*v1.Node{}, room: map[string]v1.ResourceList{},
		on: map[types.UID]string{}, made: map[string]types.UID{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	nodes, pods := f.api.CoreV1().Nodes(), f.api.CoreV1().Pods("")
	following.Go(func() {
		follow(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) }, nodes.Watch, a.node)
	})
	following.Go(func() {
		follow(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) }, pods.Watch, a.pod)
	})
	f.t.Cleanup(func() {
		cancel()
		following.Wait()
		for _, w := range a.wrong {
			f.t.Error(w)
		}
	})
	eventually(f.t, "the nodes are seen", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.nodes) > 0
	})
	return a
}

// follow tells all changes of a resource, whatever becomes of the API server, until
// ctx ends. What was missed is told as what is there and what is no more.
func follow[O metav1.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error), tell func(object O, gone bool),
) {
	version, known := "", map[types.UID]O{}
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		if version == "" {
			all, err := list(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			there := map[types.UID]bool{}
			for _, o := range items[O](all) {
				there[o.GetUID()] = true
			}
			for uid, o := range known {
				if !there[uid] {
					delete(known, uid)
					tell(o, true)
				}
			}
			for _, o := range items[O](all) {
				known[o.GetUID()] = o
				tell(o, false)
			}
			version = all.(metav1.ListInterface).GetResourceVersion()
		}
		events, err := open(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			version = "" // it may be too old
			continue
		}
		for e := range events.ResultChan() {
			o, ok := e.Object.(O)
			if !ok {
				version = ""
				break
			}
			version = o.GetResourceVersion()
			switch e.Type {
			case watch.Deleted:
				delete(known, o.GetUID())
				tell(o, true)
			case watch.Added, watch.Modified:
				known[o.GetUID()] = o
				tell(o, false)
			}
		}
		events.Stop()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func items[O metav1.Object](list runtime.Object) (all []O) {
	switch l := list.(type) {
	case *v1.PodList:
		for i := range l.Items {
			all = append(all, any(&l.Items[i]).(O))
		}
	case *v1.NodeList:
		for i := range l.Items {
			all = append(all, any(&l.Items[i]).(O))
		}
	}
	return all
}

func (a *audit) node(n *v1.Node, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if gone {
		delete(a.nodes, n.Name)
		return
	}
	a.nodes[n.Name], a.room[n.Name] = n, n.Status.Allocatable
}

func (a *audit) pod(p *v1.Pod, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if gone {
		delete(a.pods, p.UID)
		return
	}
	a.pods[p.UID] = p
	node := p.Spec.NodeName
	if node == "" {
		return
	}
	if was := a.on[p.UID]; was != "" && was != node {
		a.fault("pod %s is on %s, and was on %s", p.Name, node, was)
	}
	a.on[p.UID] = node
	if placement := p.Annotations[placementNote]; placement != "" {
		if was, had := a.made[placement]; had && was != p.UID {
			a.fault("placement %s has a second pod, %s", placement, p.Name)
		}
		a.made[placement] = p.UID
	}
	if id := p.Annotations[jobNote]; id != "" && live(p) {
		for _, other := range a.pods {
			if other.UID != p.UID && other.Annotations[jobNote] == id && live(other) {
				a.fault("job %s runs twice, as %s and %s", id, p.Name, other.Name)
			}
		}
	}
	if room, known := a.room[node]; known && !a.lenient {
		for name, sum := range a.taken(node) {
			if has := room[name]; sum.Cmp(has) > 0 {
				a.fault("node %s has %s of %s on it, and takes %s: at last %s", node, sum.String(), name, has.String(), p.Name)
			}
		}
	}
}

// fault notes what must not be; the lock is held.
func (a *audit) fault(format string, args ...any) {
	if len(a.wrong) < 20 {
		a.wrong = append(a.wrong, a.cluster+": "+fmt.Sprintf(format, args...))
	}
}

// live says whether a pod holds something of its node.
func live(p *v1.Pod) bool {
	return p.Spec.NodeName != "" && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed
}

// waits says whether a pod is one that Poise is to place.
func waits(p *v1.Pod) bool {
	return p.Spec.SchedulerName == "poise" && p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) == 0 && p.DeletionTimestamp == nil
}

// requests gives what a pod takes of its node, itself counted.
func requests(p *v1.Pod) v1.ResourceList {
	list := helper.PodRequests(p, helper.PodResourcesOptions{})
	list[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return list
}

// taken gives what the pods on a node hold of it; the lock is held.
func (a *audit) taken(node string) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, p := range a.pods {
		if p.Spec.NodeName != node || !live(p) {
			continue
		}
		for name, amount := range requests(p) {
			s := sum[name]
			s.Add(amount)
			sum[name] = s
		}
	}
	return sum
}

// job is a job as `poise job list` has it.
type job struct {
	ID, Name, State, Reason, Node, Placement string
}

// settled waits until all is at rest, and what Poise says of it is what the API
// servers say: each pod that fits is bound, each other one has a condition that says
// why it waits, each job has ended or waits with a reason or has its one pod, and
// what Poise takes a node to hold is what the pods on it ask for.
func settled(t *testing.T, p *program, audits ...*audit) {
	t.Helper()
	var why string
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if why = unsettled(p, audits); why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not settle: %s", why)
		}
	}
}

// unsettled says what is not as it should be at rest, "" for nothing.
func unsettled(p *program, audits []*audit) string {
	jobs, nodes, err := p.lists()
	if err != nil {
		return err.Error()
	}
	byID, owned := map[string]*job{}, map[string][]*v1.Pod{}
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	at := map[string]string{} // a node as Poise names it, by placement
	for _, a := range audits {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, pod := range a.pods {
			id := pod.Annotations[jobNote]
			if id == "" {
				id = string(pod.UID)
			}
			if live(pod) && pod.Annotations[placementNote] != "" {
				owned[id] = append(owned[id], pod)
				at[pod.Annotations[placementNote]] = a.cluster + "/" + pod.Spec.NodeName
				if byID[id] == nil {
					return fmt.Sprintf("pod %s is of no job", pod.Name)
				}
			}
			if !waits(pod) {
				continue
			}
			j := byID[id]
			if j == nil || j.State != "waiting" {
				return fmt.Sprintf("pod %s waits, its job is %+v", pod.Name, j)
			}
			if node := a.fits(pod); node != "" && !strings.HasPrefix(j.Reason, "behind others") {
				return fmt.Sprintf("pod %s is not bound, and fits on %s: %s", pod.Name, node, j.Reason)
			}
			if !saysWhy(pod) {
				return fmt.Sprintf("pod %s does not say why it waits: %v", pod.Name, pod.Status.Conditions)
			}
		}
		if why := a.differs(nodes); why != "" {
			return why
		}
	}
	for i := range jobs {
		j, pods := &jobs[i], owned[jobs[i].ID]
		switch j.State {
		case "starting", "running":
			if len(pods) != 1 || pods[0].Annotations[placementNote] != j.Placement || at[j.Placement] != j.Node {
				return fmt.Sprintf("job %s is %s by %s on %s and has %d pods", j.Name, j.State, j.Placement, j.Node, len(pods))
			}
			if is := strings.ToLower(string(pods[0].Status.Phase)); is != "running" || j.State != is {
				return fmt.Sprintf("job %s is %s, its pod is %s", j.Name, j.State, is)
			}
		default:
			if len(pods) > 0 {
				return fmt.Sprintf("job %s is %s, and pod %s is on a node", j.Name, j.State, pods[0].Name)
			}
			if j.State == "waiting" && j.Reason == "" { // that of one that asks for the same, perhaps
				if why, err := p.try("job", "why", j.ID); err != nil || !strings.Contains(why, "decided by") {
					return fmt.Sprintf("job %s waits without a reason: %s", j.Name, why)
				}
			}
		}
	}
	return ""
}

// fits gives a node that has room for a pod and that its node selector lets it on,
// "" where there is none; the lock is held.
func (a *audit) fits(p *v1.Pod) string {
	for name, n := range a.nodes {
		taken := a.taken(name)
		ok := len(n.Spec.Taints) == 0 && !n.Spec.Unschedulable
		for key, value := range p.Spec.NodeSelector {
			ok = ok && n.Labels[key] == value
		}
		for what, want := range requests(p) {
			want.Add(taken[what])
			ok = ok && want.Cmp(n.Status.Allocatable[what]) <= 0
		}
		if ok {
			return name
		}
	}
	return ""
}

// saysWhy says whether a pod has the condition of one that waits.
func saysWhy(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable && c.Message != ""
	})
}

// differs says where Poise takes a node to hold something else than its pods ask for,
// or to be there or not; the lock is held.
func (a *audit) differs(nodes map[string]v1.ResourceList) string {
	for name := range a.nodes {
		if nodes[a.cluster+"/"+name] == nil {
			return fmt.Sprintf("node %s is not known", name)
		}
	}
	for full, has := range nodes {
		name, here := strings.CutPrefix(full, a.cluster+"/")
		if !here {
			continue
		}
		taken := a.taken(name)
		if a.nodes[name] == nil && len(taken) == 0 {
			return fmt.Sprintf("node %s is known, and is gone", name)
		}
		for _, what := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
			want, is := taken[what], has[what]
			if want.Cmp(is) != 0 {
				return fmt.Sprintf("node %s holds %s of %s, its pods ask for %s", full, is.String(), what, want.String())
			}
		}
	}
	return ""
}

// lists gives all jobs, and what each node holds.
func (p *program) lists() (jobs []job, allocated map[string]v1.ResourceList, err error) {
	out, err := p.try("job", "list", "--limit", "0", "-o", "json")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, out)
	}
	if err := json.Unmarshal([]byte(out), &jobs); err != nil {
		return nil, nil, err
	}
	var nodes []struct {
		Name      string
		Allocated v1.ResourceList
	}
	if out, err = p.try("node", "list", "--limit", "0", "-o", "json"); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, out)
	}
	allocated = map[string]v1.ResourceList{}
	if err := json.Unmarshal([]byte(out), &nodes); err != nil {
		return nil, nil, err
	}
	for _, n := range nodes {
		allocated[n.Name] = n.Allocated
		if n.Allocated == nil {
			allocated[n.Name] = v1.ResourceList{}
		}
	}
	return jobs, allocated, nil
}

// ended waits until so many jobs whose names begin so have succeeded, and no other is
// left.
func (p *program) ended(prefix string, n int) {
	p.t.Helper()
	var others []string
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		jobs, _, err := p.lists()
		succeeded := 0
		others = nil
		for _, j := range jobs {
			switch {
			case !strings.HasPrefix(j.Name, prefix):
			case j.State == "succeeded":
				succeeded++
			default:
				others = append(others, fmt.Sprintf("%+v", j))
			}
		}
		if succeeded == n && len(others) == 0 {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%d jobs %s… succeeded, expected %d; %v\n%s", succeeded, prefix, n, err, strings.Join(others, "\n"))
		}
	}
}
