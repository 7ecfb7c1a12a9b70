// Package telemetry is what an operator watches a daemon by: Prometheus metrics
// and the log. It imports the Prometheus client and no package of Poise; the
// daemon hands it plain values, and it keeps nothing that a decision depends on.
//
// The metrics answer: how long do jobs wait and why, how fast do we decide, how
// full and how balanced is the fleet, which GPUs are stranded, what does each
// plugin cost, does the store keep up, is the file of settings in force. Amounts
// are in whole units: cores, bytes, devices, seconds. No series is per job or per
// node, so their number is bounded by that of tenants, plugins and classes. What
// the log writes never holds a secret that came under a telling name.
package telemetry
