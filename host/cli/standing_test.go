package cli

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

// An array and a gang are told by what they are.
func TestStandingOfGroups(t *testing.T) {
	f := func(gang bool, want string) {
		t.Helper()
		a := &client.Array{ID: "1", Name: "train", Gang: gang, Count: 2, States: map[client.JobState]int{client.Withdrawn: 2}}
		if got := standing(&client.Job{ID: "1", Name: "train", State: client.Withdrawn, Array: a}); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	f(false, "array train (1) is withdrawn: 2 withdrawn")
	f(true, "gang train (1) is withdrawn: 2 withdrawn")
}
