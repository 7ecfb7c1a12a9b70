package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zones and pools are how many of each the nodes are divided into.
const zones, pools = 8, 4

const poolLabel = "pool"

// labelsOf gives the labels of a node.
func labelsOf(node int) map[string]string {
	return map[string]string{v1.LabelHostname: nodeName(node), v1.LabelTopologyZone: zone(node), poolLabel: pool(node)}
}

func nodeName(node int) string { return fmt.Sprintf("node-%d", node) }
func zone(i int) string        { return fmt.Sprintf("zone-%d", i%zones) }
func pool(i int) string        { return fmt.Sprintf("pool-%d", i%pools) }

// pod gives the i-th pod, of so many shapes in turn. Where there is one, it asks for
// half a cpu and has no rules. Of more, each asks for other amounts, up to 64 of
// them, and of eight that follow each other one has a node selector, one a required
// node affinity, one is spread over the zones and one had better not be beside pods
// of its shape.
func pod(name, scheduler string, i, shapes int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{SchedulerName: scheduler}}
	cpu, memory := int64(500), int64(1024)
	if shapes > 1 {
		shape := i % shapes
		cpu, memory = 100+100*int64(shape%8), 256+256*int64(shape/8%8)
		rule(p, shape)
	}
	p.Spec.Containers = []v1.Container{{Name: "main", Image: "none", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}}}}
	return p
}

// rule gives a pod the rule of its shape, if that has one.
func rule(p *v1.Pod, shape int) {
	p.Labels = map[string]string{"shape": fmt.Sprint(shape)}
	alike := &metav1.LabelSelector{MatchLabels: p.Labels}
	turn := shape / 8
	switch shape % 8 {
	case 4:
		p.Spec.NodeSelector = map[string]string{poolLabel: pool(turn)}
	case 5:
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone(turn), zone(turn + 1)}},
			}}},
		}}}
	case 6:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: alike},
		}
	case 7:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: alike}},
		}}}
	}
}
