package oidc

import (
	"crypto/subtle"
	"io"
	"net/http"
)

// answer is what the browser brings back: a code, or why there is none.
type answer struct{ code, refusal string }

// returning waits for the browser to come back.
type returning struct {
	state  string
	answer chan answer // the first counts
}

// ServeHTTP takes a return that knows the state, which nobody else can, and
// passes over others: they end no login.
func (b *returning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != "/callback" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.state)) != 1 {
		http.Error(w, "This is not the end of a login that poise began.", http.StatusNotFound)
		return
	}
	got := answer{code: q.Get("code")}
	text := "Logged in. This page can be closed.\n"
	if got.code == "" {
		got.refusal = refusalText(q.Get("error"), q.Get("error_description"))
		text = "Not logged in. The terminal says why.\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Connection", "close")
	_, _ = io.WriteString(w, text) // the browser may be gone: the code counts
	select {
	case b.answer <- got:
	default: // it came back before
	}
}
