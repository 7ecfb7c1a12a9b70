package client

import "time"

// ActivationSpec says what plugin is to be put in force.
type ActivationSpec struct {
	Plugin    string            `json:"plugin" example:"cost@1.2.0" doc:"NAME, NAME@VERSION, NAME:TAG or NAME@sha256:DIGITS"`
	Params    map[string]string `json:"params,omitempty"`
	Weight    float64           `json:"weight,omitempty" doc:"Of its loss beside the base's; 0 is in its place"`
	OnFailure string            `json:"on_failure,omitempty" doc:"fallback, reject or last-good; reject where it is not given and the plugin filters, else fallback"`
	Gate      *Gate             `json:"gate,omitempty" doc:"Only if the shadow ran this module with these parameters and has shown so much; it ends then"`
}

// PolicyStack is how a tenant's jobs are ranked: the native scorer, what the
// cluster's policy makes of it, and what the tenant's own makes of that.
type PolicyStack struct {
	Tenant string        `json:"tenant,omitempty" doc:"Nothing for the jobs of tenants without a policy of their own"`
	Native NativePolicy  `json:"native"`
	Layers []PolicyLayer `json:"layers" doc:"From the bottom up; each stands on those before"`
	Waits  string        `json:"waits,omitempty" doc:"Why no job is planned now"`
}

// NativePolicy is the scorer that stands under all plugins.
type NativePolicy struct {
	Policy         string             `json:"policy" example:"idle-balance"`
	Ties           string             `json:"ties"`
	Seed           uint64             `json:"seed"`
	ProtectDevices bool               `json:"protect_devices"`
	Constants      map[string]float64 `json:"constants"`
}

// PolicyLayer is a plugin in force.
type PolicyLayer struct {
	Scope       string            `json:"scope" enum:"cluster,tenant"`
	Plugin      string            `json:"plugin"`
	Version     string            `json:"version"`
	Digest      string            `json:"digest"`
	Exports     []string          `json:"exports,omitempty" doc:"filter, score or both; nothing where it cannot be loaded"`
	Params      map[string]string `json:"params,omitempty" doc:"As they apply, defaults too"`
	Weight      float64           `json:"weight"`
	OnFailure   string            `json:"on_failure"`
	Rule        string            `json:"rule" doc:"What on_failure means here"`
	By          string            `json:"by"`
	Since       time.Time         `json:"since,omitzero"`
	Quarantined time.Time         `json:"quarantined,omitzero" doc:"Since when it is not asked"`
	Fault       string            `json:"fault,omitempty" doc:"Why it is not asked"`
	Use         *PluginCost       `json:"use,omitempty"`
	Limits      *LayerLimits      `json:"limits,omitempty"`
	History     []PolicyBefore    `json:"history,omitempty" doc:"What a rollback leads to, the next one first"`
}

// LayerLimits bound a plugin, as they apply to it. Fuel is in weighted units.
type LayerLimits struct {
	Memory    int64   `json:"memory_bytes"`
	Setup     int64   `json:"setup_fuel"`
	Call      int64   `json:"call_fuel"`
	Job       int64   `json:"job_fuel" doc:"Of one job, beside that of its rows"`
	Row       int64   `json:"row_fuel" doc:"Of one job per node"`
	PerSecond int64   `json:"fuel_per_second,omitempty" doc:"Of one tenant"`
	Weight    float64 `json:"weight,omitempty" doc:"The largest that a tenant may give"`
}

// PolicyBefore is a plugin that was in force.
type PolicyBefore struct {
	Plugin  string            `json:"plugin"`
	Version string            `json:"version"`
	Digest  string            `json:"digest"`
	Params  map[string]string `json:"params,omitempty"`
	Weight  float64           `json:"weight"`
	By      string            `json:"by"`
}
