package report

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// columns splits a line as a reader of benchmarks would.
func columns(line string) []string { return regexp.MustCompile(` {2,}`).Split(line, -1) }

func TestFigure(t *testing.T) {
	f := func(fig Figure, want ...string) {
		t.Helper()
		if got := columns(fig.String()); !slices.Equal(got, want) {
			t.Errorf("%+v prints %q, want %q", fig, got, want)
		}
	}
	f(Figure{"placement, spread", 4.2, "us", AtMost(5)}, "placement, spread", "4.200", "us", "<= 5", "holds")
	f(Figure{"placement, spread", 5, "us", AtMost(5)}, "placement, spread", "5.000", "us", "<= 5", "holds")
	f(Figure{"placement, spread", 5.1, "us", AtMost(5)}, "placement, spread", "5.100", "us", "<= 5", "falls short")
	f(Figure{"cache", 30, "x", AtLeast(30)}, "cache", "30.00", "x", ">= 30", "holds")
	f(Figure{"cache", 29.5, "x", AtLeast(30)}, "cache", "29.50", "x", ">= 30", "falls short")
	f(Figure{"decisions per second", 123456.7, "", Goal{}}, "decisions per second", "123457", "-", "-")
	f(Figure{"share", 0.000123456, "", AtMost(0.5)}, "share", "0.0001235", "-", "<= 0.5", "holds")
	f(Figure{"none", 0, "B", AtMost(0)}, "none", "0", "B", "<= 0", "holds")
	// What rounds to the bound is written out when it lies beyond.
	f(Figure{"near", 5.00001, "us", AtMost(5)}, "near", "5.00001", "us", "<= 5", "falls short")
	f(Figure{"near", 29.99999, "x", AtLeast(30)}, "near", "29.99999", "x", ">= 30", "falls short")
	// What could not be measured reaches no goal.
	f(Figure{"unknown", math.NaN(), "us", AtMost(5)}, "unknown", "NaN", "us", "<= 5", "falls short")
	f(Figure{"unknown", math.NaN(), "us", AtLeast(5)}, "unknown", "NaN", "us", ">= 5", "falls short")
	f(Figure{"endless", math.Inf(1), "us", AtMost(5)}, "endless", "+Inf", "us", "<= 5", "falls short")
	f(Figure{" a\n b", 1, "\t", Goal{}}, "a b", "1.000", "-", "-")
}

// A figure is one line that splits into its columns again, whatever its name.
func TestFigureIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goals := []Goal{{}, AtMost(rapid.Float64().Draw(t, "bound")), AtLeast(rapid.Float64().Draw(t, "bound"))}
		fig := Figure{
			Name:  rapid.String().Draw(t, "name"),
			Value: rapid.Float64().Draw(t, "value"),
			Unit:  rapid.String().Draw(t, "unit"),
			Goal:  rapid.SampledFrom(goals).Draw(t, "goal"),
		}
		want := 5
		if fig.Goal == (Goal{}) {
			want = 4
		}
		if got := columns(fig.String()); len(got) != want {
			t.Fatalf("%q splits into %d columns, want %d: %q", fig, len(got), want, got)
		}
	})
}
