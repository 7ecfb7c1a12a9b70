package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// believe gives a client of the daemon once its certificate is believed: by an
// authority, by the fingerprint that was given, or by a person who compares it.
func (l *login) believe(ctx context.Context, s Streams) (*client.Client, error) {
	c, err := client.NewTrusting(l.to.Server, l.to.trust())
	if err != nil {
		return nil, &usageError{err}
	}
	_, err = c.Health(ctx)
	if !client.Unknown(err) || l.to.CAFile != "" {
		if err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
	c.Close()
	shown, err := client.Shown(ctx, l.to.Server)
	if err != nil {
		return nil, err
	}
	if !s.terminal() || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, &poise.Error{Kind: poise.Denied, Op: l.to.Server, Detail: fmt.Sprintf(
			"its certificate is of no authority that is known here; if poise serve prints the fingerprint %s there, log in with --fingerprint %s, or with --ca-file", shown, shown)}
	}
	fmt.Fprintf(s.Err, "The certificate of %s is of no authority that is known here. Its key has the fingerprint\n  %s\n", cell(l.to.Server), shown)
	if ok, err := confirm(s.Err, os.Stdin, "Does poise serve print the same there?"); err != nil || !ok {
		return nil, &poise.Error{Kind: poise.Denied, Op: l.to.Server, Detail: "its certificate is not believed, nothing was said to it", Err: err}
	}
	l.to.Fingerprint = shown
	return client.NewTrusting(l.to.Server, l.to.trust())
}

// confirm asks a question of which the answer is no unless it is yes.
func confirm(w io.Writer, in io.Reader, question string) (bool, error) {
	fmt.Fprintf(w, "%s [y/N] ", question)
	line, err := bufio.NewReader(io.LimitReader(in, 80)).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
