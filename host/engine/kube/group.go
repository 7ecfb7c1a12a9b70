package kube

import (
	"fmt"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations by which pods say that they belong together.
const (
	gangNote      = mark + "gang"       // name, one in its namespace; none = the pods of one controller, such as a Job
	gangSizeNote  = mark + "gang-size"  // how many pods, 2 or more
	gangMinNote   = mark + "gang-min"   // how many start together; none = all
	gangIndexNote = mark + "gang-index" // of the pod among those that start; none = that in its Job, or by age
	jobIndexLabel = "batch.kubernetes.io/job-completion-index"
)

// podGroupLabels name the PodGroup that a pod is of, the newer one first.
var podGroupLabels = []string{"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"}

// group is what a pod says of those that it starts with.
type group struct {
	key      string // of the group in its cluster
	name     string // for people
	podGroup string // namespace and name of the object that has the size, "" = size has it
	size     int32  // how many pods there are to be
	least    int32  // how many of them start together
	hint     int32  // the index that the pod had better have, -1 = none
}

// groupOf gives the group that a pod says it is of, nil where it says none.
func groupOf(pod *v1.Pod) (*group, error) {
	g := &group{name: pod.Annotations[gangNote], hint: -1}
	for _, label := range podGroupLabels {
		if g.podGroup == "" {
			g.podGroup = pod.Labels[label]
		}
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	size := pod.Annotations[gangSizeNote]
	kind := "gang"
	switch {
	case size == "" && g.name == "" && g.podGroup == "":
		return nil, nil
	case size == "" && g.name != "":
		return nil, fmt.Errorf("%s: none, expected a number beside %s", gangSizeNote, gangNote)
	case size == "":
		kind, g.name = "group", g.podGroup
		g.podGroup = pod.Namespace + "/" + g.podGroup
	case g.name != "":
		g.podGroup = ""
	case g.podGroup != "":
		kind, g.name, g.podGroup = "group", g.podGroup, ""
	case controller != nil:
		kind, g.name = string(controller.UID), controller.Name
	default:
		return nil, fmt.Errorf("%s: the pod has no controller, expected %s beside it", gangSizeNote, gangNote)
	}
	g.key = fmt.Sprintf("%s/%s/%s", pod.Namespace, kind, g.name)
	if size == "" {
		return g, nil
	}
	return g, g.read(pod)
}

// read takes over the numbers of the annotations.
func (g *group) read(pod *v1.Pod) error {
	for _, f := range []struct {
		note, text  string
		least, most int32
		into        *int32
	}{
		{gangSizeNote, pod.Annotations[gangSizeNote], 2, poise.MaxGang, &g.size},
		{gangMinNote, pod.Annotations[gangMinNote], 1, poise.MaxGang, &g.least},
		{gangIndexNote, pod.Annotations[gangIndexNote], 0, poise.MaxGang - 1, &g.hint},
	} {
		if f.text == "" {
			continue
		}
		n, err := strconv.ParseInt(f.text, 10, 32)
		if err != nil || int32(n) < f.least || int32(n) > f.most {
			return fmt.Errorf("%s: %q, expected %d to %d", f.note, f.text, f.least, f.most)
		}
		*f.into = int32(n)
	}
	if g.least > g.size {
		return fmt.Errorf("%s: %d, expected at most %s, which is %d", gangMinNote, g.least, gangSizeNote, g.size)
	}
	if g.least == 0 {
		g.least = g.size
	}
	if n, err := strconv.ParseInt(pod.Labels[jobIndexLabel], 10, 32); err == nil && g.hint < 0 {
		g.hint = int32(n)
	}
	return nil
}
