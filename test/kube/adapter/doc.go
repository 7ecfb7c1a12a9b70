// Package adapter tests host/engine/kube against a real API server. It imports
// what the plane of test/kube/cluster is asked through, and the adapter. Without the
// binaries of Kubernetes its tests skip.
package adapter
