package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

// kubeFlags say which cluster of Kubernetes joins.
type kubeFlags struct {
	spec      client.Kubernetes
	inCluster bool
}

func (k *kubeFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.spec.Kubeconfig, "kubeconfig", "", "a cluster of Kubernetes joins: its kubeconfig, a file on the daemon's machine")
	f.BoolVar(&k.inCluster, "in-cluster", false, "the cluster of Kubernetes joins that the daemon runs in")
	f.StringVar(&k.spec.Context, "context", "", "context of the kubeconfig (default its current one)")
	f.StringVar(&k.spec.SchedulerName, "scheduler-name", "", "place the pods that ask for this scheduler (default poise)")
	f.StringVar(&k.spec.NodeSelector, "node-selector", "", "use only the nodes with these labels, as in pool=poise")
}

// given is 1 where a cluster of Kubernetes is to join, else 0.
func (k *kubeFlags) given() int {
	if k.spec.Kubeconfig != "" || k.inCluster {
		return 1
	}
	return 0
}

// check finds flags that contradict each other.
func (k *kubeFlags) check(follow bool) error {
	switch {
	case k.given() == 0 && k.spec != (client.Kubernetes{}):
		return usagef("--context, --scheduler-name and --node-selector are of a cluster of Kubernetes, expected --kubeconfig or --in-cluster with them")
	case k.given() == 1 && follow:
		return usagef("--follow: a cluster of Kubernetes is followed anyway, expected it with a file of nodes")
	case k.spec.Kubeconfig != "" && k.inCluster:
		return usagef("--kubeconfig and --in-cluster, expected one of them")
	case k.inCluster && k.spec.Context != "":
		return usagef("--context: with --in-cluster there is none, expected it with --kubeconfig")
	}
	return nil
}

func (k *kubeFlags) join(cmd *cobra.Command, s Streams, r *remote, name string) error {
	spec := k.spec
	if spec.Kubeconfig != "" {
		full, err := filepath.Abs(spec.Kubeconfig)
		if err != nil {
			return err
		}
		spec.Kubeconfig = full
	}
	return r.call(cmd, func(ctx context.Context, c *client.Client) error {
		k, err := c.JoinKubernetes(ctx, name, spec)
		if err != nil {
			return err
		}
		return joined(s.Out, &k)
	})
}

// joined says what joined.
func joined(w io.Writer, k *client.Cluster) error {
	_, err := fmt.Fprintf(w, "cluster %s joined: %d nodes, %d ready\n", cell(k.Name), k.Nodes, k.Ready)
	if err != nil || k.Kubernetes == nil || k.Kubernetes.State == "joined" {
		return err
	}
	_, err = fmt.Fprintf(w, "it is not read yet, and tried on: %s\n", cell(k.Kubernetes.Reason))
	return err
}

// kubernetesText says in a cell how a cluster of Kubernetes is doing.
func kubernetesText(k *client.KubernetesState) string {
	text := "Kubernetes, " + k.State
	if k.Reason != "" {
		text += ": " + k.Reason
	}
	return strings.TrimSpace(text)
}
