package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/abi/guest"
	"github.com/poise-sched/poise/host/poise"
)

// pluginNewOptions are the flags of plugin new.
type pluginNewOptions struct {
	name string
	lang string
	dir  string
}

func newPluginNew(s Streams) *cobra.Command {
	o := pluginNewOptions{}
	cmd := &cobra.Command{
		Use:   "new --lang LANGUAGE NAME [flags]",
		Short: "Write a project for a new plugin, with its SDK, a first policy and tests",
		Long: "Write a project that builds with make and passes its first test with make test. The SDK is\n" +
			"part of it; nothing is downloaded. Files that are there already are never overwritten.",
		Example: "  poise plugin new --lang rust my-policy && cd my-policy && make test",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: %d names, expected one", cmd.CommandPath(), len(args))
			}
			o.name = args[0]
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return newProject(s, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.lang, "lang", "", strings.Join(guest.Languages(), ", "))
	f.StringVar(&o.dir, "dir", "", "directory of the project (default: one of its name)")
	return cmd
}

// newProject does what plugin new says.
func newProject(s Streams, o *pluginNewOptions) error {
	if o.lang == "" {
		return usagef("--lang: not given, expected one of %s", strings.Join(guest.Languages(), ", "))
	}
	files, err := guest.Project(o.lang, o.name)
	if err != nil {
		return &usageError{err}
	}
	dir := o.dir
	if dir == "" {
		dir = o.name
	}
	if err := emptyOrAbsent(dir); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeNew(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.Out, "%s: a policy in %s, %d files. It needs %s.\n\n"+
		"  cd %s\n  make\n  make test\n  poise plugin check %s.wasm\n",
		dir, o.lang, len(files), guest.Needs(o.lang), dir, o.name)
	return err
}

// emptyOrAbsent refuses a directory that holds anything.
func emptyOrAbsent(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("new plugin: %w", err)
	}
	return &poise.Error{Kind: poise.Conflict, Op: "new plugin", Detail: fmt.Sprintf("directory %s: holds %s, expected none or an empty one", dir, entries[0].Name())}
}

// writeNew writes a file that is not there.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("new plugin: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("new plugin: %w", err)
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("new plugin: write %s: %w", path, err)
	}
	return nil
}
