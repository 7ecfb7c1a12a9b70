package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/snapshot"
)

func newSnapshot(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Everything that decisions depend on, in one file", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSnapshotSave(s), newSnapshotShow(s))
	return cmd
}

func newSnapshotSave(s Streams) *cobra.Command {
	var index uint64
	r := &remote{}
	cmd := &cobra.Command{
		Use: "save FILE [flags]", Short: "Write the state as it is now, or as it was, to a file",
		Long: "Write the state as it is now, or as it was behind the event of an index, to a file: nodes, jobs,\n" +
			"policies in force with their plugins, the model of classes, the demand profile. Tokens and the\n" +
			"commands and environments of jobs are not in it. The daemon is asked; where none runs, the data\n" +
			"directory is read.",
		Example: "  poise snapshot save now.snapshot\n  poise snapshot save --data-dir ./data --index 1200 then.snapshot",
		Args:    oneArg("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := r.snapshot(cmd, index)
			if err != nil {
				return err
			}
			if err := writeFile(args[0], func(w *sheet) error { _, err := w.Write(file); return err }); err != nil {
				return err
			}
			read, err := snapshot.Decode(file)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "%s: state behind event %d, %d nodes, %d jobs, %d bytes\n", args[0], read.State.Index(), read.State.View().Nodes(), read.State.Jobs(), len(file))
			return err
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Uint64Var(&index, "index", 0, "index of the event behind which the state is taken; 0 = the last one")
	return cmd
}

// snapshot gets a snapshot file from the daemon, or from its data directory where
// none runs.
func (r *remote) snapshot(cmd *cobra.Command, index uint64) (file []byte, err error) {
	err = r.call(cmd, func(ctx context.Context, c *client.Client) error {
		file, err = c.Snapshot(ctx, index)
		return err
	})
	if poise.KindOf(err) != poise.Unavailable || r.server != "" || r.context != "" {
		return file, err
	}
	o := config.Options{Env: os.Environ()}
	if r.dataDir != "" {
		o.Env = append(o.Env, "POISE_DATA_DIR="+r.dataDir)
	}
	loaded, failed := config.Load(o)
	if failed != nil {
		return nil, failed
	}
	dir := loaded.Config.DataDir
	if _, gone := os.Stat(filepath.Join(dir, "store")); gone != nil {
		return nil, err // there is nothing to read either
	}
	return daemon.SaveSnapshot(cmd.Context(), dir, index)
}

// oneArg checks that one argument is there.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: %d arguments, expected one, %s", cmd.CommandPath(), len(args), what)
		}
		return nil
	}
}

func newSnapshotShow(s Streams) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "show FILE [flags]", Short: "Check a snapshot file and say what is in it",
		Args: oneArg("a snapshot file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			f, err := snapshot.Read(args[0])
			if err != nil {
				return err
			}
			v := newSnapshotView(f)
			return o.print(s.Out, v, func(w io.Writer) error { return v.table(w) })
		},
	}
	o.addFlag(cmd)
	return cmd
}

// snapshotView is what snapshot show prints. Its keys stay; others may come.
type snapshotView struct {
	Index    uint64           `json:"index"`
	At       time.Time        `json:"at"`
	Nodes    int              `json:"nodes"`
	Waiting  int              `json:"waiting"`
	Running  int              `json:"running"`
	Tenants  []string         `json:"tenants"`
	Policy   string           `json:"policy"` // of the native scorer
	Ties     string           `json:"ties"`
	Seed     uint64           `json:"seed"`
	Policies []snapshotPolicy `json:"policies"`
	Epoch    uint64           `json:"profile_epoch"`
	Classes  []string         `json:"classes"`
	Parts    []snapshotPart   `json:"parts"`
}

type snapshotPolicy struct {
	Tenant      string `json:"tenant"` // "" = the cluster's
	Plugin      string `json:"plugin"`
	Version     string `json:"version"`
	Digest      string `json:"digest"`
	InForce     bool   `json:"in_force"` // else a rollback leads to it
	Quarantined bool   `json:"quarantined"`
	Here        bool   `json:"here"` // its plugin is in the file
}

type snapshotPart struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

func newSnapshotView(f *snapshot.File) *snapshotView {
	st, view, policies := f.State, f.State.View(), f.State.Policies()
	v := &snapshotView{
		Index: st.Index(), At: client.At(view.At()), Nodes: view.Nodes(), Waiting: len(st.Waiting()), Epoch: view.Epoch(),
		Tenants: []string{}, Policies: []snapshotPolicy{}, Classes: []string{},
	}
	v.Running = st.Jobs() - v.Waiting
	for _, t := range policies.Tenants() {
		v.Tenants = append(v.Tenants, string(t.ID))
	}
	if s := policies.Scheduler(); s != nil {
		v.Policy, v.Ties, v.Seed = s.Policy, s.Ties, s.Seed
	}
	for _, tenant := range policies.Activated() {
		for _, a := range policies.History(tenant) {
			_, err := f.Module(context.Background(), a.Digest)
			v.Policies = append(v.Policies, snapshotPolicy{
				Tenant: string(tenant), Plugin: a.Plugin, Version: a.Version, Digest: a.Digest, InForce: a == policies.Activation(tenant),
				Quarantined: a.Quarantined, Here: err == nil,
			})
		}
	}
	if record, ok := view.Classes().(*model.Record); ok {
		for i := range record.Classes {
			v.Classes = append(v.Classes, record.Classes[i].Name)
		}
	}
	for _, p := range f.Parts {
		v.Parts = append(v.Parts, snapshotPart{p.Name, p.Bytes})
	}
	return v
}

func (v *snapshotView) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, cell(fmt.Sprintf(format, args...)))
	}
	row("checksum", "right")
	row("behind event", "%d", v.Index)
	row("time", "%s", v.At.UTC().Format(time.RFC3339))
	row("nodes", "%d", v.Nodes)
	row("jobs", "%d wait, %d run", v.Waiting, v.Running)
	row("scheduler", "%s, ties by %s, seed %d", v.Policy, v.Ties, v.Seed)
	for _, p := range v.Policies {
		name, state := "policy of the cluster", "in force"
		if p.Tenant != "" {
			name = "policy of " + p.Tenant
		}
		if !p.InForce {
			state = "before"
		}
		if p.Quarantined {
			state += ", in quarantine"
		}
		if !p.Here {
			state += ", plugin not in the file"
		}
		row(name, "%s %s, %s, %s", p.Plugin, p.Version, state, p.Digest)
	}
	row("demand profile", "epoch %d", v.Epoch)
	row("classes", "%d %v", len(v.Classes), v.Classes)
	for _, p := range v.Parts {
		row("part", "%s, %d bytes", p.Name, p.Bytes)
	}
	return t.Flush()
}
