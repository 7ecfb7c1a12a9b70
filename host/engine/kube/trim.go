package kube

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// mark is what every annotation of Poise begins with.
const mark = "poise.dev/"

// trim drops from an object what is not used, before it is kept: of a cluster's
// pods that is most of their bytes.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *v1.Pod:
		trimPod(o)
	case *v1.Node:
		o.ManagedFields, o.Annotations = nil, nil
		o.Status = v1.NodeStatus{Allocatable: o.Status.Allocatable}
	case *v1.Namespace:
		o.ManagedFields, o.Annotations = nil, nil
	}
	return object, nil
}

func trimPod(p *v1.Pod) {
	p.ManagedFields, p.Finalizers = nil, nil
	var kept map[string]string
	for key, value := range p.Annotations {
		if strings.HasPrefix(key, mark) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	p.Annotations = kept
	if kept[gangSizeNote] == "" { // else its controller may be what it starts with
		p.OwnerReferences = nil
	}
	p.Spec.EphemeralContainers, p.Spec.HostAliases, p.Spec.DNSConfig, p.Spec.ImagePullSecrets = nil, nil, nil, nil
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := &list[i]
			list[i] = v1.Container{
				Name: c.Name, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
				VolumeMounts: c.VolumeMounts,
			}
		}
	}
	var scheduled []v1.PodCondition
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled || c.Type == v1.PodResizePending {
			scheduled = append(scheduled, c)
		}
	}
	p.Status.Conditions = scheduled
	p.Status.PodIPs, p.Status.HostIPs, p.Status.EphemeralContainerStatuses, p.Status.VolumeHealth = nil, nil, nil, nil
}
