package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/poise-sched/poise/host/poise"
)

// Login gets ID tokens for a person, as a client without a secret.
type Login struct {
	Issuer, ClientID string
}

// Tokens are what a login gives.
type Tokens struct {
	ID      string
	Refresh string // gives the next ones, "" = the person logs in again
}

// scopes are asked for where the provider says that it has them, and openid in
// any case.
var scopes = []string{oidc.ScopeOpenID, "profile", "email", "groups", oidc.ScopeOfflineAccess}

// session is a provider as a login needs it.
type session struct {
	Login
	client   *http.Client
	provider *oidc.Provider
	config   oauth2.Config
}

func (l Login) open(ctx context.Context) (*session, error) {
	s := &session{Login: l, client: newClient()}
	provider, err := oidc.NewProvider(s.with(ctx), l.Issuer)
	if err != nil {
		return nil, l.failed("ask", err)
	}
	var metadata struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, l.failed("read the description of", err)
	}
	s.provider = provider
	s.config = oauth2.Config{ClientID: l.ClientID, Endpoint: provider.Endpoint()}
	s.config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	for _, scope := range scopes {
		if scope == oidc.ScopeOpenID || slices.Contains(metadata.Scopes, scope) {
			s.config.Scopes = append(s.config.Scopes, scope)
		}
	}
	return s, nil
}

// with lets go-oidc and oauth2 use our client.
func (s *session) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, s.client)
}

// failed says what went wrong with the provider: whether it said no, or nothing.
func (l Login) failed(doing string, err error) error {
	e := &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("%s %s", doing, l.Issuer), Err: err}
	var said *oauth2.RetrieveError
	if errors.As(err, &said) {
		e.Err = nil
		e.Detail = fmt.Sprintf("it answered %d", said.Response.StatusCode)
		if said.ErrorCode != "" {
			e.Kind, e.Detail = poise.Denied, refusalText(said.ErrorCode, said.ErrorDescription)
		}
	}
	return e
}

// refusalText repeats what a provider gives as its reason.
func refusalText(code, description string) string {
	text := fmt.Sprintf("it refused: %.80q", code)
	if description != "" {
		text += fmt.Sprintf(", %.200q", description)
	}
	return text
}

// Browser has the person log in on a page of the provider, which sends the
// browser back to this machine. show is given the page's address. It waits until
// ctx ends.
func (l Login) Browser(ctx context.Context, show func(address string)) (Tokens, error) {
	s, err := l.open(ctx)
	if err != nil {
		return Tokens{}, err
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Tokens{}, err
	}
	s.config.RedirectURL = fmt.Sprintf("http://%s/callback", at.Addr())
	state, nonce, verifier := random(), random(), oauth2.GenerateVerifier()
	back := &returning{state: state, answer: make(chan answer, 1)}
	server := &http.Server{Handler: back, ReadTimeout: answerTime, WriteTimeout: answerTime}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(at) }() // it ends with Shutdown or Close
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(within) != nil {
			_ = server.Close() // a browser keeps a connection open: it has its page
		}
		<-done
	}()
	page := s.config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	if u, err := url.Parse(page); err != nil || !secure(u) { // a browser would open anything
		return Tokens{}, &poise.Error{Kind: poise.Denied, Op: "log in at " + l.Issuer, Detail: fmt.Sprintf("its page is %.200q, expected an https URL", page)}
	}
	show(page)
	var got answer
	select {
	case got = <-back.answer:
	case <-ctx.Done():
		return Tokens{}, l.failed("wait for a login at", context.Cause(ctx))
	}
	if got.code == "" {
		return Tokens{}, &poise.Error{Kind: poise.Denied, Op: "log in at " + l.Issuer, Detail: got.refusal}
	}
	token, err := s.config.Exchange(s.with(ctx), got.code, oauth2.VerifierOption(verifier))
	return s.take(ctx, token, err, nonce)
}

// random is text that nobody guesses.
func random() string { return rand.Text() }

// Device has the person log in on any machine with a browser: show is given the
// address of a page, and the code that the person is asked for there.
func (l Login) Device(ctx context.Context, show func(address, code string)) (Tokens, error) {
	s, err := l.open(ctx)
	if err != nil {
		return Tokens{}, err
	}
	if s.config.Endpoint.DeviceAuthURL == "" {
		return Tokens{}, &poise.Error{Kind: poise.Invalid, Op: "log in at " + l.Issuer, Detail: "it has no device logins, expected one in a browser on this machine"}
	}
	asked, err := s.config.DeviceAuth(s.with(ctx))
	if err != nil {
		return Tokens{}, l.failed("ask for a device login at", err)
	}
	address := asked.VerificationURI
	if asked.VerificationURIComplete != "" {
		address = asked.VerificationURIComplete
	}
	show(address, asked.UserCode)
	token, err := s.config.DeviceAccessToken(s.with(ctx), asked)
	return s.take(ctx, token, err, "")
}

// Renew gets new tokens for a refresh token. Where the provider gives no new one,
// the old one stays.
func (l Login) Renew(ctx context.Context, refresh string) (Tokens, error) {
	s, err := l.open(ctx)
	if err != nil {
		return Tokens{}, err
	}
	token, err := s.config.TokenSource(s.with(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	t, err := s.take(ctx, token, err, "")
	if err == nil && t.Refresh == "" {
		t.Refresh = refresh
	}
	return t, err
}

// take checks what the provider gave.
func (s *session) take(ctx context.Context, token *oauth2.Token, err error, nonce string) (Tokens, error) {
	if err != nil {
		return Tokens{}, s.failed("get a token of", err)
	}
	text, ok := token.Extra("id_token").(string)
	if !ok {
		return Tokens{}, &poise.Error{Kind: poise.Denied, Op: "get a token of " + s.Issuer, Detail: "it gave no ID token, expected one"}
	}
	verified, err := s.provider.VerifierContext(s.with(ctx), &oidc.Config{ClientID: s.ClientID}).Verify(ctx, text)
	if err != nil {
		return Tokens{}, &poise.Error{Kind: poise.Denied, Op: "check the ID token of " + s.Issuer, Err: err}
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1 {
		return Tokens{}, &poise.Error{Kind: poise.Denied, Op: "check the ID token of " + s.Issuer, Detail: "it is of another login, expected this one's"}
	}
	return Tokens{ID: text, Refresh: token.RefreshToken}, nil
}

// Ends says when an ID token ends, unchecked: for its owner, to know when to get
// another. The zero time is for a text that is none.
func Ends(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Ends float64 `json:"exp"`
	}
	if json.Unmarshal(text, &claims) != nil || claims.Ends <= 0 || claims.Ends > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Ends), 0)
}
