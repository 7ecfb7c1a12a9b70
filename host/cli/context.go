package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// account is one daemon as a person knows it.
type account struct {
	Server string `yaml:"server"`
	Token  string `yaml:"token,omitempty"`
	Tenant string `yaml:"tenant,omitempty"`

	// Which certificate of the daemon is believed, and which one is shown to it,
	// see client.Trust.
	CAFile      string `yaml:"ca_file,omitempty"`
	Fingerprint string `yaml:"fingerprint,omitempty"`
	CertFile    string `yaml:"cert_file,omitempty"`
	KeyFile     string `yaml:"key_file,omitempty"`

	OIDC *vouched `yaml:"oidc,omitempty"` // where the token comes from, nil = a daemon gave it

	name string // of the context, "" = none has it
}

// vouched is what gives a new token.
type vouched struct {
	Issuer   string `yaml:"issuer"`
	ClientID string `yaml:"client_id"`
	Refresh  string `yaml:"refresh_token,omitempty"`
}

func (a *account) trust() client.Trust {
	return client.Trust{CAFile: a.CAFile, Fingerprint: a.Fingerprint, CertFile: a.CertFile, KeyFile: a.KeyFile}
}

// accounts are the contexts of a person, in a file that only they may read.
type accounts struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]account `yaml:"contexts,omitempty"`
}

// accountsFile is where the contexts of the present user are.
func accountsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", &poise.Error{Kind: poise.Invalid, Op: "find the contexts", Err: err}
	}
	return filepath.Join(dir, "poise", "client.yaml"), nil
}

// readAccounts reads the contexts; where there is no file, there are none. A file
// that others may read is refused, because it has tokens.
func readAccounts() (accounts, error) {
	var a accounts
	path, err := accountsFile()
	if err != nil {
		return a, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return a, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return a, &poise.Error{Kind: poise.Denied, Op: path, Detail: fmt.Sprintf("mode: %#o, expected 0600, as it has tokens: chmod 600 it, and give new tokens if others could read it", info.Mode().Perm())}
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&a); err != nil && !errors.Is(err, io.EOF) {
		return a, &poise.Error{Kind: poise.Invalid, Op: path, Err: err}
	}
	return a, nil
}

// write keeps the contexts: all of them, or those of before. It is for
// changeAccounts.
func (a *accounts) write() error {
	path, err := accountsFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "client-*.yaml") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// named gives the context of a name.
func (a *accounts) named(name string) (account, error) {
	c, ok := a.Contexts[name]
	if !ok {
		return c, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("context %q", name), Detail: "no such context, expected one of poise context list, or a new one by poise login"}
	}
	c.name = name
	return c, nil
}

// changeAccounts changes what is kept, while no other poise of the user does.
func changeAccounts(change func(*accounts) error) error {
	path, err := accountsFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(filepath.Join(filepath.Dir(path), "client.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	a, err := readAccounts()
	if err != nil {
		return err
	}
	if err := change(&a); err != nil {
		return err
	}
	return a.write()
}

func newContext(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "context", Short: "Keep several daemons apart", Args: noArgs,
		Long: "Keep several daemons apart: a context is a daemon's address, a token, and a tenant to act for.\n" +
			"poise login makes one. They are in client.yaml in the user's configuration directory.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContextList(s), newContextUse(s), newContextRemove(s))
	return cmd
}

// contextRow is a context as it is shown: without its token.
type contextRow struct {
	Name    string `json:"name"`
	Current bool   `json:"current,omitempty"`
	Server  string `json:"server"`
	Tenant  string `json:"tenant,omitempty"`
}

func newContextList(s Streams) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List the contexts, without their tokens", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			a, err := readAccounts()
			if err != nil {
				return err
			}
			list := []contextRow{}
			for _, name := range slices.Sorted(maps.Keys(a.Contexts)) {
				c := a.Contexts[name]
				list = append(list, contextRow{Name: name, Current: name == a.Current, Server: c.Server, Tenant: c.Tenant})
			}
			return o.print(s.Out, list, func(w io.Writer) error {
				t := rows{{"NAME", "CURRENT", "SERVER", "TENANT"}}
				for _, r := range list {
					current := ""
					if r.Current {
						current = "yes"
					}
					t.add(r.Name, current, r.Server, r.Tenant)
				}
				return t.write(w, "contexts")
			})
		},
	}
	o.addFlag(cmd)
	return cmd
}

func newContextUse(s Streams) *cobra.Command {
	return &cobra.Command{
		Use: "use CONTEXT", Short: "Make a context the current one", Args: named("context", 1), ValidArgsFunction: contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			var c account
			err := changeAccounts(func(a *accounts) (err error) {
				c, err = a.named(args[0])
				a.Current = args[0]
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "context %s is current: %s\n", cell(args[0]), cell(c.Server))
			return err
		},
	}
}

func newContextRemove(s Streams) *cobra.Command {
	return &cobra.Command{
		Use: "remove CONTEXT", Short: "Forget a context and its token", Args: named("context", 1), ValidArgsFunction: contextNames,
		Long: "Forget a context and its token. The daemon still takes the token: poise tenant token revoke ends it.",
		RunE: func(_ *cobra.Command, args []string) error {
			err := changeAccounts(func(a *accounts) error {
				_, err := a.named(args[0])
				delete(a.Contexts, args[0])
				if a.Current == args[0] {
					a.Current = ""
				}
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "context %s is removed\n", cell(args[0]))
			return err
		},
	}
}

func contextNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a, err := readAccounts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(a.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
