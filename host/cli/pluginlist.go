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

func newPluginList(s Streams) *cobra.Command {
	r, o, name := &remote{}, output(""), ""
	cmd := &cobra.Command{
		Use:   "list [NAME] [flags]",
		Short: "List the versions of plugins that the daemon has",
		Long: "List the versions of plugins that may be put in force, those that are for all tenants too, and\n" +
			"what the ones in force have done since the daemon began or the policy changed.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%q: expected one name of a plugin at most", args[1])
			}
			if len(args) == 1 {
				name = args[0]
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.PluginVersion, error) {
				return c.Plugins(ctx, name)
			}, pluginTable)
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	return cmd
}

func pluginTable(w io.Writer, list []client.PluginVersion) error {
	t := rows{{"PLUGIN", "VERSION", "DIGEST", "TENANT", "TAGS", "STATE", "PUSHED", "BY", "SIZE", "CALLS", "ROWS", "FUEL", "FAULTS"}}
	for i := range list {
		v := &list[i]
		calls, nodes, fuel, faults := "", "", "", ""
		if u := v.Use; u != nil {
			calls, nodes, fuel, faults = fmt.Sprint(u.Calls), fmt.Sprint(u.Rows), fmt.Sprint(u.Fuel), faultsText(u.Faults)
		}
		owner := v.Tenant
		if owner == "" {
			owner = "all"
		}
		t.add(v.Plugin, v.Version, shortDigest(v.Digest), owner, strings.Join(v.Tags, ","), stateText(v), moment(v.Pushed), v.By, bytesText(int64(v.Size)), calls, nodes, fuel, faults)
	}
	return t.write(w, "plugins")
}

func stateText(v *client.PluginVersion) string {
	switch {
	case v.Quarantined:
		return "quarantine"
	case v.Active:
		return "active"
	case v.Before:
		return "before"
	}
	return ""
}

// faultsText counts faults by code.
func faultsText(faults map[string]int64) string {
	var all []string
	for _, code := range slices.Sorted(maps.Keys(faults)) {
		all = append(all, fmt.Sprintf("%s %d", code, faults[code]))
	}
	return strings.Join(all, ", ")
}

// shortDigest keeps as much of a digest as names a version.
func shortDigest(digest string) string {
	const most = len("sha256:") + 12
	return digest[:min(len(digest), most)]
}

// bytesText prints a size in the unit that says it in few digits.
func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
