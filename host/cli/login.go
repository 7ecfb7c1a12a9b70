package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/poise-sched/poise/host/api/client"
)

// maxTokenText bounds what is read of a token in bytes.
const maxTokenText = 64 << 10

// login is what a login is to do.
type login struct {
	to     account
	name   string // of the context
	stdin  bool   // the token comes from there
	oidc   bool   // it comes from a provider
	device bool   // on whose page the person logs in with another machine
}

func newLogin(s Streams) *cobra.Command {
	var l login
	cmd := &cobra.Command{
		Use: "login --server URL [flags]", Short: "Keep a daemon's address and a token as a context", Args: noArgs,
		Long: "Keep a daemon's address and a token as a context, and make it the current one, once the daemon\n" +
			"has taken the token. The token is asked for, or comes from standard input: on a command line\n" +
			"others could see it. With --oidc it comes from the provider where people log in, on a page that\n" +
			"a browser shows, and is renewed while the provider agrees. A client certificate does without one.\n" +
			"\n" +
			"A daemon whose certificate no authority of this machine signed is believed by --ca-file or by the\n" +
			"fingerprint that poise serve prints; without either, a terminal is asked. $POISE_CA_FILE has the\n" +
			"authorities where no context does.",
		Example: "  poise login --server https://poise.example.com --context work\n" +
			"  poise login --server https://poise.example.com --oidc\n" +
			"  poise login --server 127.0.0.1:7077 --token-stdin < token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.check(); err != nil {
				return err
			}
			return l.run(cmd.Context(), s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.to.Server, "server", "", "the daemon's host:port, URL or socket")
	f.StringVar(&l.name, "context", "", "name of the context (default the daemon's host)")
	f.StringVar(&l.to.Tenant, "tenant", "", "the tenant to act for, of an operator or admin, or of a person with several (default all)")
	f.BoolVar(&l.stdin, "token-stdin", false, "read the token from standard input")
	f.BoolVar(&l.oidc, "oidc", false, "log in at the daemon's OpenID Connect provider, with a browser on this machine")
	f.BoolVar(&l.device, "device", false, "the same with a browser on any machine, and a code")
	f.StringVar(&l.to.CAFile, "ca-file", "", "PEM file of the authorities that the daemon's certificate may be of")
	f.StringVar(&l.to.Fingerprint, "fingerprint", "", "the fingerprint of the daemon's key, sha256:..., as poise serve prints it")
	f.StringVar(&l.to.CertFile, "client-cert", "", "PEM file of a certificate to show to the daemon")
	f.StringVar(&l.to.KeyFile, "client-key", "", "PEM file of its key")
	return cmd
}

// check refuses flags that say nothing together, and fills in what they leave
// open.
func (l *login) check() error {
	switch {
	case l.to.Server == "":
		return usagef("--server: none, expected the daemon's host:port or URL")
	case l.to.CAFile != "" && l.to.Fingerprint != "":
		return usagef("--ca-file and --fingerprint: both, expected at most one")
	case (l.to.CertFile == "") != (l.to.KeyFile == ""):
		return usagef("--client-cert and --client-key: one, expected both or none")
	case l.stdin && (l.oidc || l.device):
		return usagef("--token-stdin and --oidc or --device: both, expected one: the provider gives the token")
	}
	if l.name == "" {
		l.name = contextName(l.to.Server)
	}
	for _, path := range []*string{&l.to.CAFile, &l.to.CertFile, &l.to.KeyFile} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path) // commands run elsewhere
		if err != nil {
			return err
		}
		*path = full
	}
	return nil
}

func (l *login) run(ctx context.Context, s Streams) error {
	c, err := l.believe(ctx, s)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := l.identify(ctx, s, c); err != nil {
		return err
	}
	self, err := c.As(l.to.Token, l.to.Tenant).Self(ctx)
	if err != nil {
		return err
	}
	err = changeAccounts(func(a *accounts) error {
		if a.Contexts == nil {
			a.Contexts = map[string]account{}
		}
		a.Current, a.Contexts[l.name] = l.name, l.to
		return nil
	})
	if err != nil {
		return err
	}
	whose := "of all tenants"
	if self.Tenant != "" {
		whose = "of tenant " + cell(self.Tenant)
	}
	_, err = fmt.Fprintf(s.Out, "logged in to %s as %s, %s %s; context %s is current\n", cell(l.to.Server), cell(self.Who), cell(self.Role), whose, cell(l.name))
	return err
}

// identify gets what the daemon is to know the caller by.
func (l *login) identify(ctx context.Context, s Streams, c *client.Client) error {
	switch {
	case l.oidc || l.device:
		return l.vouch(ctx, s, c)
	case l.to.CertFile != "" && !l.stdin:
		return nil
	}
	if !c.Secure() {
		fmt.Fprintf(s.Err, "warning: %s is spoken to without TLS: all on the way can read the token\n", cell(l.to.Server))
	}
	token, err := askToken(s, os.Stdin, l.stdin)
	l.to.Token = token
	return err
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
