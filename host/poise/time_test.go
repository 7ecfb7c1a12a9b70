package poise

import "testing"

func TestSeconds(t *testing.T) {
	if got := Span(1500).Seconds(); got != 1.5 {
		t.Errorf("1500 ms are %v s, expected 1.5", got)
	}
}
