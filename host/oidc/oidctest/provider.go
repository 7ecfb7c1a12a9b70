package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID is the one client that the provider knows.
const ClientID = "poise"

// Provider is a running provider with one person.
type Provider struct {
	URL   string
	t     testing.TB
	down  atomic.Bool
	reads atomic.Int64

	mu      sync.Mutex
	user    string
	groups  []string
	life    time.Duration
	refuses bool
	pending int // polls of a device login until the person is done
	keys    []jose.JSONWebKey
	rounds  int
	codes   map[string]url.Values
	refresh string // the one that is valid
	issued  int
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, user: "jane", life: time.Hour, codes: map[string]url.Values{}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.listKeys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /device", p.device)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Down makes the provider answer nothing, or again what it is asked.
func (p *Provider) Down(down bool) { p.down.Store(down) }

// Reads says how often the keys were read.
func (p *Provider) Reads() int { return int(p.reads.Load()) }

// Person sets whom the provider vouches for from now on.
func (p *Provider) Person(user string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.user, p.groups = user, groups
}

// Life sets how long tokens are valid from now on.
func (p *Provider) Life(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = d
}

// Refuse makes the person say no at the next login.
func (p *Provider) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
}

// Rotate signs with a new key from now on; the one before is withdrawn.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds++
	p.keys = []jose.JSONWebKey{{Key: key, KeyID: fmt.Sprintf("key-%d", p.rounds), Algorithm: string(jose.ES256), Use: "sig"}}
}

// Key is the one that the provider signs with.
func (p *Provider) Key() jose.JSONWebKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[0]
}

// Token gives an ID token for the person, with other claims laid over those that
// it has; a nil one is left out.
func (p *Provider) Token(other map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "sub": p.user, "groups": p.groups, "iat": now.Unix(), "exp": now.Add(p.life).Unix(),
	}
	maps.Copy(claims, other)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	p.issued++
	claims["jti"] = p.issued
	text, err := Sign(jose.SigningKey{Algorithm: jose.ES256, Key: p.keys[0]}, claims)
	if err != nil {
		p.t.Error(err)
	}
	return text
}

// Sign gives a token of claims, with any key.
func Sign(key jose.SigningKey, claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller is gone, or it arrives
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"device_authorization_endpoint": p.URL + "/device", "scopes_supported": []string{"openid", "groups", "offline_access"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

func (p *Provider) listKeys(w http.ResponseWriter, _ *http.Request) {
	p.reads.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	var set jose.JSONWebKeySet
	for _, k := range p.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	answer(w, http.StatusOK, set)
}

// authorize sends the browser back at once: the person is logged in there and
// agrees, or not.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" || q.Get("client_id") != ClientID || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("scope") != "openid groups offline_access" {
		http.Error(w, "invalid_request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := url.Values{"state": {q.Get("state")}}
	if p.refuses {
		p.refuses = false
		out.Set("error", "access_denied")
		out.Set("error_description", "the person said no\x1b[2J")
	} else {
		code := rand.Text()
		p.codes[code] = q
		out.Set("code", code)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) device(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = 1
	answer(w, http.StatusOK, map[string]any{
		"device_code": "the-device", "user_code": "WDJB-MJHT", "verification_uri": p.URL + "/activate", "interval": 1, "expires_in": 60,
	})
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if code := p.grant(r); code != "" {
		answer(w, http.StatusBadRequest, map[string]string{"error": code})
		return
	}
	var nonce any
	if asked := r.PostForm.Get("code"); asked != "" {
		p.mu.Lock()
		nonce = p.codes[asked].Get("nonce")
		delete(p.codes, asked)
		p.mu.Unlock()
	}
	id := p.Token(map[string]any{"nonce": nonce})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh = rand.Text()
	answer(w, http.StatusOK, map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": id, "refresh_token": p.refresh, "expires_in": 3600})
}

// grant says why a request for tokens is refused, "" = it is not. A refresh token
// works once.
func (p *Provider) grant(r *http.Request) string {
	if err := r.ParseForm(); err != nil || r.PostForm.Get("client_id") != ClientID {
		return "invalid_client"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked, ok := p.codes[r.PostForm.Get("code")]
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
			return "invalid_grant"
		}
	case "refresh_token":
		if p.refresh == "" || r.PostForm.Get("refresh_token") != p.refresh {
			p.refresh = "" // one that is used again was stolen
			return "invalid_grant"
		}
	case "urn:ietf:params:oauth:grant-type:device_code":
		if r.PostForm.Get("device_code") != "the-device" {
			return "invalid_grant"
		}
		if p.pending > 0 {
			p.pending--
			return "authorization_pending"
		}
	default:
		return "unsupported_grant_type"
	}
	return ""
}
