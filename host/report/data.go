package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

// CSV writes a header and one line a result. The columns are the same whatever
// the results are; a figure that a result does not have is empty.
func CSV(w io.Writer, results []*sim.Result) error {
	measures := append(commonMeasures(), inflateMeasures(nil)...)
	measures = append(measures, measure{key: "end_percent", of: endPercent})
	measures = append(append(measures, replayMeasures()...), happenedMeasures()...)
	measures = append(measures,
		measure{key: "rows_looked_at", of: func(r *sim.Result) float64 { return float64(r.RowsLookedAt) }},
		measure{key: "attempts", of: count(func(r *sim.Result) int { return r.Attempts })},
		measure{key: "decisions_per_second", of: func(r *sim.Result) float64 { return r.DecisionsPerSecond }},
	)
	out := csv.NewWriter(w)
	header := []string{"workload", "policy", "mode", "seed", "nodes"}
	for i := range measures {
		header = append(header, measures[i].key)
	}
	if err := out.Write(append(header, "reservations_set", "patience_seconds", "preemption", "usage_half_life_seconds", "digest")); err != nil {
		return err
	}
	for _, r := range results {
		line := []string{r.Workload, r.Policy, string(r.Mode), strconv.FormatInt(r.Seed, 10), strconv.Itoa(r.Nodes)}
		for i := range measures {
			line = append(line, exact(measures[i].of(r)))
		}
		queue := []string{"", "", "", ""}
		if q := queueOf(r); q != nil {
			queue = []string{strconv.Itoa(q.Reservations), exact(q.Patience), q.Preemption, exact(q.UsageHalfLife)}
		}
		if err := out.Write(append(append(line, queue...), r.Digest)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func endPercent(r *sim.Result) float64 {
	if last := lastPercent(r); last > 0 {
		return float64(last)
	}
	return math.NaN()
}

// exact prints v so that it reads back to the same bits, or nothing for what
// is not a number.
func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// JSON writes one result as an object and any other number of them as an
// array. A result with NaN in it is an error that names the run.
func JSON(w io.Writer, results []*sim.Result) error {
	var all any = results
	switch len(results) {
	case 0:
		all = []*sim.Result{}
	case 1:
		all = results[0]
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(all)
	var unsupported *json.UnsupportedValueError
	if !errors.As(err, &unsupported) {
		return err
	}
	for _, r := range results {
		if _, err := json.Marshal(r); err != nil {
			return fmt.Errorf("write result of policy %q, workload %q, seed %d: %w", r.Policy, r.Workload, r.Seed, err)
		}
	}
	return err
}
