package api_test

import (
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/poise"
)

// Advice comes through as it is.
func TestAdvice(t *testing.T) {
	b := apitest.New()
	for name, c := range daemons(t, b) {
		want, _ := b.Advice(t.Context())
		if got, err := c.Advice(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, expected %+v", name, got, err, want)
		}
	}
	b.Fault = &poise.Error{Kind: poise.Unavailable, Detail: "busy"}
	if _, err := daemons(t, b)["unix"].Advice(t.Context()); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v, expected it unavailable", err)
	}
}
