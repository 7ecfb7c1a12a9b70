package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Waiting is why jobs wait at one moment.
type Waiting struct {
	ByReason map[string]int
	Oldest   time.Duration // how long the one that came first waits by now; those that never start are in no histogram
}

var (
	jobsWaiting = desc("jobs_waiting", "Jobs that wait, by the main reason.", "reason")
	oldestWait  = desc("job_oldest_wait_seconds", "How long the job waits that has waited longest.")
)

// Waiting replaces what is known of waiting jobs.
func (m *Metrics) Waiting(w Waiting) { m.waiting.put(w) }

func describeWaiting() []*prometheus.Desc { return []*prometheus.Desc{jobsWaiting, oldestWait} }

func collectWaiting(w *Waiting, emit func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	for reason, n := range w.ByReason {
		emit(jobsWaiting, prometheus.GaugeValue, float64(n), reason)
	}
	emit(oldestWait, prometheus.GaugeValue, max(w.Oldest, 0).Seconds())
}
