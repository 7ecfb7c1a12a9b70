package report

import (
	"math"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

// measure is one figure of a result as tables show it. A figure that a result
// does not have is NaN, and is shown as "-".
type measure struct {
	head     string
	key      string // name of the column in CSV
	decimals int
	better   int // 1: more is better, -1: less is better, 0: neither
	of       func(*sim.Result) float64
}

// text gives a value of the measure, such as a mean.
func (m *measure) text(v float64) string { return number(v, m.decimals) }

// number prints v with so many decimals, or "-" for what is not a number.
func number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if zero, err := strconv.ParseFloat(text, 64); err == nil && zero == 0 && text[0] == '-' {
		return text[1:]
	}
	return text
}

func count(of func(*sim.Result) int) func(*sim.Result) float64 {
	return func(r *sim.Result) float64 { return float64(of(r)) }
}

// replayed gives a figure that only a replay has.
func replayed(of func(*sim.ReplayResult) float64) func(*sim.Result) float64 {
	return func(r *sim.Result) float64 {
		if r.Replay == nil {
			return math.NaN()
		}
		return of(r.Replay)
	}
}

// allocAt gives the allocation at a whole percent of arrived demand.
func allocAt(percent int) func(*sim.Result) float64 {
	return func(r *sim.Result) float64 {
		if v, ok := r.AllocAt[strconv.Itoa(percent)]; ok {
			return v
		}
		return math.NaN()
	}
}

// lastPercent is the largest percent of demand that arrived, 0 for none.
func lastPercent(r *sim.Result) int {
	if r.Mode == sim.ModeReplay {
		return 0
	}
	points := r.Curve()
	if len(points) == 0 {
		return 0
	}
	return int(points[len(points)-1].X)
}

func allocAtEnd(r *sim.Result) float64 { return allocAt(lastPercent(r))(r) }

// commonMeasures stand in every table.
func commonMeasures() []measure {
	return []measure{
		{"jobs", "jobs", 0, 0, count(func(r *sim.Result) int { return r.Jobs })},
		{"placed", "placed", 0, 0, count(func(r *sim.Result) int { return r.Placed })},
	}
}

// measuresOf gives the columns for results of one mode. The last percent of
// arrived demand stands in the head where all results share it.
func measuresOf(mode sim.Mode, results []*sim.Result) []measure {
	list := commonMeasures()
	if mode == sim.ModeReplay {
		list = append(list, replayMeasures()...)
	} else {
		list = append(list, inflateMeasures(results)...)
	}
	return append(list,
		measure{"rows/decision", "rows_looked_at_per_decision", 1, 0, rowsPerDecision},
		measure{"decisions/s", "decisions_per_second", 0, 0, func(r *sim.Result) float64 { return r.DecisionsPerSecond }},
	)
}

// rowsPerDecision is how many nodes were filtered or scored anew for a decision.
func rowsPerDecision(r *sim.Result) float64 {
	if r.Attempts == 0 {
		return math.NaN()
	}
	return float64(r.RowsLookedAt) / float64(r.Attempts)
}

func inflateMeasures(results []*sim.Result) []measure {
	end := "alloc at end"
	for i, r := range results {
		if last := lastPercent(r); last != lastPercent(results[0]) {
			end = "alloc at end"
		} else if i == 0 && last > 0 {
			end = "alloc at " + strconv.Itoa(last) + " %"
		}
	}
	list := []measure{
		{"failed", "failed", 0, 0, count(func(r *sim.Result) int { return r.Failed })},
		{"alloc at 100 %", "alloc_percent_at_100", 2, 1, allocAt(100)},
		{end, "alloc_percent_at_end", 2, 1, allocAtEnd},
	}
	if end == "alloc at 100 %" {
		return list[:2]
	}
	return list
}

// orNone is NaN for a figure of 0 that is none.
func orNone(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func replayMeasures() []measure {
	return []measure{
		{"pending", "pending", 0, -1, replayed(func(r *sim.ReplayResult) float64 { return float64(r.Pending) })},
		{"mean wait s", "mean_wait_seconds", 1, -1, replayed(func(r *sim.ReplayResult) float64 { return r.MeanWait })},
		{"p99 wait s", "p99_wait_seconds", 1, -1, replayed(func(r *sim.ReplayResult) float64 { return r.P99Wait })},
		{"waited", "waited", 0, -1, replayed(func(r *sim.ReplayResult) float64 { return float64(r.Waited) })},
		{"slowdown", "slowdown", 2, -1, replayed(func(r *sim.ReplayResult) float64 { return r.Slowdown })},
		{"fairness", "fairness", 3, 1, replayed(func(r *sim.ReplayResult) float64 { return orNone(r.Fairness) })},
		{"load %", "load_percent", 2, 0, replayed(func(r *sim.ReplayResult) float64 { return r.Load })},
		{"alloc %", "alloc_percent", 2, 1, replayed(func(r *sim.ReplayResult) float64 { return r.Alloc })},
		{"imbalance", "imbalance", 4, -1, replayed(func(r *sim.ReplayResult) float64 { return r.Imbalance })},
		{"empty nodes", "empty_nodes", 1, 0, replayed(func(r *sim.ReplayResult) float64 { return r.EmptyNodes })},
		{"stranded", "stranded_devices", 1, -1, replayed(func(r *sim.ReplayResult) float64 { return r.Stranded })},
	}
}
