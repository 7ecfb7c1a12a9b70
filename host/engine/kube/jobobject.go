package kube

import (
	"strings"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jobObject gives a Job that never runs: it is suspended, and its pods would wait for
// a gate that nobody opens, so that who unsuspends it runs nothing a second time.
func jobObject(m metav1.ObjectMeta, t *JobTemplate) object {
	if t == nil {
		t = &JobTemplate{}
	}
	labels := map[string]string{}
	for key, value := range t.Labels {
		if poise.PodLabel(poise.Label{Key: key, Value: value}) {
			labels[key], m.Labels[key] = value, value
		}
	}
	image := strings.TrimSpace(t.Image)
	if image == "" {
		image = "none"
	}
	amounts := t.shown()
	return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{
		Suspend: new(true),
		Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever, SchedulingGates: []v1.PodSchedulingGate{{Name: mark + "record"}},
			AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
			Containers: []v1.Container{{Name: "main", Image: image, Command: verbatim(t.Command), Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts}}},
		}},
	}}
}

// shown gives of a request what Kubernetes has resources of.
func (t *JobTemplate) shown() v1.ResourceList {
	b := engine.Binding{}
	for _, a := range t.Amounts {
		if a.Name == "cpu" || a.Name == "memory" || a.Name == "storage" {
			b.Amounts = append(b.Amounts, a)
		}
	}
	if t.DeviceKind == gpuKind && t.Devices > 0 {
		b.DeviceKind, b.Devices = gpuKind, make([]uint16, t.Devices)
	}
	amounts, err := quantities(&b)
	if err != nil {
		return nil
	}
	return amounts
}
