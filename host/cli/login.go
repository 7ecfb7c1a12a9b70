package cli

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/poise-sched/poise/host/api/client"
)

// maxTokenText bounds what is read of a token in bytes.
const maxTokenText = 64 << 10

func newLogin(s Streams) *cobra.Command {
	var to account
	var name string
	var stdin bool
	cmd := &cobra.Command{
		Use: "login --server URL [flags]", Short: "Keep a daemon's address and a token as a context", Args: noArgs,
		Long: "Keep a daemon's address and a token as a context, and make it the current one, once the daemon\n" +
			"has taken the token. The token is asked for, or comes from standard input: on a command line\n" +
			"others could see it.",
		Example: "  poise login --server https://poise.example.com --context work\n" +
			"  poise login --server 127.0.0.1:7077 --token-stdin < token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to.Server == "" {
				return usagef("--server: none, expected the daemon's host:port or URL")
			}
			if name == "" {
				name = contextName(to.Server)
			}
			token, err := askToken(s, os.Stdin, stdin)
			if err != nil {
				return err
			}
			to.Token = token
			c, err := client.New(to.Server)
			if err != nil {
				return &usageError{err}
			}
			defer c.Close()
			self, err := c.As(to.Token, to.Tenant).Self(cmd.Context())
			if err != nil {
				return err
			}
			a, err := readAccounts()
			if err != nil {
				return err
			}
			if a.Contexts == nil {
				a.Contexts = map[string]account{}
			}
			a.Current, a.Contexts[name] = name, to
			if err := a.write(); err != nil {
				return err
			}
			whose := "of all tenants"
			if self.Tenant != "" {
				whose = "of tenant " + cell(self.Tenant)
			}
			_, err = fmt.Fprintf(s.Out, "logged in to %s as %s, %s %s; context %s is current\n", cell(to.Server), cell(self.Who), cell(self.Role), whose, cell(name))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&to.Server, "server", "", "the daemon's host:port, URL or socket")
	f.StringVar(&name, "context", "", "name of the context (default the daemon's host)")
	f.StringVar(&to.Tenant, "tenant", "", "the tenant to act for, of an operator or admin (default all)")
	f.BoolVar(&stdin, "token-stdin", false, "read the token from standard input")
	return cmd
}

// contextName is what a context is called where nobody names it.
func contextName(server string) string {
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	if u, err := url.Parse(server); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "daemon"
}

// askToken reads a token: without an echo where a person types it.
func askToken(s Streams, in *os.File, piped bool) (string, error) {
	var text []byte
	var err error
	switch {
	case piped:
		text, err = io.ReadAll(io.LimitReader(in, maxTokenText))
	case term.IsTerminal(int(in.Fd())):
		fmt.Fprint(s.Err, "token: ")
		text, err = term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(s.Err)
	default:
		return "", usagef("no terminal to ask for the token on, expected --token-stdin")
	}
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("token: empty or not one word, expected one such as poise_1f..._9a...")
	}
	return token, nil
}
