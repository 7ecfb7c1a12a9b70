package policy

import "testing"

// Every call on few rows is counted once among those that a timed one stands for,
// and a call on many stands for itself.
func TestTimerCountsEachCallOnce(t *testing.T) {
	var c timer
	few, many, stood, timed := 0, 0, 0, 0
	for i := range 10*timedOne + 1 {
		few++
		if c.start(1 + i%smallRows); c.stand > 0 {
			stood += c.stand
			timed++
			if stood != few {
				t.Fatalf("after %d calls the timed ones stand for %d", few, stood)
			}
		}
		if i%3 == 0 {
			many++
			if c.start(smallRows + 1); c.stand != 1 {
				t.Fatalf("a call on many rows stands for %d, expected 1", c.stand)
			}
		}
	}
	if timed != 11 {
		t.Errorf("%d of %d calls timed beside %d on many rows, expected 11", timed, few, many)
	}
	if c.stand = 0; c.stop() != 0 {
		t.Error("a call that was not timed has a time")
	}
}
