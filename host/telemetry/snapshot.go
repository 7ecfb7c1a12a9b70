package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// snapshot is a collector whose series are those of the latest value that was
// put: one that is not in it any more ends, and a scrape never sees half of an
// update.
type snapshot[T any] struct {
	latest   atomic.Pointer[T]
	describe func() []*prometheus.Desc
	collect  func(latest *T, emit func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string))
}

var _ prometheus.Collector = (*snapshot[Fleet])(nil)

func (s *snapshot[T]) put(v T) { s.latest.Store(&v) }

// Describe implements prometheus.Collector.
func (s *snapshot[T]) Describe(out chan<- *prometheus.Desc) {
	for _, d := range s.describe() {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *snapshot[T]) Collect(out chan<- prometheus.Metric) {
	latest := s.latest.Load()
	if latest == nil {
		return
	}
	s.collect(latest, func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		m, err := prometheus.NewConstMetric(desc, kind, value, labels...)
		if err != nil { // a label that is not UTF-8
			m = prometheus.NewInvalidMetric(desc, err)
		}
		out <- m
	})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}
