package kubelet

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Annotations of a pod that say what happens on its node, or variables of these names
// of its first container, for pods that somebody else makes. Durations are Go's, as
// in "1m30s".
const (
	StartIn  = "kubelet.test/start-in"  // from the binding until it runs; none by default
	RunFor   = "kubelet.test/run-for"   // from then until its containers end; else Config.RunFor
	ExitCode = "kubelet.test/exit-code" // with which they end; 0 by default
	StopIn   = "kubelet.test/stop-in"   // how long they take to end when deleted; none by default, the grace at most
	Log      = "kubelet.test/log"       // lines that they print as they start
)

// Exit codes of containers that are ended from outside.
const (
	exitTerminated = 143 // by SIGTERM
	exitKilled     = 137 // by SIGKILL
)

// script is what a pod does.
type script struct {
	startIn, runFor, stopIn time.Duration
	forever                 bool
	deadline                time.Duration // from the start; 0 for none
	exitCode                int32
	log                     []string
}

// read makes a pod's script of its annotations and of those fields of its
// specification that a kubelet acts on.
func read(pod *v1.Pod, runFor time.Duration) (script, error) {
	s := script{runFor: runFor, forever: runFor == 0}
	notes := notesOf(pod)
	for key, d := range map[string]*time.Duration{StartIn: &s.startIn, RunFor: &s.runFor, StopIn: &s.stopIn} {
		text, ok := notes[key]
		if !ok {
			continue
		}
		var err error
		if *d, err = time.ParseDuration(text); err != nil || *d < 0 {
			return script{}, fmt.Errorf("read annotation %s: got %q, expected a duration such as 5s", key, text)
		}
		s.forever = s.forever && key != RunFor
	}
	if text, ok := notes[ExitCode]; ok {
		code, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return script{}, fmt.Errorf("read annotation %s: got %q, expected 0 to 255", ExitCode, text)
		}
		s.exitCode = int32(code)
	}
	if text := notes[Log]; text != "" {
		s.log = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	if d := pod.Spec.ActiveDeadlineSeconds; d != nil {
		s.deadline = time.Duration(*d) * time.Second
	}
	// A container that would be started again is taken to run on.
	again := pod.Spec.RestartPolicy
	s.forever = s.forever || again == v1.RestartPolicyAlways || again == v1.RestartPolicyOnFailure && s.exitCode != 0
	return s, nil
}

// notesOf gives what a pod says of its script.
func notesOf(pod *v1.Pod) map[string]string {
	notes := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		notes[v.Name] = v.Value
	}
	maps.Copy(notes, pod.Annotations)
	return notes
}

// end is when the containers end by themselves or by their deadline, and how.
// Without an end it gives no time.
func (s script) end(started time.Time) (at time.Time, e ending) {
	if s.deadline > 0 && (s.forever || s.deadline < s.runFor) {
		return started.Add(s.deadline), ending{exitCode: exitKilled, reason: "DeadlineExceeded", message: "Pod was active on the node longer than the specified deadline"}
	}
	if s.forever {
		return time.Time{}, ending{}
	}
	return started.Add(s.runFor), ending{exitCode: s.exitCode}
}

// stopped is how the containers end when their pod is deleted.
func (s script) stopped(grace time.Duration) (in time.Duration, e ending) {
	if s.stopIn > grace {
		return grace, ending{exitCode: exitKilled}
	}
	return s.stopIn, ending{exitCode: exitTerminated}
}
