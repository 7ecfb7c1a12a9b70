// Package kube runs tasks on Kubernetes clusters: it reads nodes and pods in the
// terms of the core, and binds pods that ask for Poise. It may import
// host/engine, host/poise and host/resource, and is alone in importing k8s.io.
// What it says of a pod is what kube-scheduler would say of it: Node, Reader and
// Classify are pure, and a pod that uses what Poise cannot place as
// kube-scheduler does is refused with the reason, never guessed at.
package kube
