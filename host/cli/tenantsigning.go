package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newTenantSigning(s Streams, r *remote) *cobra.Command {
	var o output
	var require bool
	var keys []string
	cmd := &cobra.Command{
		Use: "signing TENANT [flags]", Short: "Show or set whose plugins a tenant takes", Args: named("tenant", 1),
		Long: "Show or set whose plugins a tenant takes: with --require only those signed by one of the keys, by\n" +
			"the minisign tool or poise plugin sign. It holds for what is pushed or put in force from then on.",
		Example:           "  poise tenant signing acme --require --key minisign.pub",
		ValidArgsFunction: r.complete(1, tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			texts := make([]string, len(keys))
			for i, key := range keys {
				var err error
				if texts[i], err = keyText(key); err != nil {
					return err
				}
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				signing, err := c.Signing(ctx, args[0])
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("require") || cmd.Flags().Changed("key") {
					if cmd.Flags().Changed("require") {
						signing.Required = require
					}
					if cmd.Flags().Changed("key") {
						signing.Keys = texts
					}
					if signing, err = c.SetSigning(ctx, args[0], signing); err != nil {
						return err
					}
				}
				return o.print(s.Out, signing, func(w io.Writer) error {
					required := "no"
					if signing.Required {
						required = "yes"
					}
					fmt.Fprintf(w, "signature required  %s\n", required)
					for _, key := range signing.Keys {
						fmt.Fprintf(w, "key                 %s\n", cell(key))
					}
					return nil
				})
			})
		},
	}
	cmd.Flags().BoolVar(&require, "require", false, "take only plugins that one of the keys has signed; --require=false takes any")
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a public key or its file, in place of those before; repeatable")
	o.addFlag(cmd)
	return cmd
}

// keyText gives a public key as one line, from itself or from its file.
func keyText(key string) (string, error) {
	text := key
	if !strings.HasPrefix(key, "RW") {
		read, err := os.ReadFile(key)
		if err != nil {
			return "", err
		}
		text = string(read)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1]), nil // before it stands a comment
}
