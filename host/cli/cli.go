package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/poise-sched/poise/host/poise"
)

// Streams are where a command writes: what was asked for goes to Out, progress
// and errors go to Err.
type Streams struct {
	Out, Err io.Writer
}

// terminal says whether a person watches Err.
func (s Streams) terminal() bool {
	f, ok := s.Err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Run carries out a command line, without the program's name, and gives the
// exit code.
func Run(args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	var child childFailed
	if errors.As(err, &child) {
		return int(child) // its parent reads the rest
	}
	fmt.Fprintf(s.Err, "poise: %v\n", err)
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(s.Err, "usage: %s\nhelp:  %s --help\n", cmd.UseLine(), cmd.CommandPath())
	}
	return exitCode(err)
}

// usageError is a command line that does not say what to do.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// exitCodes maps the kinds of poise.Error.
var exitCodes = map[poise.Kind]int{
	poise.NotFound:    3,
	poise.Denied:      4,
	poise.Limit:       4,
	poise.Unavailable: 5,
}

func exitCode(err error) int {
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	if code, ok := exitCodes[poise.KindOf(err)]; ok {
		return code
	}
	return 1
}

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "poise",
		Short:         "A job scheduler whose placement policies are sandboxed plugins",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newJob(s), newPlan(s), newNode(s), newCluster(s), newFleet(s), newDecision(s), newEvent(s))
	root.AddCommand(newTenant(s), newLogin(s), newContext(s), newAudit(s))
	root.AddCommand(newSim(s), newClass(s), newPlugin(s), newConfig(s), newServe(s), newSnapshot(s), newReplay(s), newBackup(s), newRestore(s), newVersion(s), newCompile(s), newConform(s), newShim())
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}
