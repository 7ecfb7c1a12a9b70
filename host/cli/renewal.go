package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/oidc"
	"github.com/poise-sched/poise/host/poise"
)

// renewBefore is how long before its end a token is renewed.
const renewBefore = time.Minute

// renewal has the token of a context that a provider gave, and gets the next one
// when it ends.
type renewal struct {
	mu      sync.Mutex
	account account
}

// token gives one that lasts for a while. A refresh token works once, so what
// another poise of the user has got counts, and what this one gets is kept for it.
func (r *renewal) token(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lasts(r.account.Token) {
		return r.account.Token, nil
	}
	err := changeAccounts(func(a *accounts) error {
		now, err := a.named(r.account.name)
		if err != nil {
			return err
		}
		if now.OIDC == nil || now.Server != r.account.Server {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("context %q", r.account.name), Detail: "it was changed meanwhile, run the command again"}
		}
		if !lasts(now.Token) {
			if err := now.renew(ctx); err != nil {
				return err
			}
			a.Contexts[now.name] = now
		}
		r.account = now
		return nil
	})
	if err != nil && time.Until(oidc.Ends(r.account.Token)) > 0 {
		return r.account.Token, nil // it is good for this request yet
	}
	return r.account.Token, err
}

func lasts(token string) bool { return time.Until(oidc.Ends(token)) > renewBefore }

// renew gets new tokens of the provider.
func (a *account) renew(ctx context.Context) error {
	again := fmt.Sprintf("log in again: poise login --oidc --server %s --context %s", a.Server, a.name)
	if a.OIDC.Refresh == "" {
		return &poise.Error{Kind: poise.Denied, Op: fmt.Sprintf("token of context %q", a.name), Detail: "it has ended, and the provider gave nothing to renew it with; " + again}
	}
	got, err := oidc.Login{Issuer: a.OIDC.Issuer, ClientID: a.OIDC.ClientID}.Renew(ctx, a.OIDC.Refresh)
	if poise.KindOf(err) == poise.Denied && err != nil {
		return &poise.Error{Kind: poise.Denied, Op: fmt.Sprintf("renew the token of context %q", a.name), Detail: again, Err: err}
	}
	if err != nil {
		return err
	}
	next := *a.OIDC
	next.Refresh = got.Refresh
	a.Token, a.OIDC = got.ID, &next
	return nil
}
