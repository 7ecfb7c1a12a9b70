package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PluginID names an activation: whose plugin, which, and active or shadow. A
// cluster-wide policy has no tenant.
type PluginID struct{ Tenant, Plugin, Version, Role string }

func (id PluginID) labels() []string { return []string{id.Tenant, id.Plugin, id.Version, id.Role} }

// Plugin is what an activation has cost since it began.
type Plugin struct {
	PluginID
	Calls, Rows, Fuel int64 // fuel in weighted units
	Cached            int64 // rows answered without a call
	Audited, Impure   int64 // rows asked about again, and how often another answer came
	Faults            map[string]int64
	Quarantined       bool
}

var (
	pluginLabels  = []string{"tenant", "plugin", "version", "role"}
	pluginCalls   = desc("plugin_calls_total", "Guest calls.", pluginLabels...)
	pluginRows    = desc("plugin_rows_total", "Nodes that guests were asked about.", pluginLabels...)
	pluginFuel    = desc("plugin_fuel_total", "Fuel that guests used, in weighted units.", pluginLabels...)
	pluginCached  = desc("plugin_cached_rows_total", "Nodes whose answer was known from before.", pluginLabels...)
	pluginAudited = desc("plugin_audited_rows_total", "Known answers that were asked for again.", pluginLabels...)
	pluginImpure  = desc("plugin_impure_total", "Audits in which another answer came than before.", pluginLabels...)
	pluginFaults  = desc("plugin_faults_total", "Calls that failed, by fault.", append([]string{"code"}, pluginLabels...)...)
	quarantined   = desc("plugin_quarantined", "1 while the plugin is not called after faults in a row.", pluginLabels...)
)

// Plugins replaces what is known of all activations, each of them once.
func (m *Metrics) Plugins(all []Plugin) { m.plugins.put(all) }

// PluginCall adds the time that a guest was at work.
func (m *Metrics) PluginCall(id PluginID, took time.Duration) {
	m.guest.WithLabelValues(id.labels()...).Add(max(took, 0).Seconds())
}

func describePlugins() []*prometheus.Desc {
	return []*prometheus.Desc{pluginCalls, pluginRows, pluginFuel, pluginCached, pluginAudited, pluginImpure, pluginFaults, quarantined}
}

func collectPlugins(all *[]Plugin, emit func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
	for _, p := range *all {
		labels := p.labels()
		emit(pluginCalls, prometheus.CounterValue, float64(p.Calls), labels...)
		emit(pluginRows, prometheus.CounterValue, float64(p.Rows), labels...)
		emit(pluginFuel, prometheus.CounterValue, float64(p.Fuel), labels...)
		emit(pluginCached, prometheus.CounterValue, float64(p.Cached), labels...)
		emit(pluginAudited, prometheus.CounterValue, float64(p.Audited), labels...)
		emit(pluginImpure, prometheus.CounterValue, float64(p.Impure), labels...)
		for code, n := range p.Faults {
			emit(pluginFaults, prometheus.CounterValue, float64(n), append([]string{code}, labels...)...)
		}
		emit(quarantined, prometheus.GaugeValue, flag(p.Quarantined), labels...)
	}
}
