// Package oracle asks kube-scheduler itself where a pod may go: its own plugins,
// run by its own framework on its own snapshot, in this process and without a
// cluster. It may import k8s.io/kubernetes, which promises nothing to importers
// and is required by this module alone. One oracle answers one question at a
// time, from the world that comes with it and nothing else, and looks at every
// node, where kube-scheduler stops when it has found enough.
package oracle
