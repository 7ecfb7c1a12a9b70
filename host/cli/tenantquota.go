package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newTenantQuota(s Streams, r *remote) *cobra.Command {
	var o output
	var parent string
	var weight float64
	var refuse bool
	var set, unset []string
	cmd := &cobra.Command{
		Use: "quota TENANT [flags]", Short: "Show or set what part of the fleet a tenant gets", Args: named("tenant", 1),
		Long: "Show what part of the fleet a tenant gets and has, or set it. Fair share orders tenants by the\n" +
			"largest part that each holds of any resource, divided by its weight; who stays within what is\n" +
			"guaranteed goes before who does not. Nothing that runs is stopped by a quota.\n\n" +
			"A resource is a dimension (cpu), a kind of device (gpu), the devices of one model (gpu/H100), or\n" +
			"what the nodes of one class have of either (cpu@cpu-highmem, gpu@gpu-g2-8x). A tenant at its limit\n" +
			"of a model or a class goes to other nodes.",
		Example: "  poise tenant quota acme --weight 2 --set cpu=guaranteed:64,limit:128 --set gpu/H100=limit:8\n" +
			"  poise tenant quota acme --unset gpu",
		ValidArgsFunction: r.complete(1, tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			changes := cmd.Flags().Changed("parent") || cmd.Flags().Changed("weight") || cmd.Flags().Changed("refuse-unfit") || len(set)+len(unset) > 0
			quotas := make([]client.Quota, len(set))
			for i, text := range set {
				var err error
				if quotas[i], err = parseQuotaFlag(text); err != nil {
					return usagef("%v", err)
				}
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				share, err := c.Share(ctx, args[0])
				if err != nil {
					return err
				}
				if changes {
					spec := share.ShareSpec
					if cmd.Flags().Changed("parent") {
						spec.Parent = parent
					}
					if cmd.Flags().Changed("weight") {
						spec.Weight = weight
					}
					if cmd.Flags().Changed("refuse-unfit") {
						spec.RefuseUnfit = refuse
					}
					gone := func(q client.Quota) bool {
						return slices.Contains(unset, q.Resource) || slices.ContainsFunc(quotas, func(n client.Quota) bool { return n.Resource == q.Resource })
					}
					spec.Quotas = append(slices.DeleteFunc(slices.Clone(spec.Quotas), gone), quotas...)
					if share, err = c.SetShare(ctx, args[0], spec); err != nil {
						return err
					}
				}
				for _, w := range share.Warnings {
					fmt.Fprintf(s.Err, "warning: %s\n", w)
				}
				return o.print(s.Out, share, func(w io.Writer) error { return writeShare(w, &share) })
			})
		},
	}
	cmd.Flags().StringVar(&parent, "parent", "", "the tenant that it is a part of; empty for none")
	cmd.Flags().Float64Var(&weight, "weight", 0, "beside the others under the same parent; 0 counts as 1")
	cmd.Flags().BoolVar(&refuse, "refuse-unfit", false, "refuse jobs that no present node could hold, even empty; else they wait for one that could")
	cmd.Flags().StringArrayVar(&set, "set", nil, "RESOURCE=guaranteed:AMOUNT,limit:AMOUNT,reserved:AMOUNT, at least one of them; repeatable")
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "a resource without a quota from now on; repeatable")
	o.addFlag(cmd)
	return cmd
}

// parseQuotaFlag reads RESOURCE=guaranteed:A,limit:B,reserved:C.
func parseQuotaFlag(text string) (client.Quota, error) {
	name, parts, ok := strings.Cut(text, "=")
	q := client.Quota{Resource: name}
	if !ok || name == "" || parts == "" {
		return q, fmt.Errorf("--set: %q, expected RESOURCE=guaranteed:AMOUNT,limit:AMOUNT,reserved:AMOUNT", text)
	}
	for part := range strings.SplitSeq(parts, ",") {
		field, amount, _ := strings.Cut(part, ":")
		to := map[string]*client.Quantity{"guaranteed": &q.Guaranteed, "limit": &q.Limit, "reserved": &q.Reserved}[field]
		if to == nil || amount == "" || *to != "" {
			return q, fmt.Errorf("--set: %s: %q, expected guaranteed:AMOUNT, limit:AMOUNT or reserved:AMOUNT, each once", name, part)
		}
		*to = client.Quantity(amount)
	}
	return q, nil
}

// writeShare prints a tenant's part of the fleet.
func writeShare(w io.Writer, s *client.Share) error {
	weight := s.Weight
	if weight == 0 {
		weight = 1
	}
	fmt.Fprintf(w, "tenant          %s\n", cell(s.Tenant))
	if s.Parent != "" {
		fmt.Fprintf(w, "part of         %s\n", cell(s.Parent))
	}
	fmt.Fprintf(w, "weight          %v\n", weight)
	if s.RefuseUnfit {
		fmt.Fprintf(w, "unfit jobs      refused when submitted\n")
	}
	if s.Resource == "" {
		fmt.Fprintf(w, "dominant share  0\n")
	} else {
		fmt.Fprintf(w, "dominant share  %.3f of %s\n", s.Dominant, cell(s.Resource))
		if s.Past > 0 {
			fmt.Fprintf(w, "past share      %.3f\n", s.Past)
		}
	}
	if len(s.Holds) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := rows{{"RESOURCE", "HOLDS", "GUARANTEED", "RESERVED", "LIMIT", "FLEET"}}
	for _, h := range s.Holds {
		var q client.Quota
		if i := slices.IndexFunc(s.Quotas, func(q client.Quota) bool { return q.Resource == h.Resource }); i >= 0 {
			q = s.Quotas[i]
		}
		t.add(h.Resource, string(h.Used), string(q.Guaranteed), string(q.Reserved), string(q.Limit), string(h.Fleet))
	}
	return t.write(w, "resources")
}
