package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newTenant(s Streams) *cobra.Command {
	r := &remote{}
	return group("tenant", "Create tenants and let people act for them", r, newTenantCreate(s, r), newTenantList(s, r), newTenantRemove(s, r), newTenantQuota(s, r), newTenantSigning(s, r), newTenantToken(s, r))
}

func newTenantCreate(s Streams, r *remote) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "create TENANT [flags]", Short: "Create a tenant and print the first token of its administrator", Args: named("tenant", 1),
		Long: "Create a tenant and print the first token of its administrator, which is shown this once. From\n" +
			"the first tenant on, programs on the daemon's machine need a token too; its own user needs none\n" +
			"over the socket.",
		Example: "  poise tenant create acme > acme.token",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				made, err := c.CreateTenant(ctx, args[0])
				if err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "tenant %s created; the token of its administrator is shown this once\n", cell(made.Tenant.Name))
				return o.print(s.Out, made, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, made.Token.Text)
					return err
				})
			})
		},
	}
	o.addFlag(cmd)
	return cmd
}

func tenantTable(w io.Writer, list []client.Tenant) error {
	t := rows{{"NAME", "BUILT-IN"}}
	for i := range list {
		builtIn := ""
		if list[i].BuiltIn {
			builtIn = "yes"
		}
		t.add(list[i].Name, builtIn)
	}
	return t.write(w, "tenants")
}

func newTenantList(s Streams, r *remote) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List tenants by name", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.Tenant, error) { return c.Tenants(ctx) }, tenantTable)
		},
	}
	o.addFlag(cmd)
	return cmd
}

func newTenantRemove(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "remove TENANT", Short: "Remove a tenant that has no jobs left, and its tokens", Args: named("tenant", 1),
		ValidArgsFunction: r.complete(1, tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.RemoveTenant(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "tenant %s is removed\n", cell(args[0]))
				return err
			})
		},
	}
}

func tenantNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Tenants(ctx)
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names, err
}
