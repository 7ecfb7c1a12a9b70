package state

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// BecomesPod says whether the job, which is no pod, is one wherever it runs: it asks
// for nodes of clusters of Kubernetes, whichever.
func (j *Job) BecomesPod() bool {
	return j.Kind == nil && slices.ContainsFunc(j.Shape.Selectors, func(s poise.Selector) bool {
		return s.Key == poise.ClusterLabel && s.Op == poise.Exists
	})
}

// AsPod gives the job as the pod that it becomes in a cluster. Nobody else has its
// kind.
func (s *State) AsPod(j *Job, cluster string) *Job {
	as := *j
	as.change(func(m *More) {
		m.Kind = &PodKind{Labels: poise.PodLabels(j.ID, j.Labels), Pod: &poise.Pod{Cluster: cluster, Space: s.space(cluster, j.Tenant)}}
	})
	return &as
}

// becomePod gives a task the kind of the pod that its job becomes in a namespace of a
// cluster, where it becomes one.
func (s *State) becomePod(t *Task, j *Job, cluster, space string) {
	if j.BecomesPod() {
		t.Kind = s.podKinds.acquire(&poise.Pod{Cluster: cluster, Space: space}, poise.PodLabels(j.ID, j.Labels))
	}
}

// space gives the namespace of the pod that a job has become, "" for any other task.
func (t *Task) space(j *Job) string {
	if j.Kind != nil || t.Kind == nil {
		return ""
	}
	return t.Kind.Pod.Space
}
