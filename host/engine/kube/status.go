package kube

import (
	"fmt"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf says how far the task of a bound pod has come.
func statusOf(pod *v1.Pod, placement string) engine.Status {
	s := engine.Status{Placement: placement, Started: startOf(pod)}
	switch pod.Status.Phase {
	case v1.PodRunning:
		s.State = engine.Running
	case v1.PodSucceeded:
		s.State, s.Ended = engine.Succeeded, endOf(pod)
	case v1.PodFailed:
		s.State, s.Ended = engine.Failed, endOf(pod)
		s.Detail = pod.Status.Reason
		if m := pod.Status.Message; m != "" {
			s.Detail = joined(s.Detail, m)
		}
		if end := firstFailed(pod); end != nil {
			s.ExitCode = end.ExitCode
			if end.ExitCode == 0 {
				s.ExitCode = end.Signal + 128
			}
			if s.Detail == "" && end.Reason != "Error" {
				s.Detail = joined(end.Reason, end.Message)
			}
		}
	}
	return s
}

// lostStatus is the end of a pod that was deleted before anybody said how it
// ended.
func lostStatus(pod *v1.Pod, placement string, now poise.Time) engine.Status {
	s := engine.Status{Placement: placement, State: engine.Lost, Ended: now, Detail: "the pod was deleted"}
	if pod != nil {
		s.Started = startOf(pod)
	}
	return s
}

// firstFailed gives how the first container ended that did not end well.
func firstFailed(pod *v1.Pod) *v1.ContainerStateTerminated {
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if end := list[i].State.Terminated; end != nil && (end.ExitCode != 0 || end.Signal != 0) {
				return end
			}
		}
	}
	return nil
}

// startOf gives when the first container of a pod started, 0 = none did.
func startOf(pod *v1.Pod) poise.Time {
	var first poise.Time
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i].State
		var at metav1.Time
		switch {
		case s.Running != nil:
			at = s.Running.StartedAt
		case s.Terminated != nil:
			at = s.Terminated.StartedAt
		}
		if t := timeOf(at); t > 0 && (first == 0 || t < first) {
			first = t
		}
	}
	if first == 0 && pod.Status.Phase != v1.PodPending && pod.Status.StartTime != nil {
		first = timeOf(*pod.Status.StartTime)
	}
	return first
}

// endOf gives when the last container of a pod ended.
func endOf(pod *v1.Pod) poise.Time {
	var last poise.Time
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil {
			last = max(last, timeOf(end.FinishedAt))
		}
	}
	return last
}

func timeOf(t metav1.Time) poise.Time {
	if t.IsZero() {
		return 0
	}
	return poise.Time(t.UnixMilli())
}

func joined(reason, message string) string {
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	}
	return fmt.Sprintf("%s: %s", reason, message)
}
