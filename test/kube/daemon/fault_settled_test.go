package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

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
	for end := time.Now().Add(2 * patience); ; time.Sleep(200 * time.Millisecond) {
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
			all, _ := p.try("job", "list", "--limit", "0")
			p.t.Fatalf("%d jobs %s… succeeded, expected %d; %v\n%s\n%s", succeeded, prefix, n, err, strings.Join(others, "\n"), all)
		}
	}
}
