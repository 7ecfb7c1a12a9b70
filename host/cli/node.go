package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
)

func newNode(s Streams) *cobra.Command {
	r := &remote{}
	return group("node", "List nodes, drain them, let them join and leave", r,
		newNodeList(s, r), newNodeGet(s, r), newNodeDrain(s, r, true), newNodeDrain(s, r, false), newNodeJoin(s, r), newNodeLeave(s, r))
}

func newNodeList(s Streams, r *remote) *cobra.Command {
	var o output
	var f client.NodeFilter
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List nodes by name", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.Node, error) { return listNodes(ctx, c, f) }, nodeTable)
		},
	}
	o.addFlag(cmd)
	limitFlag(cmd, &f.Limit)
	cmd.Flags().StringVar(&f.Cluster, "cluster", "", "only those of this cluster")
	cmd.Flags().StringVar(&f.Class, "class", "", "only those of this class")
	cmd.Flags().StringVar(&f.State, "state", "", "only ready, drained or not-ready ones")
	return cmd
}

func listNodes(ctx context.Context, c *client.Client, f client.NodeFilter) ([]client.Node, error) {
	return all(f.Limit, func(limit int, after string) ([]client.Node, string, error) {
		f := f
		f.Limit, f.After = limit, after
		page, err := c.Nodes(ctx, f)
		return page.Nodes, page.Next, err
	})
}

func nodeTable(w io.Writer, nodes []client.Node) error {
	t := rows{{"NAME", "STATE", "CLUSTER", "CLASS", "TASKS", "CPU", "MEMORY", "DEVICES"}}
	for i := range nodes {
		n := &nodes[i]
		t.add(n.Name, n.State, n.Spec.Cluster, n.Class, fmt.Sprint(n.Tasks), used(n, "cpu"), used(n, "memory"), devices(n))
	}
	return t.write(w, "nodes")
}

// used prints what is allocated of a resource, and of how much.
func used(n *client.Node, resource string) string {
	whole, ok := n.Spec.Capacity[resource]
	if !ok {
		return ""
	}
	taken := n.Allocated[resource]
	if taken == "" {
		taken = "0"
	}
	return short(resource, taken) + "/" + short(resource, whole)
}

// devices prints how many devices are wholly idle, and of how many.
func devices(n *client.Node) string {
	d := n.Spec.Devices
	if d == nil {
		return ""
	}
	idle := 0
	for _, milli := range n.DeviceIdle {
		if milli == 1000 {
			idle++
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d/%d %s %s", int(d.Count)-idle, d.Count, d.Kind, d.Model))
}

func newNodeGet(s Streams, r *remote) *cobra.Command {
	cmd := getCommand(s, r, "node", nodeNames, (*client.Client).Node, nodeFacts)
	cmd.Short = "Show a node"
	return cmd
}

func nodeFacts(w io.Writer, n *client.Node) error {
	labels := make(map[string]client.Quantity, len(n.Spec.Labels))
	for k, v := range n.Spec.Labels {
		labels[k] = client.Quantity(v)
	}
	var taints []string
	for _, t := range n.Spec.Taints {
		taints = append(taints, strings.TrimSuffix(t.Key+"="+t.Value, "=")+":"+t.Effect)
	}
	return facts(w, "name", n.Name, "state", n.State, "cluster", n.Spec.Cluster, "class", n.Class,
		"incarnation", fmt.Sprint(n.Incarnation), "version", fmt.Sprint(n.Version),
		"capacity", amounts(n.Spec.Capacity), "allocated", amounts(n.Allocated), "idle", amounts(n.Idle), "devices in use", devices(n),
		"tasks", fmt.Sprint(n.Tasks), "labels", amounts(labels), "taints", strings.Join(taints, ", "), "last heard of", moment(n.Heartbeat))
}

func newNodeDrain(s Streams, r *remote, drained bool) *cobra.Command {
	use, short := "drain", "Give nodes no new jobs; what runs on them goes on"
	if !drained {
		use, short = "undrain", "Give nodes new jobs again"
	}
	return &cobra.Command{
		Use: use + " NODE...", Short: short, Args: named("node", anyNumber),
		ValidArgsFunction: r.complete(anyNumber, nodeNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				for _, name := range args {
					n, err := c.DrainNode(ctx, name, drained)
					if err != nil {
						return err
					}
					fmt.Fprintf(s.Out, "node %s is %s, with %d tasks\n", cell(n.Name), n.State, n.Tasks)
				}
				return nil
			})
		},
	}
}

func newNodeJoin(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "join FILE", Short: "Let the nodes of a file join, one after the other", Args: named("file of nodes", 1),
		Long: "Let the nodes of a file join, one after the other. An executor of their own has to run their\n" +
			"tasks: it reads the assignments of its node and reports what became of them.",
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, err := nodeSpecsOf(args[0])
			if err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				for i := range specs {
					n, err := c.JoinNode(ctx, specs[i])
					if err != nil {
						return err
					}
					fmt.Fprintf(s.Out, "node %s joined, incarnation %d\n", cell(n.Name), n.Incarnation)
				}
				return nil
			})
		},
	}
}

func nodeSpecsOf(path string) ([]client.NodeSpec, error) {
	nodes, err := manifest.ReadNodes(path)
	if err != nil {
		return nil, err
	}
	specs := make([]client.NodeSpec, len(nodes))
	for i := range nodes {
		specs[i] = client.NewNodeSpec(&nodes[i])
	}
	return specs, nil
}

func newNodeLeave(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "leave NODE...", Short: "Let nodes leave", Args: named("node", anyNumber),
		ValidArgsFunction: r.complete(anyNumber, nodeNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				for _, name := range args {
					if err := c.LeaveNode(ctx, name); err != nil {
						return err
					}
					fmt.Fprintf(s.Out, "node %s left\n", cell(name))
				}
				return nil
			})
		},
	}
}
