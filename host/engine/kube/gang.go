package kube

import (
	"fmt"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
)

// The annotations by which pods say that they belong together. The index of a pod
// of an indexed Job is that in the Job.
const (
	gangNote      = mark + "gang"       // name, one in its namespace
	gangSizeNote  = mark + "gang-size"  // how many pods, 2 or more
	gangMinNote   = mark + "gang-min"   // how many start together; none = all
	gangIndexNote = mark + "gang-index" // of the pod, from 0; none = that in its Job
	jobIndexLabel = "batch.kubernetes.io/job-completion-index"
)

// groupLabels are those by which other schedulers know pods that belong together.
var groupLabels = []string{"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name"}

// gang gives the gang that a pod says it is of, nil where it says none.
func (r *Reader) gang(pod *v1.Pod) (*poise.Gang, error) {
	name := pod.Annotations[gangNote]
	if name == "" {
		return nil, nil
	}
	g := &poise.Gang{ID: fmt.Sprintf("%s/%s/%s", r.Cluster, pod.Namespace, name), Name: name}
	index := pod.Annotations[gangIndexNote]
	if index == "" {
		index = pod.Labels[jobIndexLabel]
	}
	for _, f := range []struct {
		note, text string
		into       *int32
	}{{gangSizeNote, pod.Annotations[gangSizeNote], &g.Size}, {gangMinNote, pod.Annotations[gangMinNote], &g.Min}, {gangIndexNote, index, &g.Index}} {
		if f.text == "" && f.note == gangMinNote {
			continue
		}
		n, err := strconv.ParseInt(f.text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %q, expected a number", f.note, f.text)
		}
		*f.into = int32(n)
	}
	return g, g.Validate(name)
}
