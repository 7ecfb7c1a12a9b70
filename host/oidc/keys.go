package oidc

import (
	"context"
	"crypto"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"

	"github.com/poise-sched/poise/host/poise"
)

const (
	// Keys are read again after an hour, and count for a day where that fails: so
	// long does a key work that the provider has withdrawn while it could not be
	// reached.
	keysFresh = time.Hour
	keysKeep  = 24 * time.Hour
	// Of the reads that requests ask for, so many may come at once, and then one
	// each so often. A read answers all that wait for it.
	readsBurst = 3
	readsEvery = 10 * time.Second
	// maxKeys is more than a provider has.
	maxKeys = 64
)

// keys are those that a provider signs with. Nobody waits for them but who needs
// one that is not there.
type keys struct {
	issuer string
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	reads  *rate.Limiter

	mu      sync.Mutex
	known   map[string][]crypto.PublicKey // by id; under "" is all of them
	read    time.Time                     // when they were
	err     error                         // of the latest read
	reading chan struct{}                 // closed when the read under way ends; nil = there is none
}

func newKeys(issuer string, log *slog.Logger, now func() time.Time) *keys {
	return &keys{issuer: issuer, client: newClient(), log: log, now: now, reads: rate.NewLimiter(rate.Every(readsEvery), readsBurst)}
}

// find gives the keys of an id, "" being any. It waits for the provider only
// where it does not know the id.
func (k *keys) find(ctx context.Context, id string) ([]crypto.PublicKey, error) {
	k.mu.Lock()
	found, age := k.known[id], k.now().Sub(k.read)
	if len(found) > 0 && age < keysFresh {
		k.mu.Unlock()
		return found, nil
	}
	reading := k.begin()
	k.mu.Unlock()
	if len(found) > 0 && age < keysKeep {
		return found, nil
	}
	if reading != nil {
		select {
		case <-reading:
		case <-ctx.Done():
			return nil, k.unreachable(ctx.Err())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.known[id]; len(found) > 0 && k.now().Sub(k.read) < keysKeep {
		return found, nil
	}
	if k.err != nil {
		return nil, k.unreachable(k.err)
	}
	return nil, refused("signed with key %.80q, expected one that %s lists", id, k.issuer)
}

func (k *keys) unreachable(err error) error {
	return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("ask %s for its keys", k.issuer), Detail: "people cannot be told now, tokens of the daemon are taken", Err: err}
}

// begin starts a read, unless one is under way or there were too many, and gives
// what is closed at its end; nil = there is none to wait for. Callers hold mu.
func (k *keys) begin() chan struct{} {
	if k.reading != nil || !k.reads.AllowN(k.now(), 1) {
		return k.reading
	}
	done := make(chan struct{})
	k.reading = done
	go func() {
		// Not of a request: others wait for it too. The client bounds it.
		known, err := k.ask(context.Background())
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case err != nil:
			k.log.Warn("the provider of people's names gives no keys", "api.oidc.issuer", k.issuer, "error", err)
		case k.err != nil:
			k.log.Info("the provider of people's names gives keys again", "api.oidc.issuer", k.issuer)
		}
		if k.err = err; err == nil {
			k.known, k.read = known, k.now()
		}
		k.reading = nil
		close(done)
	}()
	return done
}

// ask reads the keys from where the provider says that they are.
func (k *keys) ask(ctx context.Context) (map[string][]crypto.PublicKey, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, k.client), k.issuer)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, metadata.Keys, nil)
	if err != nil {
		return nil, fmt.Errorf("jwks_uri: %w", err)
	}
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", metadata.Keys, answer.Status)
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("read %s: %w", metadata.Keys, err)
	}
	return signing(set.Keys)
}

// signing gives the public keys for signatures of a set. Others, and kinds that
// are not known here, are left out, as RFC 7517 says.
func signing(set []json.RawMessage) (map[string][]crypto.PublicKey, error) {
	known := map[string][]crypto.PublicKey{}
	for _, text := range set {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(text); err != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		known[""] = append(known[""], key.Key)
		if key.KeyID != "" {
			known[key.KeyID] = append(known[key.KeyID], key.Key)
		}
	}
	if n := len(known[""]); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("keys: %d for signatures, expected 1 to %d", n, maxKeys)
	}
	return known, nil
}
