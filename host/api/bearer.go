package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/poise"
)

// maxKnown bounds the tokens that are looked up without the store.
const maxKnown = 4096

// tokens takes the tokens that requests show.
type tokens struct {
	tenancy  Tenancy
	now      func() time.Time
	attempts attempts
	doubted  chan struct{} // one token: the turn of an address that has failed often

	mu      sync.Mutex
	known   map[string]access.Token
	changes uint64 // how often tokens were forgotten
}

func newTokens(t Tenancy, now func() time.Time) *tokens {
	return &tokens{tenancy: t, now: now, attempts: newAttempts(), doubted: make(chan struct{}, 1), known: map[string]access.Token{}}
}

// principal implements Authenticator. A text that is not meant to be such a
// token is for others to take.
func (k *tokens) principal(r *http.Request) (*access.Principal, error) {
	shown := r.Header.Values("Authorization")
	if len(shown) != 1 {
		if len(shown) > 1 {
			return nil, unauthorized("Authorization: more than one, expected it once")
		}
		return nil, nil
	}
	scheme, text, _ := strings.Cut(shown[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || !access.Ours(text) {
		return nil, nil
	}
	from := origin(r)
	unknown := func() error {
		if !k.attempts.failed(from) {
			return newProblem(http.StatusTooManyRequests, poise.Limit, "token: unknown, and too many such came from this address, expected fewer")
		}
		return unauthorized("token: unknown, expected one that this daemon gave out")
	}
	id, secret, ok := access.ParseToken(text)
	if !ok {
		return nil, unknown()
	}
	t, ok := k.get(id)
	if !ok {
		var err error
		if t, err = k.load(r.Context(), id, from); poise.KindOf(err) == poise.NotFound {
			return nil, unknown()
		} else if err != nil {
			return nil, err
		}
	}
	if !t.Shows(secret) {
		return nil, unknown()
	}
	if err := t.Valid(poise.Time(k.now().UnixMilli())); err != nil {
		return nil, unauthorized(err.Error())
	}
	if t.Tenant != "" && !known(k.tenancy, t.Tenant) {
		return nil, unauthorized("token: its tenant was removed, expected another")
	}
	p := t.Principal()
	return &p, nil
}

func (k *tokens) get(id string) (access.Token, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.known[id]
	return t, ok
}

// load reads a token from the store and remembers it, unless some were forgotten
// meanwhile: it may be one of them. Addresses that have failed often take turns,
// so that they cannot keep the store busy, and those of them that show a valid
// token get through all the same.
func (k *tokens) load(ctx context.Context, id, from string) (access.Token, error) {
	if k.attempts.tooMany(from) {
		select {
		case k.doubted <- struct{}{}:
			defer func() { <-k.doubted }()
		case <-ctx.Done():
			return access.Token{}, &poise.Error{Kind: poise.Unavailable, Op: "look up token", Err: ctx.Err()}
		}
	}
	k.mu.Lock()
	before := k.changes
	k.mu.Unlock()
	t, err := k.tenancy.Token(ctx, id)
	if err != nil {
		return t, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changes == before {
		if len(k.known) >= maxKnown {
			for other := range k.known {
				delete(k.known, other) // any one: it is read again at its next use
				break
			}
		}
		k.known[id] = t
	}
	return t, nil
}

// forget has all tokens read anew, after some have changed.
func (a *Access) forget() {
	if a == nil {
		return
	}
	k := a.tokens
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	clear(k.known)
}
