package poise

import "testing"

// The names are in logs: they never change, and no two events share one.
func TestEventKinds(t *testing.T) {
	seen := map[string]bool{}
	f := func(b Body, want string) {
		t.Helper()
		if got := b.EventKind(); got != want || seen[got] {
			t.Errorf("%T is called %q, expected %q, once", b, got, want)
		}
		seen[want] = true
	}
	f(NodeJoined{}, "node-joined")
	f(NodeChanged{}, "node-changed")
	f(NodeMarked{}, "node-marked")
	f(NodeLeft{}, "node-left")
	f(JobSubmitted{}, "job-submitted")
	f(JobPlaced{}, "job-placed")
	f(GangPlaced{}, "gang-placed")
	f(JobFinished{}, "job-finished")
	f(JobRequeued{}, "job-requeued")
	f(JobPreempted{}, "job-preempted")
	f(JobWithdrawn{}, "job-withdrawn")
	f(ProfileBuilt{}, "profile-built")
}
