package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/sim"
)

// inflated makes a result whose curve follows the demand up to a limit.
func inflated(workload, policy string, seed int64, last int, limit float64) *sim.Result {
	r := &sim.Result{
		Policy: policy, Workload: workload, Seed: seed, Mode: sim.ModeInflate, Nodes: 1213, Jobs: 10_000, Attempts: 10_000,
		AllocAt: map[string]float64{}, RowsLookedAt: 345_678, DecisionsPerSecond: 12_345.6, Digest: strings.Repeat("0123456789abcdef", 4),
		Classes: []sim.ClassUse{
			{Name: "gpu-A10-2x", Nodes: 2, CPU: 80 + limit/10, Memory: 40, Devices: limit},
			{Name: "gpu-V100-8x", Nodes: 44, CPU: 70, Memory: 40 + limit/10, Devices: 99.5},
		},
	}
	for at := range last + 1 {
		x := float64(at)
		alloc := limit - math.Log(1+math.Exp((limit-x)/2))*2 + float64(seed%3)/10
		r.AllocAt[strconv.Itoa(at)] = max(0, math.Round(alloc*100)/100)
	}
	r.Failed = int(10_000 * max(0, 1-limit/float64(max(last, 1))))
	r.Placed = r.Jobs - r.Failed
	return r
}

// replayedAt makes the result of a replay with such a mean wait.
func replayedAt(policy string, seed int64, wait float64) *sim.Result {
	r := &sim.Result{
		Policy: policy, Workload: "two-tenants", Seed: seed, Mode: sim.ModeReplay, Nodes: 122, Jobs: 8152, Placed: 8100, Attempts: 9000,
		RowsLookedAt: 1000, DecisionsPerSecond: 9876, Digest: strings.Repeat("fedcba9876543210", 4),
		Classes: []sim.ClassUse{{Name: "cpu", Nodes: 30, CPU: 61.5, Memory: 44}, {Name: "gpu-A10-2x", Nodes: 92, CPU: 50, Memory: 20, Devices: 70}},
		Replay: &sim.ReplayResult{
			Pending: 52, MeanWait: wait, P99Wait: 30 * wait, Waited: 400, Load: 70.25, Alloc: 69.5 + wait/1000,
			Imbalance: 0.1234, EmptyNodes: 7.5, Stranded: 3,
			Tenants: []sim.TenantUse{{Tenant: "a", Jobs: 5000, Placed: 4990, MeanWait: wait / 2}, {Tenant: "b", Jobs: 3152, Placed: 3110, MeanWait: 2 * wait}},
		},
	}
	for i := range 120 {
		r.Replay.Series = append(r.Replay.Series, sim.Point{X: float64(i), Alloc: 70 + 10*math.Sin(float64(i)/5+float64(seed)) - wait/100})
	}
	return r
}

func sample() []*sim.Result {
	return []*sim.Result{
		inflated("default", "idle-balance", 42, 130, 95.9), inflated("default", "idle-balance", 43, 130, 95.7),
		inflated("default", "fgd", 42, 130, 95.3), inflated("default", "fgd", 43, 130, 95.5),
		inflated("multigpu30", "idle-balance", 42, 130, 96.9), inflated("multigpu30", "fgd", 42, 130, 96.5),
	}
}

func sampleReplay() []*sim.Result {
	return []*sim.Result{
		replayedAt("idle-balance", 42, 411), replayedAt("idle-balance", 43, 402.5),
		replayedAt("best-fit", 42, 4), replayedAt("best-fit", 43, 0),
	}
}

// printed gives what a writer of results prints.
func printed(t testing.TB, write func(io.Writer, []*sim.Result) error, results ...*sim.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, results); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTable(t *testing.T) {
	golden(t, "table_one", printed(t, Table, inflated("default", "idle-balance", 42, 130, 95.9)))
	golden(t, "table_inflate", printed(t, Table, sample()...))
	golden(t, "table_replay", printed(t, Table, sampleReplay()...))
	// Modes, fleets and ends of different kinds do not mix.
	thinned := replayedAt("idle-balance", 42, 29)
	thinned.Nodes = 58
	golden(t, "table_mixed", printed(t, Table,
		inflated("a", "idle-balance", 1, 100, 90), thinned, replayedAt("idle-balance", 42, 411), inflated("b", "idle-balance", 1, 80, 90)))
}

func TestCSV(t *testing.T) {
	golden(t, "csv", printed(t, CSV, append(sample(), sampleReplay()...)...))
}

func TestJSON(t *testing.T) {
	short := inflated("a<b>&c", "idle-balance", 42, 3, 95.9)
	golden(t, "json_one", printed(t, JSON, short))
	golden(t, "json_two", printed(t, JSON, short, replayedAt("best-fit", 43, 4)))
	if got := string(printed(t, JSON)); got != "[]\n" {
		t.Errorf("no results print %q, expected an empty array", got)
	}
	broken := replayedAt("best-fit", 43, math.NaN())
	err := JSON(io.Discard, []*sim.Result{short, broken})
	if err == nil || !strings.Contains(err.Error(), `policy "best-fit", workload "two-tenants", seed 43`) {
		t.Errorf("a result with NaN gives error %v, expected one that names the run", err)
	}
}

