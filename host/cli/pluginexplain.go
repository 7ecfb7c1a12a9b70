package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newPluginExplain(s Streams) *cobra.Command {
	r, o, cluster := &remote{}, output(""), false
	cmd := &cobra.Command{
		Use:   "explain [TENANT] [flags]",
		Short: "Explain how a tenant's jobs are ranked: the policies in force, from the bottom up",
		Long: "Explain how a tenant's jobs are ranked: the native scorer, the cluster's policy and the tenant's\n" +
			"own, with parameters, weights, limits as they apply, what happens while one fails, and what a\n" +
			"rollback leads to.",
		Example: "  poise plugin explain acme",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%q: expected one tenant at most", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.tenant = args[0]
			}
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.PolicyStack, error) { return c.Policy(ctx, cluster) }, printStack)
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	clusterFlag(cmd, &cluster, "the jobs of tenants without a policy of their own; for operators")
	return cmd
}

// printStack prints a stack of policies from the bottom up.
func printStack(w io.Writer, p client.PolicyStack) error {
	var b strings.Builder
	whose := "the jobs of tenant " + cell(p.Tenant)
	if p.Tenant == "" {
		whose = "the jobs of tenants without a policy of their own"
	}
	fmt.Fprintf(&b, "How %s are ranked, from the bottom up:\n\n", whose)
	fmt.Fprintf(&b, "1. %s, the native scorer\n", cell(p.Native.Policy))
	var constants []string
	for _, name := range slices.Sorted(maps.Keys(p.Native.Constants)) {
		constants = append(constants, fmt.Sprintf("%s %v", name, p.Native.Constants[name]))
	}
	line(&b, "constants", strings.Join(constants, ", "))
	ties := "by name"
	if p.Native.Ties == "seeded" {
		ties = fmt.Sprintf("by seed %d", p.Native.Seed)
	}
	line(&b, "ties", ties)
	if p.Native.ProtectDevices {
		line(&b, "devices", "nodes with devices are kept for jobs that ask for devices")
	}
	for i := range p.Layers {
		explainLayer(&b, i+2, &p.Layers[i])
	}
	if p.Waits != "" {
		fmt.Fprintf(&b, "\nnothing is planned now: %s\n", cell(p.Waits))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, name, text string) { fmt.Fprintf(b, "   %-12s %s\n", name, text) }

func explainLayer(b *strings.Builder, n int, l *client.PolicyLayer) {
	whose := "the tenant's own"
	if l.Scope == "cluster" {
		whose = "the cluster's"
	}
	fmt.Fprintf(b, "\n%d. %s@%s, %s\n", n, cell(l.Plugin), cell(l.Version), whose)
	line(b, "digest", l.Digest)
	if len(l.Exports) > 0 {
		line(b, "takes part", strings.Join(l.Exports, " and "))
	}
	if slices.Contains(l.Exports, "score") {
		weight := "in place of what is under it"
		if l.Weight > 0 {
			weight = fmt.Sprintf("%v beside what is under it", l.Weight)
		}
		line(b, "weight", weight)
	}
	if len(l.Params) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(l.Params)) {
			all = append(all, name+"="+l.Params[name])
		}
		line(b, "parameters", cell(strings.Join(all, ", ")))
	}
	line(b, "on failure", fmt.Sprintf("%s: %s", l.OnFailure, cell(l.Rule)))
	if !l.Quarantined.IsZero() {
		line(b, "quarantine", "since "+moment(l.Quarantined)+"; it is tried again from time to time")
	}
	if l.Fault != "" {
		line(b, "fault", cell(l.Fault))
	}
	if u := l.Use; u != nil {
		text := fmt.Sprintf("%d calls about %d nodes, %d units of fuel", u.Calls, u.Rows, u.Fuel)
		if len(u.Faults) > 0 {
			text += ", faults: " + faultsText(u.Faults)
		}
		line(b, "so far", text)
	}
	if m := l.Limits; m != nil {
		line(b, "limits", fmt.Sprintf("%s of memory, %d units of fuel a call, %d a job and %d more per node", bytesText(m.Memory), m.Call, m.Job, m.Row))
		if m.PerSecond > 0 {
			line(b, "", fmt.Sprintf("%d units a second, weight up to %v", m.PerSecond, m.Weight))
		}
	}
	by := cell(l.By)
	if !l.Since.IsZero() {
		by += ", " + moment(l.Since)
	}
	line(b, "by", by)
	for i, h := range l.History {
		name := ""
		if i == 0 {
			name = "rollback to"
		}
		line(b, name, fmt.Sprintf("%s@%s %s by %s", cell(h.Plugin), cell(h.Version), shortDigest(h.Digest), cell(h.By)))
	}
}
