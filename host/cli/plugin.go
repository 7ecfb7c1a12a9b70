package cli

import (
	"github.com/spf13/cobra"
)

// newPlugin is the group of commands that serve the author of a plugin.
func newPlugin(s Streams) *cobra.Command {
	group := &cobra.Command{
		Use:   "plugin",
		Short: "Make, examine, check and distribute policy plugins",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newPluginNew(s), newPluginInspect(s), newPluginCheck(s))
	group.AddCommand(newPluginRun(s), newPluginTest(s), newPluginBench(s))
	group.AddCommand(newPluginSign(s), newPluginVerify(s), newPluginCopy(s))
	group.AddCommand(newPluginPush(s), newPluginPull(s), newPluginList(s), newPluginDelete(s), newPluginGC(s))
	group.AddCommand(newPluginActivate(s), newPluginRollback(s), newPluginDeactivate(s), newPluginExplain(s), newPluginShadow(s))
	return group
}
