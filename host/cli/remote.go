package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

// remote says where the daemon is that a command speaks to, and as whom.
type remote struct {
	server  string
	dataDir string
	context string
	tenant  string
}

// addFlags lets cmd and the commands below it say where the daemon is.
func (r *remote) addFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&r.server, "server", "", "the daemon's host:port, URL or socket (default $POISE_SERVER)")
	f.StringVar(&r.context, "context", "", "the context that has the daemon (default $POISE_CONTEXT, else the current one)")
	f.StringVar(&r.dataDir, "data-dir", "", "the data directory that has the daemon's socket (default $POISE_DATA_DIR, else that of poise serve)")
	f.StringVar(&r.tenant, "tenant", "", "the tenant to act for, of an operator or admin (default the context's; none is all)")
	// They fail for flags that are not there, and these are.
	_ = cmd.RegisterFlagCompletionFunc("context", contextNames)
}

// dial gives a client of the daemon. What is said on the command line counts
// before the environment, that before the current context, and where nothing is
// said it is the socket of this machine's daemon. A context's token goes to its
// own server alone; $POISE_TOKEN goes to any, and before it.
func (r *remote) dial() (*client.Client, error) {
	to, err := r.account()
	if err != nil {
		return nil, err
	}
	if token := os.Getenv("POISE_TOKEN"); token != "" {
		to.Token, to.OIDC = token, nil
	}
	if file := os.Getenv("POISE_CA_FILE"); file != "" && to.CAFile == "" && to.Fingerprint == "" && strings.HasPrefix(to.Server, "https://") {
		to.CAFile = file
	}
	if r.tenant != "" {
		to.Tenant = r.tenant
	}
	c, err := client.NewTrusting(to.Server, to.trust())
	if err != nil {
		return nil, &usageError{err}
	}
	c = c.As(to.Token, to.Tenant)
	if to.OIDC != nil {
		c = c.Renewing((&renewal{account: to}).token)
	}
	return c, nil
}

func (r *remote) account() (account, error) {
	said := 0
	for _, flag := range []string{r.server, r.context, r.dataDir} {
		if flag != "" {
			said++
		}
	}
	if said > 1 {
		return account{}, usagef("--server, --context and --data-dir: %d of them, expected at most one", said)
	}
	server, name := r.server, r.context
	if said == 0 {
		if server = os.Getenv("POISE_SERVER"); server == "" {
			name = os.Getenv("POISE_CONTEXT")
		}
	}
	if server != "" {
		return account{Server: server}, nil
	}
	socket := said > 0 || os.Getenv("POISE_DATA_DIR") != "" || os.Getenv("POISE_API_SOCKET") != ""
	if name == "" && socket {
		return r.local()
	}
	a, err := readAccounts()
	if err != nil {
		return account{}, err
	}
	if name == "" {
		name = a.Current
	}
	if name == "" {
		return r.local()
	}
	return a.named(name)
}

// local is the socket of this machine's daemon.
func (r *remote) local() (account, error) {
	socket, err := socketIn(r.dataDir, os.Environ())
	return account{Server: "unix:" + socket}, err
}
