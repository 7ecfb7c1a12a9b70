package policy

import (
	"os"
	"testing"
)

// childCommand is the subcommand under which the test binary is its own compile
// child.
const childCommand = "plugin-compile"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		os.Exit(RunCompileChild(os.Stdin, os.Stdout, os.Args[2:]))
	}
	os.Exit(m.Run())
}
