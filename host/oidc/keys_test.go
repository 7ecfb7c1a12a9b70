package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/poise-sched/poise/host/oidc/oidctest"
	"github.com/poise-sched/poise/host/poise"
)

const jane = "person jane@example.org submitter acme"

// A new key is read when it is first seen, and one that is withdrawn counts an
// hour at most while the provider is there.
func TestKeyRotated(t *testing.T) {
	h := newHall(t)
	old := h.provider.Token(nil)
	h.is(old, jane)
	h.provider.Rotate()
	h.is(old, jane) // nobody has looked yet
	h.is(h.provider.Token(nil), jane)
	h.refuses(old, poise.Denied, `signed with key "key-1"`)

	h.provider.Rotate()
	h.later(readsEvery)
	h.provider.Life(3 * time.Hour)
	now := h.provider.Token(nil)
	h.is(now, jane)
	h.provider.Rotate()
	h.later(keysFresh + time.Minute)
	h.is(now, jane) // it asks beside the request
	h.settle()
	h.refuses(now, poise.Denied, `signed with key "key-3"`)
}

// settle waits for a read that is under way.
func (h *hall) settle() {
	h.keys.mu.Lock()
	reading := h.keys.reading
	h.keys.mu.Unlock()
	if reading != nil {
		<-reading
	}
}

// However many ids nobody knows are shown, the provider is asked a few times, and
// those whom it knows are told all the while.
func TestUnknownKeyFlood(t *testing.T) {
	h := newHall(t)
	good := h.provider.Token(nil)
	h.is(good, jane)
	forged := func(i int) string {
		key := h.provider.Key()
		key.KeyID = fmt.Sprintf("unknown-%d", i)
		text, err := oidctest.Sign(jose.SigningKey{Algorithm: jose.ES256, Key: key}, claims{"iss": h.provider.URL})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	flood := func(from int, good string) {
		t.Helper()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 50 {
					if _, err := h.ask(forged(from + 50*i + j)); poise.KindOf(err) != poise.Denied {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		h.is(good, jane)
	}
	flood(0, good)
	if n := h.provider.Reads(); n > readsBurst {
		t.Errorf("400 unknown keys had the provider asked %d times, expected at most %d", n, readsBurst)
	}
	if n := len(h.keys.known); n != 2 {
		t.Errorf("%d keys are remembered, expected the one and all", n)
	}
	// A key that is new comes in soon all the same.
	h.provider.Rotate()
	fresh := h.provider.Token(nil)
	h.refuses(fresh, poise.Denied, "signed with key")
	h.later(readsEvery)
	h.is(fresh, jane)
	before := h.provider.Reads()
	flood(1000, fresh)
	if n := h.provider.Reads(); n != before {
		t.Errorf("asked %d times more", n-before)
	}
}

// While the provider is down, people whose keys are known are told for a day,
// others hear why not, and it is asked no more often.
func TestProviderDown(t *testing.T) {
	h := newHall(t)
	h.provider.Down(true)
	h.provider.Life(20 * time.Hour)
	token := h.provider.Token(nil)
	for range 20 {
		h.refuses(token, poise.Unavailable, "ask "+h.provider.URL+" for its keys: people cannot be told now, tokens of the daemon are taken: 502 Bad Gateway")
	}
	h.provider.Down(false)
	h.later(readsEvery)
	h.is(token, jane)
	if text := h.log.String(); strings.Count(text, "gives no keys") != readsBurst || !strings.Contains(text, "gives keys again") {
		t.Errorf("log:\n%s", text)
	}
	h.provider.Down(true)
	for range 5 {
		h.later(3 * time.Hour)
		h.is(token, jane)
		h.settle()
	}
	h.provider.Rotate()
	h.refuses(h.provider.Token(nil), poise.Unavailable, "ask ")
	h.later(keysKeep - 15*time.Hour + time.Minute)
	h.refuses(h.provider.Token(claims{"iat": h.now().Unix(), "exp": h.now().Add(time.Hour).Unix()}), poise.Unavailable, "ask ")

	// Whoever does not wait is not told, and holds nothing up.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.later(readsEvery)
	_, err := h.keys.find(ctx, "none")
	want(t, err, poise.Unavailable, "ask ")
	h.settle()
}

// A provider that is wrong stands in the log before anybody needs it.
func TestLook(t *testing.T) {
	h := newHall(t)
	h.provider.Down(true)
	h.Look()
	h.settle()
	if text := h.log.String(); strings.Count(text, "gives no keys") != 1 || !strings.Contains(text, "api.oidc.issuer="+h.provider.URL) {
		t.Errorf("log:\n%s", text)
	}
	h.provider.Down(false)
	h.Look()
	h.settle()
	h.is(h.provider.Token(nil), jane)
	if n := h.provider.Reads(); n != 1 {
		t.Errorf("the keys were read %d times, expected once", n)
	}
}

// A provider that is not one, or whose answers point elsewhere or have no end.
func TestOddProviders(t *testing.T) {
	f := func(why string, more http.HandlerFunc, other map[string]any) {
		t.Helper()
		var s *httptest.Server
		s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/.well-known/openid-configuration" {
				more(w, r)
				return
			}
			metadata := map[string]any{"issuer": s.URL, "jwks_uri": s.URL + "/keys"}
			for name, v := range other {
				metadata[name] = v
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(metadata)
		}))
		defer s.Close()
		k := newKeys(s.URL, discard, time.Now)
		_, err := k.ask(t.Context())
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, expected %q", err, why)
		}
	}
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	f("did not match", says(""), map[string]any{"issuer": "https://other.example.org"})
	f("expected an https one", says(""), map[string]any{"jwks_uri": "http://keys.example.org/"})
	f("expected an https one", says(""), map[string]any{"jwks_uri": "file:///etc/passwd"})
	f("expected an https one", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://keys.example.org/", http.StatusFound)
	}, nil)
	f("answered 404", http.NotFound, nil)
	f("read ", says("nonsense"), nil)
	f("keys: 0 for signatures", says(`{"keys":[]}`), nil)
	f("keys: 0 for signatures", says(`{"keys":[{"kty":"oct","k":"AAAA","kid":"a"},{"kty":"??"},{"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"}]}`), nil)
	f("unexpected EOF", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"keys":["`)
		for range 3 * maxAnswer / 1024 {
			if _, err := w.Write([]byte(strings.Repeat("a", 1024))); err != nil {
				return
			}
		}
	}, nil)
	many := `{"keys":[`
	key := (&hallKey{t}).text()
	for i := range maxKeys + 1 {
		if i > 0 {
			many += ","
		}
		many += key
	}
	f("keys: 65 for signatures", says(many+"]}"), nil)
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": "file:///etc/passwd"}`, s.URL)
	}))
	defer s.Close()
	_, err := Login{s.URL, "poise"}.Browser(t.Context(), func(string) { t.Error("shown") })
	want(t, err, poise.Denied, "its page is")
	if _, err := newKeys("https://127.0.0.1:1", discard, time.Now).ask(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
