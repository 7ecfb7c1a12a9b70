package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

func TestReservedText(t *testing.T) {
	f := func(w client.Why, want string) {
		t.Helper()
		var b strings.Builder
		if err := printReserved(&b, &w); err != nil || strings.TrimSpace(b.String()) != want {
			t.Errorf("printed %q (%v), expected %q", b.String(), err, want)
		}
	}
	kept := func(start time.Time, nodes ...string) client.Why {
		return client.Why{Job: client.Job{Reserved: &client.Reservation{Nodes: nodes, Start: start}}}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f(client.Why{}, "")
	f(kept(time.Time{}, "n1"), "kept for it: n1, as soon as enough tasks there end: some declare no run time")
	f(kept(at, "n1", "n2", "n3"), "kept for it: n1 and 2 more nodes, expected at "+moment(at))
	f(client.Why{Behind: &client.Behind{Jobs: []string{"big", "b\x1b"}, Others: 1}}, `nodes are kept for: big, `+cell("b\x1b")+`, 1 job of others`)
	f(client.Why{Behind: &client.Behind{Others: 1, Whose: []string{"acme/big"}}}, `nodes are kept for: acme/big`)
	f(client.Why{Behind: &client.Behind{}}, "")
}
