package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/policy"
)

// compileFailed is how the compile child says that it could not answer.
type compileFailed int

func (compileFailed) Error() string { return "compile child" }

// newCompile is the hidden command that compiles a module from standard input in
// a process of its own.
func newCompile(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:                compileCommand,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := policy.RunCompileChild(os.Stdin, s.Out, args); code != 0 {
				return compileFailed(code)
			}
			return nil
		},
	}
}
