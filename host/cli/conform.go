package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/abi/conformance"
)

// conformCommand is the hidden command of the child that checks a plugin.
const conformCommand = "plugin-conform"

// newConform is the hidden command that checks a module from standard input
// against the contract, in a process of its own.
func newConform(s Streams) *cobra.Command {
	return &cobra.Command{
		Use: conformCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := conformance.RunChild(os.Stdin, s.Out, args); code != 0 {
				return childFailed(code)
			}
			return nil
		},
	}
}
