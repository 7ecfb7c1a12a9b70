package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// schedulerConfig is kube-scheduler's default profile with a client that is not
// throttled: its own default of 50 requests a second would be all there is to
// measure.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  contentType: application/vnd.kubernetes.protobuf
  qps: 10000
  burst: 20000
`

// newScheduler is a kube-scheduler that answers for its health at the address.
func newScheduler(dir, address, kubeconfig string) (*process, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("prepare kube-scheduler: %w", err)
	}
	config := filepath.Join(dir, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, kubeconfig), 0o644); err != nil {
		return nil, fmt.Errorf("write the configuration of kube-scheduler: %w", err)
	}
	return newProcess("kube-scheduler", dir, "--config="+config, "--bind-address="+host, "--secure-port="+port)
}

// schedulerReady asks a kube-scheduler whether it has seen the cluster.
func schedulerReady(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		// Its certificate is made in memory and signed by nobody.
		t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		return get(ctx, t, "https://"+address+"/readyz", "")
	}
}
