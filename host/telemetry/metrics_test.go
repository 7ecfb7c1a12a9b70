package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/poise-sched/poise/host/telemetry"
)

func newMetrics(t *testing.T) (*telemetry.Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := telemetry.New(reg, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// fill touches every metric.
func fill(m *telemetry.Metrics) {
	m.JobSubmitted("red")
	m.JobSubmitted("red")
	m.JobSubmitted("blue")
	m.JobPlaced("red", "gpu", 2*time.Second)
	m.JobPlaced("red", "gpu", -time.Second)
	m.JobFinished("red", "failed")
	m.Waiting(telemetry.Waiting{ByReason: map[string]int{"not enough idle": 3, "over quota": 1}, Oldest: time.Hour})
	m.Decision("idle-balance", "placed", 300*time.Microsecond, 70)
	m.Decision("idle-balance", "waits", time.Millisecond, 30)
	m.Fleet(telemetry.Fleet{
		Uses: []telemetry.Use{
			{Class: "gpu-g2-8x", Resource: "gpu", Capacity: 16, Allocated: 12.5, Imbalance: 0.25},
			{Class: "gpu-g2-8x", Resource: "cpu", Capacity: 128, Allocated: 127.5},
		},
		Nodes:        []telemetry.NodeCount{{Class: "gpu-g2-8x", State: "ready", Count: 2}},
		StrandedGPUs: 3,
	})
	id := telemetry.PluginID{Tenant: "red", Plugin: "spread", Version: "1.0.0", Role: "active"}
	m.Plugins([]telemetry.Plugin{{
		PluginID: id, Calls: 5, Rows: 400, Fuel: 1e6, Cached: 9000, Audited: 90, Impure: 1,
		Faults: map[string]int64{"trap": 2}, Quarantined: true,
	}})
	m.PluginCall(id, 1500*time.Millisecond)
	m.Commit(4*time.Millisecond, 30)
	m.Store(7, true)
	m.ConfigReload(time.UnixMilli(1_700_000_000_500), true, 2)
	m.ConfigReload(time.UnixMilli(1_800_000_000_000), false, 9)
}

func TestLint(t *testing.T) {
	m, reg := newMetrics(t)
	fill(m)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every question of the package comment has its answer, with the values that
// were handed in.
func TestMetrics(t *testing.T) {
	m, reg := newMetrics(t)
	fill(m)
	got := scrape(t, reg)
	f := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !got[line] {
				t.Errorf("no line %s", line)
			}
		}
	}
	f(`poise_jobs_submitted_total{tenant="red"} 2`)
	f(`poise_jobs_finished_total{outcome="failed",tenant="red"} 1`)
	f(`poise_job_wait_seconds_count{ask="gpu",tenant="red"} 2`, `poise_job_wait_seconds_sum{ask="gpu",tenant="red"} 2`, `poise_job_wait_seconds_bucket{ask="gpu",tenant="red",le="0.01"} 1`)
	f(`poise_jobs_waiting{reason="not enough idle"} 3`, `poise_jobs_waiting{reason="over quota"} 1`)
	f("poise_job_oldest_wait_seconds 3600")
	f(`poise_decision_seconds_count{outcome="placed",policy="idle-balance"} 1`)
	f(`poise_decision_rows_total{policy="idle-balance"} 100`)
	f(`poise_fleet_capacity{class="gpu-g2-8x",resource="gpu"} 16`)
	f(`poise_fleet_allocated{class="gpu-g2-8x",resource="gpu"} 12.5`)
	f(`poise_fleet_imbalance_ratio{class="gpu-g2-8x",resource="gpu"} 0.25`)
	f(`poise_fleet_nodes{class="gpu-g2-8x",state="ready"} 2`)
	f("poise_stranded_gpus 3")
	const of = `{plugin="spread",role="active",tenant="red",version="1.0.0"} `
	f("poise_plugin_calls_total" + of + "5")
	f("poise_plugin_rows_total" + of + "400")
	f("poise_plugin_fuel_total" + of + "1e+06")
	f("poise_plugin_cached_rows_total" + of + "9000")
	f("poise_plugin_audited_rows_total" + of + "90")
	f("poise_plugin_impure_total" + of + "1")
	f(`poise_plugin_faults_total{code="trap",plugin="spread",role="active",tenant="red",version="1.0.0"} 2`)
	f("poise_plugin_quarantined" + of + "1")
	f("poise_plugin_seconds_total" + of + "1.5")
	f("poise_store_commit_seconds_sum 0.004")
	f("poise_store_commit_events_sum 30")
	f("poise_store_pending_events 7")
	f("poise_store_stalled 1")
	f(`poise_config_reloads_total{outcome="taken-up"} 1`, `poise_config_reloads_total{outcome="refused"} 1`)
	f("poise_config_last_reload_successful 0")
	f("poise_config_last_reload_success_timestamp_seconds 1.7000000005e+09")
	f("poise_config_settings_awaiting_restart 2")
	f(`poise_build_info{version="1.2.3"} 1`)
	f("go_goroutines")
}

// scrape gives the lines that Prometheus would read, and the bare name of each
// series without labels.
func scrape(t *testing.T, reg *prometheus.Registry) map[string]bool {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimSpace(line)
		lines[line] = true
		if name, _, ok := strings.Cut(line, " "); ok && !strings.Contains(line, "{") {
			lines[name] = true
		}
	}
	return lines
}

// What is not in the latest value ends; what is never told has no series.
func TestSeriesEnd(t *testing.T) {
	m, reg := newMetrics(t)
	f := func(name string, want int) {
		t.Helper()
		got, err := testutil.GatherAndCount(reg, name)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %d series, want %d", name, got, want)
		}
	}
	f("poise_jobs_waiting", 0)
	f("poise_stranded_gpus", 0)
	fill(m)
	f("poise_jobs_waiting", 2)
	f("poise_fleet_capacity", 2)
	f("poise_plugin_calls_total", 1)
	f("poise_jobs_submitted_total", 2)
	m.Waiting(telemetry.Waiting{ByReason: map[string]int{"over quota": 1}})
	m.Fleet(telemetry.Fleet{})
	m.Plugins(nil)
	m.ForgetTenant("red")
	f("poise_jobs_waiting", 1)
	f("poise_fleet_capacity", 0)
	f("poise_stranded_gpus", 1)
	f("poise_plugin_calls_total", 0)
	f("poise_jobs_submitted_total", 1)
	f("poise_job_wait_seconds", 0)
	f("poise_plugin_seconds_total", 0)
}

func TestRegisterTwice(t *testing.T) {
	_, reg := newMetrics(t)
	if _, err := telemetry.New(reg, "1.2.3"); err == nil {
		t.Error("registered twice, want an error")
	}
}

// Memory stays flat over a million jobs: no series is per job (field case B48).
func TestSeriesBounded(t *testing.T) {
	m, reg := newMetrics(t)
	jobs := func() {
		for i := range 1000 {
			m.JobSubmitted("red")
			m.JobPlaced("red", "cpu", time.Duration(i)*time.Second)
			m.Decision("idle-balance", "placed", time.Microsecond, i)
			m.JobFinished("red", "succeeded")
		}
	}
	count := func() int {
		n, err := testutil.GatherAndCount(reg)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	jobs()
	before := count()
	for range 20 {
		jobs()
	}
	if after := count(); after != before {
		t.Errorf("%d series after more jobs, want %d as before", after, before)
	}
}
