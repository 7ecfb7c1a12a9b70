package poise

import "testing"

func TestAsk(t *testing.T) {
	f := func(count, milli int32, want float64) {
		t.Helper()
		if got := (&ProfileShape{Count: count, Milli: milli}).Ask(); got != want {
			t.Errorf("%d x %d milli ask for %v, expected %v", count, milli, got, want)
		}
	}
	f(1, 250, 0.25)
	f(1, 1000, 1)
	f(8, 1000, 8)
}
