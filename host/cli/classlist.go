package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func newClassList(s Streams) *cobra.Command {
	return classesCommand(s, "list [flags]", "List the classes of the daemon's nodes", (*client.Client).Classes)
}

func newClassRebuild(s Streams) *cobra.Command {
	return classesCommand(s, "rebuild [flags]", "Find the classes of the daemon's nodes anew", (*client.Client).RebuildClasses)
}

func classesCommand(s Streams, use, short string, list func(*client.Client, context.Context) ([]client.Class, error)) *cobra.Command {
	var o output
	r := &remote{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.Class, error) { return list(c, ctx) }, classTable)
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	return cmd
}

func classTable(w io.Writer, classes []client.Class) error {
	t := rows{{"CLASS", "NODES", "CPU", "MEMORY", "GIB/CORE", "DEVICES"}}
	for i := range classes {
		k := &classes[i]
		t.add(k.Name, fmt.Sprint(k.Nodes), classRange(k, "cpu", short), classRange(k, "memory", short), fmt.Sprintf("%.3g", k.Ratio), classDevices(k))
	}
	return t.write(w, "classes")
}

// classRange prints what the nodes of a class have of a resource, each amount by
// text.
func classRange(k *client.Class, resource string, text func(string, client.Quantity) string) string {
	for _, r := range k.Capacity {
		if r.Resource != resource {
			continue
		}
		least, most := text(resource, r.Least), text(resource, r.Most)
		if least == most {
			return most
		}
		return least + "-" + most
	}
	return ""
}

func exactly(_ string, q client.Quantity) string { return string(q) }

func classDevices(k *client.Class) string {
	var parts []string
	for _, d := range k.Devices {
		count := fmt.Sprint(d.Most)
		if d.Least != d.Most {
			count = fmt.Sprintf("%d-%d", d.Least, d.Most)
		}
		parts = append(parts, strings.TrimSpace(count+" "+d.Kind+" "+d.Model))
	}
	return strings.Join(parts, ", ")
}

// shownClass is a class with its nodes.
type shownClass struct {
	Class client.Class  `json:"class"`
	Nodes []client.Node `json:"nodes"`
}

func newClassShow(s Streams) *cobra.Command {
	var o output
	r := &remote{}
	cmd := &cobra.Command{
		Use: "show CLASS [flags]", Short: "Show a class and its nodes", Args: named("class", 1),
		ValidArgsFunction: r.complete(1, classNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (*shownClass, error) {
				return showClass(ctx, c, args[0])
			}, func(w io.Writer, shown *shownClass) error {
				if err := classFacts(w, &shown.Class); err != nil {
					return err
				}
				fmt.Fprintln(w)
				return nodeTable(w, shown.Nodes)
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	return cmd
}

func showClass(ctx context.Context, c *client.Client, name string) (*shownClass, error) {
	classes, err := c.Classes(ctx)
	if err != nil {
		return nil, err
	}
	var known []string
	for i := range classes {
		if classes[i].Name == name {
			nodes, err := listNodes(ctx, c, client.NodeFilter{Class: name})
			return &shownClass{classes[i], nodes}, err
		}
		known = append(known, classes[i].Name)
	}
	return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("class %q", name), Detail: "no such class, expected one of " + strings.Join(known, ", ")}
}

func classFacts(w io.Writer, k *client.Class) error {
	pairs := []string{"class", k.Name, "id", fmt.Sprint(k.ID), "model", fmt.Sprintf("build %d", k.Build), "nodes", fmt.Sprint(k.Nodes)}
	for _, r := range k.Capacity {
		pairs = append(pairs, r.Resource, classRange(k, r.Resource, exactly))
	}
	pairs = append(pairs, "devices", classDevices(k), "median cpu", string(k.MedianCPU), "median memory", string(k.MedianMemory),
		"GiB per core", fmt.Sprintf("%.3g", k.Ratio))
	if k.Pinned {
		pairs = append(pairs, "pinned", "yes, an operator's own class")
	}
	return facts(w, pairs...)
}
