package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newCluster(s Streams) *cobra.Command {
	r := &remote{}
	return group("cluster", "Let sets of nodes join and leave", r, newClusterJoin(s, r), newClusterList(s, r), newClusterLeave(s, r))
}

func newClusterJoin(s Streams, r *remote) *cobra.Command {
	var follow bool
	var k kubeFlags
	cmd := &cobra.Command{
		Use: "join NAME [FILE] [flags]", Short: "Let the nodes of a file, or a cluster of Kubernetes, join",
		Long: "Let the nodes of a file join as a cluster, all or none. With --follow, the daemon reads the file\n" +
			"itself, on its own machine, and keeps the cluster's nodes equal to it as it changes.\n\n" +
			"With --kubeconfig, or --in-cluster where the daemon runs in a pod, it is a cluster of Kubernetes that\n" +
			"joins: its pods that ask for the scheduler poise are placed by the same queue, classes and policies,\n" +
			"and jobs run there as pods.",
		Example: "  poise cluster join lab examples/fleets/mixed.yaml\n" +
			"  poise cluster join prod --kubeconfig ~/.kube/config --context prod",
		Args: func(_ *cobra.Command, args []string) error {
			if want := 2 - k.given(); len(args) != want {
				return usagef("%d arguments, expected the cluster's name and a file of nodes, or the name and --kubeconfig or --in-cluster", len(args))
			}
			return k.check(follow)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if k.given() > 0 {
				return k.join(cmd, s, r, args[0])
			}
			var specs []client.NodeSpec
			inventory := ""
			if follow {
				full, err := filepath.Abs(args[1])
				if err != nil {
					return err
				}
				inventory = full
			} else {
				list, err := nodeSpecsOf(args[1])
				if err != nil {
					return err
				}
				specs = list
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				k, err := c.JoinCluster(ctx, args[0], specs, inventory)
				if err != nil {
					return err
				}
				return joined(s.Out, &k)
			})
		},
	}
	k.addFlags(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "the file is an inventory on the daemon's machine, which the daemon follows")
	return cmd
}

func clusterTable(w io.Writer, list []client.Cluster) error {
	t := rows{{"NAME", "NODES", "READY", "FOLLOWS"}}
	for i := range list {
		follows := list[i].Follow
		if list[i].Kubernetes != nil {
			follows = kubernetesText(list[i].Kubernetes)
		}
		t.add(list[i].Name, fmt.Sprint(list[i].Nodes), fmt.Sprint(list[i].Ready), follows)
	}
	return t.write(w, "clusters")
}

func newClusterList(s Streams, r *remote) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List clusters by name", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.Cluster, error) { return c.Clusters(ctx) }, clusterTable)
		},
	}
	o.addFlag(cmd)
	return cmd
}

func newClusterLeave(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "leave CLUSTER", Short: "Let all nodes of a cluster leave", Args: named("cluster", 1),
		ValidArgsFunction: r.complete(1, clusterNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.LeaveCluster(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "cluster %s left\n", cell(args[0]))
				return err
			})
		},
	}
}
