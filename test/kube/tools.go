//go:build tools

package kube

// The client that the README's commands are for. The binary is built like the
// servers, and its modules are nobody else's here.
import _ "k8s.io/kubectl/pkg/cmd"
