package kube

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// oldGroupLabel is of groups without an object, whose size is in labels.
const oldGroupLabel = "pod-group.scheduling.sigs.k8s.io/name"

// Classify says what a pod uses that Poise does not place as kube-scheduler does,
// nothing where it may be placed. Every field of a pod is used, without meaning
// for where it goes, or named here; a test knows all of them.
func Classify(pod *v1.Pod) []string {
	spec := &pod.Spec
	var uses []string
	if len(spec.ResourceClaims) > 0 {
		uses = append(uses, "resource claims")
	}
	if spec.SchedulingGroup != nil {
		uses = append(uses, "a scheduling group")
	}
	if pod.Labels[oldGroupLabel] != "" {
		uses = append(uses, "a pod group of another scheduler ("+oldGroupLabel+"), expected the label "+podGroupLabels[0])
	}
	for i := range spec.Volumes {
		if what := volumeUses(&spec.Volumes[i].VolumeSource); what != "" {
			uses = append(uses, fmt.Sprintf("%s (volume %s)", what, spec.Volumes[i].Name))
		}
	}
	for i := range spec.Tolerations {
		switch op := spec.Tolerations[i].Operator; op {
		case "", v1.TolerationOpEqual, v1.TolerationOpExists:
		default:
			uses = append(uses, fmt.Sprintf("the operator %s of a toleration", op))
		}
	}
	for _, f := range features.AllFeatures {
		if f.InferForScheduling(&types.PodInfo{Spec: spec, Status: &pod.Status}) {
			uses = append(uses, "the node feature "+f.Name())
		}
	}
	for i := range uses {
		uses[i] = "uses " + uses[i]
	}
	slices.Sort(uses)
	return slices.Compact(uses)
}

// volumeUses names a volume that limits where its pod goes, "" for one that does
// not. A claim may be bound to some nodes, or be bound to the one that is chosen;
// of the others one node holds so many, or one of a name.
func volumeUses(v *v1.VolumeSource) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return "the volume claim " + v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return "a volume claim of its own"
	case v.GCEPersistentDisk != nil:
		return "a GCE persistent disk"
	case v.AWSElasticBlockStore != nil:
		return "an AWS block store"
	case v.AzureDisk != nil:
		return "an Azure disk"
	case v.Cinder != nil:
		return "a Cinder volume"
	case v.VsphereVolume != nil:
		return "a vSphere volume"
	case v.PortworxVolume != nil:
		return "a Portworx volume"
	case v.RBD != nil:
		return "an RBD image"
	case v.ISCSI != nil:
		return "an iSCSI volume"
	}
	return ""
}
