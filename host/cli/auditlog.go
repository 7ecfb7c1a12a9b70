package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newAudit(s Streams) *cobra.Command {
	r := &remote{}
	var o output
	var limit int
	cmd := &cobra.Command{
		Use: "audit [flags]", Short: "List who changed what, newest first", Args: noArgs,
		Long: "List who changed what, and who was not let to, newest first. A tenant's administrator sees what\n" +
			"is the tenant's, whoever changed it; an operator sees all.",
		Example: "  poise audit --tenant acme --limit 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.AuditRecord, error) {
				return all(limit, func(limit int, after string) ([]client.AuditRecord, string, error) {
					page, err := c.Audit(ctx, client.AuditFilter{Limit: limit, After: after})
					return page.Records, page.Next, err
				})
			}, func(w io.Writer, list []client.AuditRecord) error {
				t := rows{{"AT", "WHO", "ROLE", "TENANT", "ACTION", "OBJECT", "STATUS", "DETAIL"}}
				for i := range list {
					a := &list[i]
					t.add(moment(a.At), a.Who, a.Role, a.Tenant, a.Action, a.Object, fmt.Sprint(a.Status), a.Detail)
				}
				return t.write(w, "changes")
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	limitFlag(cmd, &limit)
	return cmd
}
