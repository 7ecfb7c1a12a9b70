package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newTenantToken(s Streams, r *remote) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Create, list and revoke tokens", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate(s, r), newTokenList(s, r), newTokenRevoke(s, r))
	return cmd
}

// oneTenant takes a tenant, or none.
func oneTenant(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%q: expected one tenant, or none", args[1])
	}
	return nil
}

func newTokenCreate(s Streams, r *remote) *cobra.Command {
	var o output
	var spec client.TokenSpec
	cmd := &cobra.Command{
		Use: "create [TENANT] [flags]", Short: "Create a token and print it, this once", Args: oneTenant,
		Long: "Create a token and print it, this once: the daemon keeps no more than what tells it from others.\n" +
			"The roles viewer, submitter and tenant-admin are of a tenant, the caller's own where none is\n" +
			"given; operator and admin are of all.",
		Example: "  poise tenant token create acme --role submitter --name ci --expires 720h\n" +
			"  poise tenant token create --role operator --name ops",
		ValidArgsFunction: r.complete(1, tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if spec.Tenant = r.tenant; len(args) > 0 {
				spec.Tenant = args[0]
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				made, err := c.CreateToken(ctx, spec)
				if err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "token %s of role %s created; it is shown this once\n", made.ID, made.Role)
				return o.print(s.Out, made, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, made.Text)
					return err
				})
			})
		},
	}
	o.addFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&spec.Role, "role", "submitter", "admin, operator, tenant-admin, submitter or viewer")
	f.StringVar(&spec.Name, "name", "", "what people call it, such as who has it")
	f.StringVar(&spec.ExpiresIn, "expires", "", "how long it is valid, such as 720h (default without end)")
	// It fails for a flag that is not there, and this one is.
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"admin", "operator", "tenant-admin", "submitter", "viewer"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func newTokenList(s Streams, r *remote) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list [TENANT] [flags]", Short: "List tokens without their secrets, the oldest first", Args: oneTenant,
		ValidArgsFunction: r.complete(1, tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				r.tenant = args[0]
			}
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.Token, error) { return c.Tokens(ctx) },
				func(w io.Writer, list []client.Token) error { return tokenTable(w, list, time.Now()) })
		},
	}
	o.addFlag(cmd)
	return cmd
}

func tokenTable(w io.Writer, list []client.Token, now time.Time) error {
	t := rows{{"ID", "NAME", "TENANT", "ROLE", "STATE", "CREATED", "EXPIRES"}}
	for i := range list {
		k := &list[i]
		state := "valid"
		switch {
		case !k.Revoked.IsZero():
			state = "revoked"
		case !k.Expires.IsZero() && !now.Before(k.Expires):
			state = "expired"
		}
		t.add(k.ID, k.Name, k.Tenant, k.Role, state, moment(k.Created), moment(k.Expires))
	}
	return t.write(w, "tokens")
}

func newTokenRevoke(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens by the id that the list has", Args: named("token", anyNumber),
		Long: "Revoke tokens by the id that the list has: the digits between the first and the second _ of a\n" +
			"token. From then on the daemon refuses them, and streams that were opened with them end.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				for _, id := range args {
					if err := c.RevokeToken(ctx, id); err != nil {
						return err
					}
					fmt.Fprintf(s.Out, "token %s is revoked\n", cell(id))
				}
				return nil
			})
		},
	}
}
