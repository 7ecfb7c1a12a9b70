package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "poise"

// Metrics are all metrics of a daemon. They are safe for concurrent use.
type Metrics struct {
	submitted *prometheus.CounterVec
	preempted *prometheus.CounterVec
	finished  *prometheus.CounterVec
	wait      *prometheus.HistogramVec
	decision  *prometheus.HistogramVec
	rows      *prometheus.CounterVec
	guest     *prometheus.CounterVec
	commit    prometheus.Histogram
	batch     prometheus.Histogram
	pending   prometheus.Gauge
	stalled   prometheus.Gauge
	reloads   *prometheus.CounterVec
	reloadOK  prometheus.Gauge
	reloadAt  prometheus.Gauge
	restart   prometheus.Gauge

	waiting snapshot[Waiting]
	fleet   snapshot[Fleet]
	plugins snapshot[[]Plugin]
}

// New makes the metrics and registers them, and those of the Go runtime and the
// process with them.
func New(reg prometheus.Registerer, version string) (*Metrics, error) {
	m := &Metrics{
		submitted: counters("jobs_submitted_total", "Jobs that were acknowledged.", "tenant"),
		preempted: counters("jobs_preempted_total", "Tasks that were told to end so that others have room.", "tenant"),
		finished:  counters("jobs_finished_total", "Jobs that ended, by outcome.", "tenant", "outcome"),
		// From an idle fleet to a job that waits for days.
		wait:     histograms("job_wait_seconds", "From submission to placement, by what the job asks for.", []float64{.01, .1, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400, 604800}, "tenant", "ask"),
		decision: histograms("decision_seconds", "Time of one decision, guest calls included.", prometheus.ExponentialBuckets(20e-6, 3, 13), "policy", "outcome"),
		rows:     counters("decision_rows_total", "Nodes that were looked at in decisions.", "policy"),
		guest:    counters("plugin_seconds_total", "Time spent in guest calls.", pluginLabels...),

		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "store_commit_seconds", Help: "Time of a group commit until it is durable.", Buckets: prometheus.ExponentialBuckets(.0005, 2, 15),
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "store_commit_events", Help: "Events of a group commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		pending: gauge("store_pending_events", "Events that wait to be committed."),
		stalled: gauge("store_stalled", "1 while the store takes no events, such as on a full disk."),

		reloads:  counters("config_reloads_total", "Reloads of the configuration, by outcome.", "outcome"),
		reloadOK: gauge("config_last_reload_successful", "1 if the latest configuration is in force, 0 if it is wrong and the one before stays."),
		reloadAt: gauge("config_last_reload_success_timestamp_seconds", "When a configuration was last taken up."),
		restart:  gauge("config_settings_awaiting_restart", "Settings whose new value counts after a restart."),
	}
	m.waiting.describe, m.waiting.collect = describeWaiting, collectWaiting
	m.fleet.describe, m.fleet.collect = describeFleet, collectFleet
	m.plugins.describe, m.plugins.collect = describePlugins, collectPlugins
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the version as a label.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.reloadOK.Set(1)

	var errs []error
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.submitted, m.preempted, m.finished, m.wait, m.decision, m.rows, m.guest, m.commit, m.batch, m.pending, m.stalled,
		m.reloads, m.reloadOK, m.reloadAt, m.restart, &m.waiting, &m.fleet, &m.plugins,
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// JobSubmitted counts a job that was acknowledged.
func (m *Metrics) JobSubmitted(tenant string) { m.submitted.WithLabelValues(tenant).Inc() }

// JobPlaced records how long a job waited. What it asks for is one of a few
// words, such as cpu, gpu, gpu-share or gang.
func (m *Metrics) JobPlaced(tenant, ask string, wait time.Duration) {
	m.wait.WithLabelValues(tenant, ask).Observe(max(wait, 0).Seconds()) // clocks jump
}

// JobFinished counts a job that ended as succeeded, failed or cancelled.
func (m *Metrics) JobFinished(tenant, outcome string) {
	m.finished.WithLabelValues(tenant, outcome).Inc()
}

// JobPreempted counts a task of a tenant that was told to end so that another job has
// room.
func (m *Metrics) JobPreempted(tenant string) { m.preempted.WithLabelValues(tenant).Inc() }

// Decision records one decision: its policy, what came of it, and how many nodes
// were looked at.
func (m *Metrics) Decision(policy, outcome string, took time.Duration, rows int) {
	m.decision.WithLabelValues(policy, outcome).Observe(took.Seconds())
	m.rows.WithLabelValues(policy).Add(float64(rows))
}

// Commit records a group commit of the store.
func (m *Metrics) Commit(took time.Duration, events int) {
	m.commit.Observe(took.Seconds())
	m.batch.Observe(float64(events))
}

// Store says how the store stands.
func (m *Metrics) Store(pending int, stalled bool) {
	m.pending.Set(float64(pending))
	m.stalled.Set(flag(stalled))
}

// ConfigReload records a reload, the first load included: whether it was taken
// up, and how many settings wait for a restart.
func (m *Metrics) ConfigReload(at time.Time, ok bool, restart int) {
	m.reloadOK.Set(flag(ok))
	if !ok {
		m.reloads.WithLabelValues("refused").Inc()
		return
	}
	m.reloads.WithLabelValues("taken-up").Inc()
	m.reloadAt.Set(float64(at.UnixMilli()) / 1000)
	m.restart.Set(float64(restart))
}

// ForgetTenant ends the series of a tenant that is no more.
func (m *Metrics) ForgetTenant(tenant string) {
	of := prometheus.Labels{"tenant": tenant}
	m.submitted.DeletePartialMatch(of)
	m.preempted.DeletePartialMatch(of)
	m.finished.DeletePartialMatch(of)
	m.wait.DeletePartialMatch(of)
	m.guest.DeletePartialMatch(of)
}
