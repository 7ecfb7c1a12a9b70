package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A replica that stands by is well for who watches over it, and says to all others why
// it does not answer.
func TestStandby(t *testing.T) {
	h := Standby(func() string { return "n2 leads" }, "v1")
	f := func(method, path string, status int, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s %s: %d %s, expected %d with %s", method, path, w.Code, w.Body, status, want)
		}
	}
	f("GET", "/healthz", http.StatusOK, `"standby":true`)
	f("GET", "/readyz", http.StatusOK, `"ready":false`)
	f("GET", "/v1/jobs", http.StatusServiceUnavailable, "n2 leads")
	f("POST", "/v1/jobs", http.StatusServiceUnavailable, "unavailable")
	f("GET", "/metrics", http.StatusServiceUnavailable, "n2 leads")
}
