package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/cert"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/oidc"
	"github.com/poise-sched/poise/host/poise"
)

// openCertificate gives what the address is served with; nil is no TLS.
func openCertificate(c *config.Config, log *slog.Logger) (*cert.Keeper, error) {
	t := &c.API.TLS
	if !t.On() {
		return nil, nil
	}
	o := cert.Options{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, Log: log, Now: time.Now}
	if t.SelfSigned {
		machine, err := os.Hostname()
		if err != nil {
			log.Warn("the self-made certificate has no name of this machine", "error", err)
		}
		o.Dir, o.Names = certificates(c), cert.Names(c.API.Listen, machine, t.Names)
	}
	return cert.Open(o)
}

// certificates is where the self-made ones are.
func certificates(c *config.Config) string { return filepath.Join(c.DataDir, "tls") }

// exposed says whether what is said at an address passes other machines as it is.
func exposed(c *config.Config, at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return !c.API.TLS.On() && !(ok && tcp.IP.IsLoopback())
}

// refuseExposed does, unless it was asked for.
func refuseExposed(c *config.Config, at net.Addr) error {
	if !exposed(c, at) || c.API.Plaintext {
		return nil
	}
	return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("api.listen: %q without TLS, expected a loopback address, "+
		"or api.tls.self_signed, or api.tls.cert and api.tls.key; api.listen_without_tls_off_loopback lets all on the way read and change what is said", c.API.Listen)}
}

// vouchers are who tells callers apart beside tokens: certificates, and a
// provider for people.
func (d *Daemon) vouchers(c *config.Config) (others []api.Authenticator, login *client.OIDC) {
	if o := &c.API.OIDC; o.Issuer != "" {
		people := oidc.New(oidc.Options{
			Issuer: o.Issuer, ClientID: o.ClientID, UserClaim: o.UserClaim, GroupsClaim: o.GroupsClaim, TenantHeader: client.TenantHeader,
			Grants: func() map[string]string { return d.options.Config.Current().Config.API.OIDC.Groups }, Log: d.log, Now: time.Now,
		})
		people.Look()
		others, login = append(others, people.Principal), &client.OIDC{Issuer: o.Issuer, ClientID: o.ClientID}
	}
	if c.API.TLS.ClientCA != "" {
		others = append(others, cert.Callers(func() map[string]string { return d.options.Config.Current().Config.API.TLS.Clients }, time.Now))
	}
	return others, login
}

// only11 has a server speak HTTP/1.1 alone: that is what its bounds on slow
// callers are for.
func only11() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// serverLog takes what net/http has to say. Who knocks and goes away, as scanners
// do, is no concern of an operator.
type serverLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (l serverLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.Contains(text, "TLS handshake error") {
		l.log.Debug(text)
	} else {
		l.log.Error(text)
	}
	return len(line), nil
}
