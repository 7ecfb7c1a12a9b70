package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/policy"
)

// childFailed is how a child process of the program says that it failed.
type childFailed int

func (childFailed) Error() string { return "child process" }

// newCompile is the hidden command that compiles a module from standard input in
// a process of its own.
func newCompile(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:                compileCommand,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := policy.RunCompileChild(os.Stdin, s.Out, args); code != 0 {
				return childFailed(code)
			}
			return nil
		},
	}
}
