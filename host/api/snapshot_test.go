package api_test

import (
	"testing"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/poise"
)

// A snapshot file comes through as it is.
func TestSnapshot(t *testing.T) {
	b := apitest.New()
	c := daemons(t, b)["unix"]
	for _, index := range []uint64{0, 1 << 60} {
		want, _ := b.Snapshot(t.Context(), index)
		got, err := c.Snapshot(t.Context(), index)
		if err != nil || string(got) != string(want) {
			t.Errorf("%q, %v, expected %q", got, err, want)
		}
	}
	b.Fault = &poise.Error{Kind: poise.Invalid, Detail: "index: 9, expected 1 to 8, the last event"}
	if _, err := c.Snapshot(t.Context(), 9); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v, expected it refused", err)
	}
}
