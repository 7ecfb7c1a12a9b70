package kubelet

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ending is how a pod ended. One that never started has no exit code but a
// reason.
type ending struct {
	exitCode        int32
	never           bool
	reason, message string
}

func (e ending) failed() bool { return e.never || e.exitCode != 0 }

// String is the last line of the log.
func (e ending) String() string {
	if e.never {
		return "not started: " + e.reason
	}
	return fmt.Sprintf("exit code %d", e.exitCode)
}

// running is the status of a pod whose containers run.
func running(pod *v1.Pod, started time.Time) v1.PodStatus {
	at := metav1.NewTime(started)
	s := v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &at,
		HostIP: address, HostIPs: []v1.HostIP{{IP: address}},
		PodIP: "10.0.1.1", PodIPs: []v1.PodIP{{IP: "10.0.1.1"}}, // all have it, nobody connects
		Conditions: conditions(v1.ConditionTrue, "", at),
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, v1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return s
}

// ended is the status of a pod that has ended.
func ended(pod *v1.Pod, started, now time.Time, e ending) v1.PodStatus {
	at := metav1.NewTime(now)
	s := v1.PodStatus{Phase: v1.PodSucceeded, Reason: e.reason, Message: e.message, Conditions: conditions(v1.ConditionFalse, "PodCompleted", at)}
	why := "Completed"
	if e.failed() {
		s.Phase, why = v1.PodFailed, "Error"
		s.Conditions = conditions(v1.ConditionFalse, "PodFailed", at)
	}
	if e.never {
		return s
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, v1.ContainerStatus{
			Name: c.Name, Image: c.Image, Started: new(false),
			State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				ExitCode: e.exitCode, Reason: why, StartedAt: metav1.NewTime(started), FinishedAt: at,
			}},
		})
	}
	return s
}

// conditions are those that follow whether the containers run.
func conditions(ready v1.ConditionStatus, reason string, at metav1.Time) []v1.PodCondition {
	return []v1.PodCondition{
		{Type: v1.PodInitialized, Status: v1.ConditionTrue, LastTransitionTime: at},
		{Type: v1.ContainersReady, Status: ready, Reason: reason, LastTransitionTime: at},
		{Type: v1.PodReady, Status: ready, Reason: reason, LastTransitionTime: at},
	}
}

// statusPatch writes a status over that of the pod with this UID and of no
// namesake. Conditions of others stay.
func statusPatch(pod *v1.Pod, s v1.PodStatus) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": s})
}
