package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
)

// socketIn gives the socket of a daemon as the daemon's own settings have it:
// that in dataDir, or where the environment says, or the default one.
func socketIn(dataDir string, environ []string) (string, error) {
	var env []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		ours := name == "POISE_DATA_DIR" || name == "POISE_API_SOCKET"
		if name == "HOME" || name == "XDG_DATA_HOME" || ours && dataDir == "" {
			env = append(env, e)
		}
	}
	if dataDir != "" {
		env = append(env, "POISE_DATA_DIR="+dataDir)
	}
	loaded, err := config.Load(config.Options{Env: env})
	if err != nil {
		return "", err
	}
	return loaded.Config.API.Socket, nil
}

// call runs f with a client of the daemon.
func (r *remote) call(cmd *cobra.Command, f func(context.Context, *client.Client) error) error {
	c, err := r.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return f(cmd.Context(), c)
}

// Completion asks the daemon, which may not be there: then there are no names to
// offer, and no wait for them.
const (
	completionWait  = 2 * time.Second
	completionNames = 500
)

// complete offers what list gives for the arguments of a command, each once and
// at most so many.
func (r *remote) complete(most int, list func(context.Context, *client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionWait)
		defer cancel()
		c, err := r.dial()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer c.Close()
		names, err := list(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return slices.Contains(args, n) })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func jobNames(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Jobs(ctx, client.JobFilter{Limit: completionNames})
	var names []string
	for i := range page.Jobs {
		names = append(names, page.Jobs[i].Name)
	}
	return names, err
}

func nodeNames(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Nodes(ctx, client.NodeFilter{Limit: completionNames})
	var names []string
	for i := range page.Nodes {
		names = append(names, page.Nodes[i].Name)
	}
	return names, err
}

func clusterNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Clusters(ctx)
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names, err
}

func classNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Classes(ctx)
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names, err
}

// anyNumber lets a command take as many arguments as there are.
const anyNumber = 1 << 30

// named checks that one argument, or at least one, is there: the thing's name.
func named(thing string, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("no %s given, expected the name of one", thing)
		case len(args) > most:
			return usagef("%q: expected %d argument(s), the %s", args[most], most, thing)
		}
		return nil
	}
}

// all reads every page of a list, or so many items that limit is reached; 0 is
// all of them.
func all[T any](limit int, page func(limit int, after string) ([]T, string, error)) ([]T, error) {
	list := []T{}
	for after := ""; ; {
		want := client.MaxPage
		if limit > 0 {
			want = min(want, limit-len(list))
		}
		some, next, err := page(want, after)
		list = append(list, some...)
		if err != nil || next == "" || limit > 0 && len(list) >= limit {
			return list, err
		}
		after = next
	}
}

// limitFlag adds the flag that bounds a list.
func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", client.DefaultPage, "at most so many; 0 is all")
}

// group is a command that only has others below it.
func group(use, short string, r *remote, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.addFlags(cmd)
	cmd.AddCommand(commands...)
	return cmd
}

// getCommand shows one thing of the daemon's, by its name.
func getCommand[T any](
	s Streams, r *remote, thing string, names func(context.Context, *client.Client) ([]string, error),
	get func(*client.Client, context.Context, string) (T, error), facts func(io.Writer, *T) error,
) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "get " + strings.ToUpper(thing) + " [flags]", Args: named(thing, 1), ValidArgsFunction: r.complete(1, names),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (T, error) { return get(c, ctx, args[0]) },
				func(w io.Writer, v T) error { return facts(w, &v) })
		},
	}
	o.addFlag(cmd)
	return cmd
}
