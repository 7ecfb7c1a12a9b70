package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// create has a pod for a job with an image, on its node from the start: one write,
// which a second one of the same placement does not repeat, as the pod's name is
// the placement's. What ran before is not made again.
func (c *Cluster) create(ctx context.Context, op, node string, b *engine.Binding) error {
	c.mu.Lock()
	if err := c.ready(op); err != nil {
		c.mu.Unlock()
		return err
	}
	_, there := c.world.places[b.Placement]
	space, has := c.world.spaceOf(b.Tenant)
	c.mu.Unlock()
	switch {
	case there:
		return nil
	case b.Begun:
		c.board.Post(lostStatus(nil, b.Placement, c.now()))
		return nil
	case !has:
		return &poise.Error{
			Kind: poise.Invalid, Op: op,
			Detail: fmt.Sprintf("tenant %s: no namespace of it in cluster %s, expected one of that name or with the label %s", b.Tenant, c.name, tenantLabel),
		}
	}
	pod, err := jobPod(b, space, c.world.scheduler, node)
	if err != nil {
		return &poise.Error{Kind: poise.Invalid, Op: op, Err: err}
	}
	c.stamp(pod.Annotations)
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	c.made[b.Placement] = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	c.mu.Unlock()
	err = c.client.create(ctx, pod)
	c.wrote(b.Placement, err)
	if apierrors.IsAlreadyExists(err) { // a write of before, also by a daemon of before
		var had *v1.Pod
		if had, err = c.client.pod(ctx, pod.Namespace, pod.Name); err == nil && had.Annotations[placementNote] != b.Placement {
			err = apierrors.NewConflict(v1.Resource("pods"), pod.Name, fmt.Errorf("it is not of placement %s", b.Placement))
		}
	}
	if err == nil {
		c.board.Add(engine.Status{Placement: b.Placement, State: engine.Starting})
		return nil
	}
	return failed(op, err)
}

// madePod asks the API server for the pod of a placement that is not seen yet, nil
// for one that is over.
func (c *Cluster) madePod(ctx context.Context, verb, placement string, at types.NamespacedName) (*v1.Pod, error) {
	pod, err := c.client.pod(ctx, at.Namespace, at.Name)
	switch {
	case err == nil && pod.Annotations[placementNote] == placement:
		c.board.Add(engine.Status{Placement: placement, State: engine.Starting})
		return pod, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, failed(fmt.Sprintf("%s %q", verb, placement), err)
	}
	if _, known := c.board.Get(placement); !known {
		return nil, c.never(verb, placement)
	}
	c.board.Post(lostStatus(nil, placement, c.now())) // deleted before it was seen
	return nil, nil
}

// spaceOf gives the namespace that a tenant's jobs go to: that of its name, else the
// first by name with its label.
func (w *world) spaceOf(tenant poise.TenantID) (string, bool) {
	if _, there := w.spaces[string(tenant)]; there && w.tenant(string(tenant)) == tenant {
		return string(tenant), true
	}
	for _, name := range slices.Sorted(maps.Keys(w.spaces)) {
		if w.tenant(name) == tenant {
			return name, true
		}
	}
	return "", false
}

// jobPod gives the pod of a job with an image. It gets what the job asks for, no
// less and no more, and no token for the API.
func jobPod(b *engine.Binding, space, scheduler, node string) (*v1.Pod, error) {
	name := "poise-" + b.Placement
	if why := validation.IsDNS1123Label(name); len(why) > 0 {
		return nil, fmt.Errorf("placement: %q, expected one that can be in the name of a pod: %s", b.Placement, strings.Join(why, ", "))
	}
	amounts, err := quantities(b)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, l := range poise.PodLabels(b.Job, b.Labels) {
		labels[l.Key] = l.Value
	}
	notes := map[string]string{placementNote: b.Placement, jobNote: string(b.Job), mark + "job-name": b.Name, tenantLabel: string(b.Tenant)}
	for key, value := range b.Notes {
		notes[mark+key] = value
	}
	grace := max(seconds(b.Grace), 1)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Labels: labels, Annotations: notes},
		Spec: v1.PodSpec{
			SchedulerName: scheduler, NodeName: node, RestartPolicy: v1.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
			Containers: []v1.Container{{
				Name: "main", Image: b.Image, Command: verbatim(b.Command), WorkingDir: b.Dir,
				Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts},
			}},
		},
	}
	if b.RunTime > 0 {
		limit := seconds(b.RunTime)
		pod.Spec.ActiveDeadlineSeconds = &limit
	}
	env := b.Identity()
	maps.Copy(env, b.Env)
	main := &pod.Spec.Containers[0]
	for _, name := range slices.Sorted(maps.Keys(env)) {
		main.Env = append(main.Env, v1.EnvVar{Name: name, Value: unexpanded(env[name])})
	}
	for i := range b.Tolerations {
		t := &b.Tolerations[i]
		out := v1.Toleration{Key: t.Key, Operator: v1.TolerationOpEqual, Value: t.Value, Effect: v1.TaintEffect(t.Effect)}
		if t.Exists {
			out.Operator = v1.TolerationOpExists
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, out)
	}
	return pod, nil
}

// quantities gives what a container asks for. That it is one of a node's pods goes
// without saying.
func quantities(b *engine.Binding) (v1.ResourceList, error) {
	list := v1.ResourceList{}
	for _, a := range b.Amounts {
		switch {
		case a.Name == podsDimension:
		case a.Name == "storage":
			list[v1.ResourceEphemeralStorage] = *quantity.NewQuantity(a.Value, quantity.BinarySI)
		case resource.UnitOf(a.Name) == resource.Bytes:
			list[v1.ResourceName(a.Name)] = *quantity.NewQuantity(a.Value, quantity.BinarySI)
		case a.Name != string(v1.ResourceCPU) && a.Value%1000 != 0:
			return nil, fmt.Errorf("request: %s: %s, expected a whole number, as Kubernetes has no parts of it", a.Name, resource.Format(a.Name, a.Value))
		default:
			list[v1.ResourceName(a.Name)] = *quantity.NewMilliQuantity(a.Value, quantity.DecimalSI)
		}
	}
	if n := int64(len(b.Devices)); n > 0 {
		name := v1.ResourceName(b.DeviceKind)
		if b.DeviceKind == gpuKind {
			name = gpuResource
		}
		list[name] = *quantity.NewQuantity(n, quantity.DecimalSI)
	}
	return list, nil
}

// seconds gives whole seconds, rounded up.
func seconds(s poise.Span) int64 {
	whole := int64(s) / 1000
	if s%1000 > 0 {
		whole++
	}
	return whole
}

// unexpanded gives a text that Kubernetes, which replaces $(NAME), leaves as text.
func unexpanded(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func verbatim(command []string) []string {
	var all []string
	for _, arg := range command {
		all = append(all, unexpanded(arg))
	}
	return all
}
