package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/poise-sched/poise/host/oidc/oidctest"
	"github.com/poise-sched/poise/host/poise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

// hallKey is a public key as text.
type hallKey struct{ t testing.TB }

func (k *hallKey) text() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	text, err := (&jose.JSONWebKey{Key: key.Public(), KeyID: "a"}).MarshalJSON()
	if err != nil {
		k.t.Fatal(err)
	}
	return string(text)
}

// visit is a browser that follows an address to its end.
func visit(t testing.TB, address string) string {
	r, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(text)
}

func TestBrowserLogin(t *testing.T) {
	h := newHall(t)
	l := Login{h.provider.URL, oidctest.ClientID}
	page := make(chan string, 1)
	got, err := l.Browser(t.Context(), func(address string) { go func() { page <- visit(t, address) }() })
	if err != nil {
		t.Fatal(err)
	}
	if text := <-page; text != "Logged in. This page can be closed.\n" {
		t.Error(text)
	}
	h.is(got.ID, jane)
	if until := time.Until(Ends(got.ID)); until < 50*time.Minute || until > time.Hour {
		t.Errorf("it ends in %v, expected an hour", until)
	}

	renewed, err := l.Renew(t.Context(), got.Refresh)
	if err != nil || renewed.ID == got.ID || renewed.Refresh == got.Refresh {
		t.Fatalf("%+v, %v, expected new tokens", renewed, err)
	}
	h.is(renewed.ID, jane)
	_, err = l.Renew(t.Context(), got.Refresh)
	want(t, err, poise.Denied, `get a token of `+h.provider.URL+`: it refused: "invalid_grant"`)
	h.provider.Down(true)
	_, err = l.Renew(t.Context(), renewed.Refresh)
	want(t, err, poise.Unavailable, "ask "+h.provider.URL)
}

// What comes back to this machine and is not the login that was begun changes
// nothing; what the provider refuses is told.
func TestBrowserReturns(t *testing.T) {
	p := oidctest.New(t)
	l := Login{p.URL, oidctest.ClientID}
	page := make(chan string, 1)
	p.Refuse()
	_, err := l.Browser(t.Context(), func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		back := u.Query().Get("redirect_uri")
		for _, odd := range []string{"", "?code=evil", "?code=evil&state=guess", "?error=access_denied"} {
			if text := visit(t, back+odd); !strings.Contains(text, "not the end of a login") {
				t.Errorf("%q: %s", odd, text)
			}
		}
		go func() { page <- visit(t, address) }()
	})
	want(t, err, poise.Denied, `it refused: "access_denied", "the person said no\x1b[2J"`)
	if text := <-page; text != "Not logged in. The terminal says why.\n" {
		t.Error(text)
	}

	// A code that somebody else brings in is for another challenge.
	var stolen string
	if _, err := l.Browser(t.Context(), func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		back, err := url.Parse(u.Query().Get("redirect_uri"))
		if err != nil {
			t.Error(err)
			return
		}
		stolen = codeOf(t, address, func(q url.Values) { q.Set("code_challenge", "of-the-thief") })
		back.RawQuery = url.Values{"code": {stolen}, "state": u.Query()["state"]}.Encode()
		go visit(t, back.String())
	}); err == nil {
		t.Error("a code for another challenge is taken")
	} else {
		want(t, err, poise.Denied, "invalid_grant")
	}
	// One for another nonce gives a token of another login.
	_, err = l.Browser(t.Context(), func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		q := u.Query()
		q.Set("nonce", "another")
		u.RawQuery = q.Encode()
		go visit(t, u.String())
	})
	want(t, err, poise.Denied, "it is of another login")

	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = l.Browser(ctx, func(string) { cancel(errors.New("enough")) })
	want(t, err, poise.Unavailable, "wait for a login at "+p.URL+": enough")
	p.Down(true)
	_, err = l.Browser(t.Context(), func(string) { t.Error("asked") })
	want(t, err, poise.Unavailable, "ask "+p.URL)
	_, err = Login{"http://login.example.org", "poise"}.Browser(t.Context(), func(string) { t.Error("asked") })
	want(t, err, poise.Unavailable, "expected an https one")
}

// codeOf has the provider give a code for a changed request.
func codeOf(t testing.TB, address string, change func(url.Values)) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	r, err := c.Get(u.String())
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	back, err := r.Location()
	if err != nil {
		t.Error(err)
		return ""
	}
	return back.Query().Get("code")
}

func TestDeviceLogin(t *testing.T) {
	h := newHall(t)
	l := Login{h.provider.URL, oidctest.ClientID}
	var shown string
	got, err := l.Device(t.Context(), func(address, code string) { shown = address + " " + code })
	if err != nil {
		t.Fatal(err)
	}
	if shown != h.provider.URL+"/activate WDJB-MJHT" {
		t.Error(shown)
	}
	h.is(got.ID, jane)
	if _, err := l.Renew(t.Context(), got.Refresh); err != nil {
		t.Error(err)
	}
}

func TestEnds(t *testing.T) {
	for _, text := range []string{"", "a.b", "a.b.c", "a.e30.c", "a.eyJleHAiOi0xfQ.c", "a.eyJleHAiOjFlOTl9.c"} {
		if at := Ends(text); !at.IsZero() {
			t.Errorf("%q: %v", text, at)
		}
	}
}

func FuzzPrincipal(f *testing.F) {
	h := newHall(f)
	f.Add(h.provider.Token(nil) + "x")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := h.Principal(&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
		if p != nil {
			t.Errorf("%q: %+v, %v", token, p, err)
		}
	})
}
