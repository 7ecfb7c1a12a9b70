package oidc

import (
	"net/http"
	"testing"
)

// What it costs to tell a person: each request is checked anew.
func BenchmarkPrincipal(b *testing.B) {
	h := newHall(b)
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + h.provider.Token(nil)}}}
	r = r.WithContext(b.Context())
	for b.Loop() {
		if p, err := h.Principal(r); p == nil {
			b.Fatal(err)
		}
	}
}
