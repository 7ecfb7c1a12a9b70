// Package cluster runs real Kubernetes control planes for tests and benches: an
// etcd, a kube-apiserver and, where asked for, a kube-scheduler as processes of
// this machine on free loopback ports, each plane with a folder of its own. It
// may import client-go and nothing of k8s.io/kubernetes, whose binaries it only
// starts. A plane outlives neither its owner nor this process, Stop returns once
// all its processes are gone, and no wait is without an end. There is no
// controller-manager: nobody finishes jobs, collects garbage or taints nodes
// that fell silent.
package cluster
