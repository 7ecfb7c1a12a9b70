package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/policy"
)

// pushPatience is how long a push may take: its turn, a compile and the checks.
const pushPatience = 5 * time.Minute

// pluginPushOptions are the flags of plugin push.
type pluginPushOptions struct {
	tag, signature string
	params         []string
	cluster        bool
	output         output
}

func newPluginPush(s Streams) *cobra.Command {
	r, o, file := &remote{}, pluginPushOptions{}, ""
	cmd := &cobra.Command{
		Use:   "push FILE.wasm [flags]",
		Short: "Push a version of a plugin to the daemon",
		Long: "Push a version of a plugin to the daemon, which verifies it, compiles it in a process of its own,\n" +
			"checks it against the contract and tries it on the fleet as it is. Name and version are in the\n" +
			"plugin's manifest. A version is one module for good: the same module again changes nothing, and\n" +
			"another one needs another version. A signature is taken from FILE.wasm.minisig if that is there.",
		Example: "  poise plugin push spread.wasm --tag stable\n  poise plugin push only-class.wasm --param class=cpu-highmem",
		Args:    oneFile(&file),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.output.check(); err != nil {
				return err
			}
			p, err := o.read(file)
			if err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				ctx, cancel := context.WithTimeout(ctx, pushPatience)
				defer cancel()
				v, err := c.PushPlugin(ctx, o.cluster, p)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				return o.output.print(s.Out, v, func(w io.Writer) error { return printPushed(w, &v) })
			})
		},
	}
	r.addFlags(cmd)
	o.output.addFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tag, "tag", "", "a name for this version, taken from the version that has it")
	f.StringVar(&o.signature, "signature", "", "the file of its signature (default FILE.wasm.minisig, if that is there)")
	f.StringArrayVar(&o.params, "param", nil, "NAME=VALUE: a parameter to try it with; repeatable")
	clusterFlag(cmd, &o.cluster, "for all tenants in place of one; for operators")
	return cmd
}

// clusterFlag adds the flag that stands for all tenants.
func clusterFlag(cmd *cobra.Command, cluster *bool, usage string) {
	cmd.Flags().BoolVar(cluster, "cluster", false, usage)
}

func (o *pluginPushOptions) read(file string) (client.PluginPush, error) {
	p := client.PluginPush{Tag: o.tag}
	var err error
	if p.Params, err = pairs(o.params); err != nil {
		return p, err
	}
	// The daemon may take more than this program does by itself: it says so.
	if p.Module, err = readModule(file, max(int64(policy.Defaults().Module.Bytes), maxPush)); err != nil {
		return p, err
	}
	name := o.signature
	if name == "" {
		name = file + ".minisig"
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && o.signature == "" {
		return p, nil
	}
	p.Signature = string(text)
	return p, err
}

// maxPush bounds what is read of a file that is no plugin, in bytes.
const maxPush = 64 << 20

// printPushed says what became of a push. A check that passed says nothing.
func printPushed(w io.Writer, v *client.PluginVersion) error {
	whose := "tenant " + cell(v.Tenant)
	if v.Tenant == "" {
		whose = "all tenants"
	}
	fmt.Fprintf(w, "pushed %s@%s for %s\n%s, %s, %s\n", cell(v.Plugin), cell(v.Version), whose, v.Digest, strings.Join(v.Exports, " and "), bytesText(int64(v.Size)))
	if len(v.Tags) > 0 {
		fmt.Fprintf(w, "tags: %s\n", cell(strings.Join(v.Tags, ", ")))
	}
	passed := 0
	for _, c := range v.Checks {
		if c.Outcome == "pass" {
			passed++
		}
		if c.Name == "this-fleet" {
			fmt.Fprintf(w, "tried on this fleet: %s\n", cell(c.Detail))
		}
	}
	if len(v.Checks) > 0 {
		fmt.Fprintf(w, "checks: %d passed, %d with a warning\n", passed, len(v.Warnings))
	} else {
		fmt.Fprintln(w, "it was there already")
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(w, "warning: %s\n", cell(text))
	}
	_, err := fmt.Fprintf(w, "next: poise plugin activate %s@%s\n", cell(v.Plugin), cell(v.Version))
	return err
}