func TestNumber(t *testing.T) {
	f := func(v float64, decimals int, want string) {
		t.Helper()
		if got := number(v, decimals); got != want {
			t.Errorf("number(%v, %d) = %q, expected %q", v, decimals, got, want)
		}
	}
	f(95.876, 2, "95.88")
	f(0, 1, "0.0")
	f(-0.04, 1, "0.0")
	f(-0.06, 1, "-0.1")
	f(math.Copysign(0, -1), 0, "0")
	f(math.NaN(), 2, "-")
	f(math.Inf(-1), 2, "-")
	f(1e300, 0, strconv.FormatFloat(1e300, 'f', 0, 64))
}

func TestStat(t *testing.T) {
	f := func(want stat, values ...float64) {
		t.Helper()
		got := statOf(values)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(got.mean, want.mean) || !same(got.lo, want.lo) || !same(got.hi, want.hi) {
			t.Errorf("statOf(%v) = %+v, expected %+v", values, got, want)
		}
	}
	nan := math.NaN()
	f(stat{nan, nan, nan})
	f(stat{nan, nan, nan}, nan, math.Inf(1))
	f(stat{3, 3, 3}, 3)
	f(stat{2, 1, 3}, 1, 2, 3)
	f(stat{2, 1, 3}, nan, 1, 3)
	f(stat{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64, math.MaxFloat64)
}

// anyResults draws results of any kind, with numbers that no run would give.
func anyResults(t *rapid.T, most int) []*sim.Result {
	float := rapid.OneOf(rapid.Float64Range(0, 100), rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}))
	name := rapid.OneOf(rapid.SampledFrom([]string{"", "default", "fgd", "<script>", "]]>", "a\tb\n", "\xff\x00"}), rapid.String())
	one := rapid.Custom(func(t *rapid.T) *sim.Result {
		n := func(label string) int { return rapid.IntRange(0, 1e6).Draw(t, label) }
		f := func(label string) float64 { return float.Draw(t, label) }
		r := &sim.Result{
			Policy: name.Draw(t, "policy"), Workload: name.Draw(t, "workload"), Seed: rapid.Int64Range(0, 3).Draw(t, "seed"),
			Mode:  rapid.SampledFrom([]sim.Mode{sim.ModeInflate, sim.ModeReplay}).Draw(t, "mode"),
			Nodes: rapid.IntRange(0, 2).Draw(t, "nodes"), Jobs: n("jobs"), Placed: n("placed"), Failed: n("failed"),
			DecisionsPerSecond: f("rate"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "classes") {
			r.Classes = append(r.Classes, sim.ClassUse{Name: name.Draw(t, "class"), Nodes: n("nodes"), CPU: f("cpu"), Memory: f("memory"), Devices: f("devices")})
		}
		points := rapid.IntRange(0, 5).Draw(t, "points")
		switch {
		case r.Mode == sim.ModeInflate:
			r.AllocAt = map[string]float64{}
			for range points {
				r.AllocAt[strconv.Itoa(rapid.IntRange(0, 200).Draw(t, "at"))] = f("alloc")
			}
		case rapid.Bool().Draw(t, "filled"):
			r.Replay = &sim.ReplayResult{Pending: n("pending"), MeanWait: f("wait"), P99Wait: f("wait"), Load: f("load"), Alloc: f("alloc"), Imbalance: f("imbalance")}
			for range points {
				r.Replay.Series = append(r.Replay.Series, sim.Point{X: f("x"), Alloc: f("alloc")})
			}
		}
		return r
	})
	return rapid.SliceOfN(one, 0, most).Draw(t, "results")
}

// No result makes a table that panics, shows NaN, or falls out of its lines.
func TestTablesOfAnyResults(t *testing.T) {
	notANumber := regexp.MustCompile(`\b(NaN|[+-]?Inf)\b`)
	rapid.Check(t, func(t *rapid.T) {
		results := anyResults(t, 8)
		for _, r := range results { // a name may read NaN, a number may not
			r.Policy, r.Workload = notANumber.ReplaceAllString(r.Policy, ""), notANumber.ReplaceAllString(r.Workload, "")
		}
		var table, sheet bytes.Buffer
		if err := Table(&table, results); err != nil {
			t.Fatal(err)
		}
		if found := notANumber.Find(table.Bytes()); found != nil {
			t.Fatalf("the table shows %s:\n%s", found, table.String())
		}
		for line := range strings.Lines(table.String()) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("a control character in %q", line)
			}
		}
		if err := CSV(&sheet, results); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&sheet).ReadAll()
		if err != nil || len(rows) != len(results)+1 {
			t.Fatalf("CSV of %d results reads back as %d rows, %v", len(results), len(rows), err)
		}
		for _, row := range rows[1:] {
			for i, cell := range row[3 : len(row)-1] {
				if v, err := strconv.ParseFloat(cell, 64); cell != "" && (err != nil || math.IsNaN(v) || math.IsInf(v, 0)) {
					t.Fatalf("column %s holds %q", rows[0][3+i], cell)
				}
			}
		}
		var object bytes.Buffer
		if err := JSON(&object, results); err == nil && !json.Valid(object.Bytes()) {
			t.Fatalf("not JSON: %s", object.String())
		}
	})
}
