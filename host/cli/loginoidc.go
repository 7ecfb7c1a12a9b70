package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/oidc"
	"github.com/poise-sched/poise/host/poise"
)

// loginTime is how long a person has for a login.
const loginTime = 5 * time.Minute

var errLate = errors.New("nobody did within 5 minutes")

// vouch has the person log in at the provider that the daemon names.
func (l *login) vouch(ctx context.Context, s Streams, c *client.Client) error {
	if !c.Secure() {
		return &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf("server: %q without TLS, expected an https URL: all on the way could read the token", l.to.Server)}
	}
	at, err := c.OIDC(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, errLate)
	defer cancel()
	by := oidc.Login{Issuer: at.Issuer, ClientID: at.ClientID}
	var got oidc.Tokens
	if l.device {
		got, err = by.Device(ctx, func(address, code string) {
			fmt.Fprintf(s.Err, "To log in to %s, open this page in any browser and give it the code %s:\n  %s\n", cell(l.to.Server), cell(code), cell(address))
		})
	} else {
		got, err = by.Browser(ctx, func(address string) {
			fmt.Fprintf(s.Err, "To log in to %s, open this page in a browser on this machine:\n  %s\n", cell(l.to.Server), cell(address))
			if s.terminal() {
				show(address)
			}
		})
	}
	if err != nil {
		return err
	}
	if got.Refresh == "" {
		fmt.Fprintf(s.Err, "The provider gives nothing to renew the login with: it ends at %s.\n", oidc.Ends(got.ID).Format(time.RFC3339))
	}
	l.to.Token, l.to.OIDC = got.ID, &vouched{Issuer: at.Issuer, ClientID: at.ClientID, Refresh: got.Refresh}
	return nil
}

// show opens a page in the person's browser, if there is a way to. The address
// stands on the terminal too.
func show(address string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", address)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	default:
		cmd = exec.Command("xdg-open", address)
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // or the process stays as a zombie
	}
}
